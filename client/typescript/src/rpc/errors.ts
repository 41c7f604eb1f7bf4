import { Code, ConnectError } from "@connectrpc/connect";

import { readDetails, type FieldViolation } from "./details.js";
import { ErrorReason } from "../gen/threadkeep/v1/error_reason_pb.js";

/** The name of a value of ErrorReason, for example "SESSION_NOT_FOUND". */
export type ReasonName = keyof typeof ErrorReason;

/** The names of the reasons: `isReason(error, Reason.SESSION_NOT_FOUND)`. See ErrorReason for what to do about each. */
export const Reason = /* @__PURE__ */ Object.fromEntries(
  Object.keys(ErrorReason).flatMap((name) => (/^\d/.test(name) ? [] : [[name, name]])),
) as { readonly [Name in ReasonName]: Name };

/**
 * The error of a failed call. Handle it by its `reason`; see `isReason`. The `message` begins with reason and code, and ends
 * with the request id, if there is one.
 */
export class ThreadkeepError extends Error {
  override readonly name = "ThreadkeepError";
  /**
   * Reason as sent by the server, for example "SESSION_NOT_FOUND"; possibly a reason of a newer server. Empty if there is none
   * and the code is ambiguous.
   */
  readonly reason: ReasonName | (string & {});
  /** Metadata of the reason as texts, for example `session_id`; see ErrorReason for the keys. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Invalid fields of the request. */
  readonly violations: readonly FieldViolation[];
  /** Milliseconds after which to retry; undefined if the server specifies none. */
  readonly retryAfterMs: number | undefined;

  /** `rawMessage`: the text alone. `cause`: Connect's error, or the reason of an aborted signal. */
  constructor(readonly rawMessage: string, readonly code: Code, details: Partial<ReturnType<typeof readDetails>> = {}, cause?: unknown) {
    const named = details.reason ? `${details.reason} (${Code[code]})` : Code[code];
    const id = details.metadata?.["request_id"];
    super(`${named}: ${rawMessage}${id ? ` [request ${id}]` : ""}`, { cause });
    this.reason = details.reason ?? "";
    this.metadata = details.metadata ?? {};
    this.violations = details.violations ?? [];
    this.retryAfterMs = details.retryAfterMs;
  }

  /** Id under which the server logged the failure; empty if it sent none. */
  get requestId(): string {
    return this.metadata["request_id"] ?? "";
  }

  /** Whether the same call may succeed later: the server is unavailable, or specifies a retry delay. */
  get isTransient(): boolean {
    return this.code === Code.Unavailable || this.retryAfterMs !== undefined;
  }
}

/** Returns whether the error has one of these reasons: `isReason(error, "SESSION_NOT_FOUND")`. */
export function isReason(error: unknown, ...reasons: ReasonName[]): error is ThreadkeepError {
  return error instanceof ThreadkeepError && (reasons as string[]).includes(error.reason);
}

/** Returns whether the call was ended by its `signal` or by `close()`. */
export function isCanceled(error: unknown): error is ThreadkeepError {
  return error instanceof ThreadkeepError && error.code === Code.Canceled;
}

/** Reasons of codes that map to exactly one reason, whether the code comes from the server, a proxy or the client's clock. */
const REASON_OF_CODE: Readonly<Partial<Record<Code, ReasonName>>> = {
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.Internal]: "INTERNAL",
};

/**
 * Returns the error to throw for an error of Connect's client. After an abort, all other errors are consequences of it. An
 * error other than ConnectError is a bug in the program and is returned unchanged.
 */
export function typedError(cause: unknown, address: string, { aborted, reason: why }: AbortSignal): unknown {
  if (aborted) return why instanceof ThreadkeepError ? why : new ThreadkeepError("the call was aborted", Code.Canceled, {}, why);
  if (!(cause instanceof ConnectError)) return cause;
  const details = readDetails(cause.details);
  // The caller has not canceled the call: an overloaded server or a proxy ended it.
  const canceled = cause.code === Code.Canceled && !details.reason;
  const code = canceled || isBroken(cause) ? Code.Unavailable : cause.code;
  const reason = details.reason || (REASON_OF_CODE[code] ?? "");
  let message = cause.rawMessage;
  if (!reason && code === Code.Unavailable) message = canceled ? `${address} canceled the call (${message})` : unreachable(cause, address);
  return new ThreadkeepError(message, code, { ...details, reason }, cause);
}

/** Explains why a server was not reached, and what to do. */
function unreachable({ rawMessage: why, cause }: ConnectError, address: string): string {
  if (why === "Protocol error") { // Node's message for a peer that does not use HTTP/2
    return `${address} does not respond in gRPC (${why}): use the server's gRPC port, by default 7443, and https:// if it uses TLS`;
  }
  if (NODE_TLS.test(systemCode(cause))) {
    return `${address} and this client do not agree on TLS (${why}): give the server's CA, or a client certificate, with the option tls`;
  }
  const hint = cause instanceof TypeError && /:7443\b/.test(address) ? "; in a browser, use its HTTP port, by default 7480" : "";
  return `no server at ${address} (${why}); start one with \`threadkeep serve\`, in a checkout \`make serve\`${hint}`;
}

/** Connect's messages for a truncated response. */
const CUT = /^(http\/2 stream closed|(protocol error: )?(missing (status|trailer|EndStreamResponse)|incomplete envelope|promised \d+ bytes))/;
const NODE_NETWORK = /^E(RR_HTTP2|RR_STREAM|CONN|PIPE|TIMEDOUT|NETUNREACH|HOSTUNREACH)/;
const NODE_TLS = /^(ERR_TLS_|ERR_SSL_|UNABLE_TO_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH)/;

/** Returns Node's code of an error of the system, "" for another error. */
function systemCode(cause: unknown): string {
  return cause instanceof Error && "code" in cause ? String(cause.code) : "";
}

/**
 * Returns whether the client itself reports a broken connection. Connect uses Aborted, Canceled, Internal or Unknown, depending
 * on when and where the connection breaks; errors from a server have headers.
 */
function isBroken({ code, rawMessage, metadata, cause }: ConnectError): boolean {
  if (CUT.test(rawMessage)) return true;
  if (!metadata.keys().next().done) return false;
  if (code === Code.Aborted || code === Code.Canceled) return true;
  // fetch fails with a TypeError; Connect gives TypeErrors from bugs in the program the code Internal.
  if (cause instanceof TypeError) return code === Code.Unknown;
  return NODE_NETWORK.test(systemCode(cause)) || NODE_TLS.test(systemCode(cause));
}
