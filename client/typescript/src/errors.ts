import { Code, ConnectError } from "@connectrpc/connect";

import { readDetails, type FieldViolation } from "./details.js";
import type { ErrorReason } from "./gen/threadkeep/v1/error_reason_pb.js";

/** The name of a value of ErrorReason, for example "SESSION_NOT_FOUND". */
export type ReasonName = keyof typeof ErrorReason;

/**
 * Every way a call can fail. What a program does about an error depends on its `reason`; see `isReason`. Only errors of code
 * Unavailable and those that bear `retryAfterMs` are worth an unchanged retry.
 */
export class ThreadkeepError extends Error {
  override readonly name = "ThreadkeepError";
  /** The server's reason as it sent it, "SESSION_NOT_FOUND"; one of a newer server too. Empty if none gave one, and the code stands for several. */
  readonly reason: ReasonName | (string & {});
  /** What belongs to the reason, always texts, for example `session_id`; see ErrorReason for which. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields of the request that were not valid. */
  readonly violations: readonly FieldViolation[];
  /** Milliseconds after which the server asks to be called again; undefined if it does not say. */
  readonly retryAfterMs: number | undefined;

  /** `cause`: Connect's error, or the reason with which a signal was aborted. */
  constructor(message: string, readonly code: Code, details: Partial<ReturnType<typeof readDetails>> = {}, cause?: unknown) {
    super(message, { cause });
    this.reason = details.reason ?? "";
    this.metadata = details.metadata ?? {};
    this.violations = details.violations ?? [];
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Whether this is an error of one of these reasons: `isReason(error, "SESSION_NOT_FOUND")`. */
export function isReason(error: unknown, ...reasons: ReasonName[]): error is ThreadkeepError {
  return error instanceof ThreadkeepError && (reasons as string[]).includes(error.reason);
}

/** Codes that stand for one reason: whoever gave them, a proxy or the client's own clock, they are handled alike. */
const REASON_OF_CODE: Readonly<Partial<Record<Code, ReasonName>>> = {
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.Internal]: "INTERNAL",
};

/**
 * The error to raise for what Connect's client raised. Once a call is aborted all else that went wrong is a consequence of that;
 * what is no ConnectError is a fault of the program, and is left as it is.
 */
export function typedError(cause: unknown, address: string, { aborted, reason: why }: AbortSignal): unknown {
  if (aborted) return why instanceof ThreadkeepError ? why : new ThreadkeepError("the call was aborted", Code.Canceled, {}, why);
  if (!(cause instanceof ConnectError)) return cause;
  const details = readDetails(cause.details);
  const code = isBroken(cause) ? Code.Unavailable : cause.code;
  const reason = details.reason || (REASON_OF_CODE[code] ?? "");
  let message = cause.rawMessage;
  if (!reason && code === Code.Unavailable) message = unreachable(cause, address);
  return new ThreadkeepError(message, code, { ...details, reason }, cause);
}

/** Why a server was not reached, and what to do about it. */
function unreachable({ rawMessage: why, cause }: ConnectError, address: string): string {
  if (why === "Protocol error") { // Node's words for a peer that does not speak HTTP/2
    return `${address} does not answer in gRPC (${why}): give the server's gRPC port, by default 7443, and https:// if it has TLS`;
  }
  const hint = cause instanceof TypeError && /:7443\b/.test(address) ? "; from a browser, give its HTTP port, by default 7480" : "";
  return `no server at ${address} (${why}); start one with \`threadkeep serve\`, in a checkout \`make serve\`${hint}`;
}

/** Connect's words for an answer that ends in its middle. */
const CUT = /^(http\/2 stream closed|(protocol error: )?(missing (status|trailer|EndStreamResponse)|incomplete envelope|promised \d+ bytes))/;
const NODE_NETWORK = /^E(RR_HTTP2|RR_STREAM|CONN|PIPE|TIMEDOUT|NETUNREACH|HOSTUNREACH)/;

/**
 * Whether the error is the client's own word for a connection that broke. Connect calls that Aborted, Canceled, Internal or
 * Unknown, depending on when and where it happens; what a server says has headers.
 */
function isBroken({ code, rawMessage, metadata, cause }: ConnectError): boolean {
  if (CUT.test(rawMessage)) return true;
  if (!metadata.keys().next().done) return false;
  if (code === Code.Aborted || code === Code.Canceled) return true;
  // fetch fails with a TypeError; Connect gives faults of the program that are TypeErrors the code Internal.
  if (cause instanceof TypeError) return code === Code.Unknown;
  return cause instanceof Error && "code" in cause && NODE_NETWORK.test(String(cause.code));
}
