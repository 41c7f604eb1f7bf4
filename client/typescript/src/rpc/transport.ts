// Adds the token, deadlines, retries, typed errors and closing to Connect's transports.

import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { Code, type Transport } from "@connectrpc/connect";

import { ThreadkeepError, typedError } from "./errors.js";
import { retriesOf, type Logger, type Retries, type Token } from "./settings.js";
import { link, sleep } from "./signals.js";

/** Milliseconds, more than a day. Longer timeouts mean no limit, because timers and gRPC's header cannot express them. */
const LONGEST_TIMEOUT = 99_999_999;

export interface TransportSettings {
  /** Address of the server, for error messages. */
  address: string;
  /** Token, sent as "authorization: Bearer"; empty for none. */
  token: Token;
  /** Timeout of a unary call in milliseconds, retries included; 0 for no limit. */
  timeoutMs: number;
  /** Retries of calls that are safe to repeat. */
  retries: Retries;
  /** Receives retries. */
  logger: Logger | undefined;
  /** Ends active calls and rejects later ones when aborted. */
  closed: AbortSignal;
}

/** Returns a Transport that adds authorization, timeouts and safe retries to calls, which fail with ThreadkeepError. */
export function reliable(inner: Transport, settings: TransportSettings): Transport {
  const { address, token, closed, retries, logger } = settings;

  const authorized = async (header: HeadersInit | undefined, call: ReturnType<typeof link>, left = Infinity) => {
    const headers = new Headers(header);
    if (headers.has("authorization")) return headers;
    const value = typeof token === "function" ? await current(token, call, left) : token;
    if (value) headers.set("authorization", `Bearer ${value}`);
    return headers;
  };

  return {
    async unary(method, signal, timeoutMs = settings.timeoutMs, header, input, contextValues) {
      const end = performance.now() + (timeoutMs > 0 ? timeoutMs : Infinity);
      const call = link(signal, closed);
      try {
        for (let attempt = 1; ; attempt++) {
          try {
            const headers = await authorized(header, call, end - performance.now());
            return await inner.unary(method, call.signal, whole(end - performance.now()), headers, input, contextValues);
          } catch (cause) {
            const error = typedError(cause, address, call.signal);
            const pause = retryPause(method, attempt, error, retries);
            if (pause === undefined || performance.now() + pause >= end) throw error;
            logger?.warn(`threadkeep: ${method.name} is retried in ${Math.round(pause)} ms, attempt ${attempt} failed: ${error}`);
            await sleep(pause, call.signal);
          }
        }
      } finally {
        call.release();
      }
    },

    async stream(method, signal, timeoutMs = 0, header, input, contextValues) {
      const call = link(signal, closed);
      const limit = timeoutMs > 0 ? whole(timeoutMs) : undefined;
      const failed = (cause: unknown) => {
        call.release();
        throw typedError(cause, address, call.signal);
      };
      const headers = await authorized(header, call).catch(failed);
      const response = await inner.stream(method, call.signal, limit, headers, input, contextValues).catch(failed);
      const messages = response.message[Symbol.asyncIterator]();
      const next = () =>
        messages.next().then((result) => {
          if (result.done) call.release();
          return result;
        }, failed);
      return { ...response, message: { [Symbol.asyncIterator]: () => ({ next }) } };
    },
  };
}

/** Returns the token of a function, unless the call ends before. */
async function current(token: () => string | Promise<string>, call: ReturnType<typeof link>, left: number): Promise<string> {
  const late = () => call.abort(new ThreadkeepError("there was no token within the timeout", Code.DeadlineExceeded, { reason: "DEADLINE_EXCEEDED" }));
  const alarm = left <= LONGEST_TIMEOUT ? setTimeout(late, Math.max(0, left)) : undefined;
  const ended = new Promise<never>((_, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason)));
  try {
    return await Promise.race([token(), ended]);
  } finally {
    clearTimeout(alarm);
  }
}

/** Returns the milliseconds before a retry; undefined if the call must not be retried. */
export function retryPause(
  method: DescMethod,
  attempt: number,
  error: unknown,
  { attempts, firstPause, longestPause }: Retries = retriesOf(undefined),
  random: () => number = Math.random,
): number | undefined {
  if (method.idempotency !== Idempotency.NO_SIDE_EFFECTS && method.idempotency !== Idempotency.IDEMPOTENT) return undefined;
  if (!(error instanceof ThreadkeepError) || error.code !== Code.Unavailable || attempt >= attempts) return undefined;
  const pause = Math.min(longestPause, firstPause * 2 ** (attempt - 1)) * (0.8 + 0.4 * random());
  return Math.max(pause, error.retryAfterMs ?? 0);
}

/** Converts a timeout for Connect: a whole number of at least 1; undefined for no limit. */
function whole(milliseconds: number): number | undefined {
  return milliseconds > LONGEST_TIMEOUT ? undefined : Math.max(1, Math.ceil(milliseconds));
}
