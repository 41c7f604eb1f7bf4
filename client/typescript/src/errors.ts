import { Code, ConnectError } from "@connectrpc/connect";

import { readDetails, type FieldViolation, type PackedDetail } from "./details.js";
import { ErrorReason } from "./gen/recollect/v1/error_reason_pb.js";
import type { AppendStreamResult } from "./gen/recollect/v1/event_service_pb.js";

/** The name of a value of ErrorReason, for example "SESSION_NOT_FOUND". */
export type ReasonName = keyof typeof ErrorReason;

/** What an error is made of, beside its message and code. */
export interface ErrorParts {
  reason?: string;
  info?: Record<string, string>;
  violations?: FieldViolation[];
  retryAfterMs?: number;
  cause?: unknown;
}

/**
 * Every way a call can fail. What a program does about an error depends on its `reason`; see `isReason`.
 *
 * Only errors of code Unavailable and those that bear `retryAfterMs` are worth an unchanged retry. It is a ConnectError, so
 * `rawMessage` is the message without the code, and `metadata` are the headers and trailers of the answer.
 */
export class RecollectError extends ConnectError {
  /** The server's reason as it sent it, "SESSION_NOT_FOUND"; one of a newer server too. Empty if none gave one, and the code stands for several. */
  readonly reason: ReasonName | (string & {});
  /** What belongs to the reason, always texts, for example `session_id`; see ErrorReason for which. */
  readonly info: Readonly<Record<string, string>>;
  /** The fields of the request that were not valid. */
  readonly violations: readonly FieldViolation[];
  /** Milliseconds after which the server asks to be called again; undefined if it does not say. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, code: Code = Code.Unknown, parts: ErrorParts = {}) {
    super(message, code, undefined, undefined, parts.cause);
    this.reason = parts.reason ?? "";
    this.info = parts.info ?? {};
    this.violations = parts.violations ?? [];
    this.retryAfterMs = parts.retryAfterMs;
  }

  /** ConnectError's own takes any error that looks like its class for an instance. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === "object" && value !== null && RecollectError.prototype.isPrototypeOf(value);
  }
}

/** Whether this is an error of one of these reasons: `isReason(error, ErrorReason.SESSION_NOT_FOUND)`, or their names. */
export function isReason(error: unknown, ...reasons: (ErrorReason | ReasonName)[]): error is RecollectError {
  if (!(error instanceof RecollectError)) return false;
  return reasons.some((reason) => error.reason === (typeof reason === "number" ? ErrorReason[reason] : reason));
}

/** The typed error of one result of AppendStream; undefined when its batch was appended. */
export function errorOf(result: AppendStreamResult): RecollectError | undefined {
  if (result.outcome.case !== "error") return undefined;
  const { code, message, reason, metadata } = result.outcome.value;
  return new RecollectError(message, code in Code ? code : Code.Unknown, { reason, info: metadata });
}

/** Codes that stand for one reason: whoever gave them, a proxy or the client's own clock, they are handled alike. */
const REASON_OF_CODE: Readonly<Partial<Record<Code, ReasonName>>> = {
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.Internal]: "INTERNAL",
};

/** The typed error for what Connect's client raised; what is no ConnectError is a fault of the program, and is left as it is. */
export function typedError(cause: unknown, address: string): unknown {
  if (!(cause instanceof ConnectError) || cause instanceof RecollectError) return cause;
  const details = readDetails(cause.details.filter((detail): detail is PackedDetail => "type" in detail));
  const code = isBroken(cause) ? Code.Unavailable : cause.code;
  const reason = details.reason || (REASON_OF_CODE[code] ?? "");
  let message = cause.rawMessage;
  if (!reason && code === Code.Unavailable) {
    message = `no server at ${address} (${message}); start one with \`recollect serve\`, in a checkout \`make serve\``;
  }
  const error = new RecollectError(message, code, { ...details, reason, cause });
  cause.metadata.forEach((value, key) => error.metadata.append(key, value));
  error.details = cause.details;
  return error;
}

/** Connect's words for an answer that ends in its middle. */
const CUT = /^(protocol error: )?(missing (status|trailer|EndStreamResponse)|incomplete envelope|promised \d+ bytes.*)$/;
const NODE_NETWORK = /^E(RR_HTTP2|RR_STREAM|CONN|PIPE|TIMEDOUT|NETUNREACH|HOSTUNREACH)/;

/**
 * Whether the error is the client's own word for a connection that broke. Connect calls that Aborted, Canceled, Internal or
 * Unknown, depending on when and where it happens; what a server says has headers.
 */
function isBroken(error: ConnectError): boolean {
  if (CUT.test(error.rawMessage)) return true;
  if (!error.metadata.keys().next().done) return false;
  if (error.code === Code.Aborted || error.code === Code.Canceled) return true;
  if (error.code !== Code.Internal && error.code !== Code.Unknown) return false;
  if (error.rawMessage.startsWith("http/2 stream closed")) return true;
  const { cause } = error;
  // fetch fails with a TypeError; Connect gives faults of the program that are TypeErrors the code Internal.
  if (cause instanceof TypeError && error.code === Code.Unknown) return true;
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" && NODE_NETWORK.test(cause.code);
}
