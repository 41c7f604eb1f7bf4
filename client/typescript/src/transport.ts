// What lies between Connect's transports and everything that calls: the token, deadlines, retries, typed errors, closing.

import type { DescMessage, DescMethod, DescMethodStreaming, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt";
import { Code, type ContextValues, type StreamResponse, type Transport, type UnaryResponse } from "@connectrpc/connect";

import { RecollectError, typedError } from "./errors.js";
import { link, sleep, unlessAborted, type Linked } from "./signals.js";

/** The largest message sent or received. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
/** Milliseconds. What is longer than this, which is more than a day, is no limit: neither timers nor gRPC's header can express it. */
const LONGEST_TIMEOUT = 99_999_999;
const ATTEMPTS = 5;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2000;

export interface TransportSettings {
  /** For messages. */
  address: string;
  /** Sent as "authorization: Bearer"; empty: none. */
  token: string;
  /** Milliseconds a unary call may take, its retries included. */
  timeoutMs: number;
}

/** A Transport whose calls are authorised, limited in time, repeated where that is safe, and fail with RecollectError. */
export class ReliableTransport implements Transport {
  readonly #closing = new AbortController();

  constructor(
    private readonly inner: Transport,
    private readonly settings: TransportSettings,
  ) {
    checkTimeout(settings.timeoutMs);
  }

  /** Aborted once this is closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Ends the calls under way, and refuses those to come. */
  close(): void {
    this.#closing.abort(new RecollectError("the client is closed", Code.Canceled));
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    const end = performance.now() + checkTimeout(timeoutMs ?? this.settings.timeoutMs);
    const call = link(signal, this.closed);
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          const left = whole(end - performance.now());
          return await this.inner.unary(method, call.signal, left, this.#authorised(header), input, contextValues);
        } catch (cause) {
          const error = this.#typed(cause, call);
          const pause = retryPause(method, attempt, error);
          if (pause === undefined || performance.now() + pause >= end) throw error;
          await sleep(pause, call.signal).catch((reason) => Promise.reject(this.#typed(reason, call)));
        }
      }
    } finally {
      call.release();
    }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    const limit = timeoutMs === undefined ? undefined : whole(checkTimeout(timeoutMs));
    const call = link(signal, this.closed);
    const failed = (cause: unknown) => {
      call.release();
      throw this.#typed(cause, call);
    };
    const response = await this.inner
      .stream(method, call.signal, limit, this.#authorised(header), input, contextValues)
      .catch(failed);
    const read = async (messages: AsyncIterator<StreamResponse<I, O>["message"] extends AsyncIterable<infer M> ? M : never>) => {
      const next = await unlessAborted(messages.next(), call.signal).catch(failed);
      if (next.done) call.release();
      return next;
    };
    return {
      ...response,
      message: {
        [Symbol.asyncIterator]: () => {
          const messages = response.message[Symbol.asyncIterator]();
          return { next: () => read(messages) };
        },
      },
    };
  }

  #authorised(header: HeadersInit | undefined): HeadersInit | undefined {
    if (!this.settings.token) return header;
    const headers = new Headers(header);
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${this.settings.token}`);
    return headers;
  }

  /** The error to raise. Once a call is aborted all else that went wrong is a consequence of that. */
  #typed(cause: unknown, call: Linked): unknown {
    if (!call.signal.aborted) return typedError(cause, this.settings.address);
    const { reason } = call.signal;
    return reason instanceof RecollectError ? reason : new RecollectError("the call was aborted", Code.Canceled, { cause: reason });
  }
}

/** Milliseconds before the call is sent again; undefined if it may not be. */
export function retryPause(method: DescMethod, attempt: number, error: unknown, random: () => number = Math.random): number | undefined {
  if (method.idempotency !== Idempotency.NO_SIDE_EFFECTS && method.idempotency !== Idempotency.IDEMPOTENT) return undefined;
  if (!(error instanceof RecollectError) || error.code !== Code.Unavailable || attempt >= ATTEMPTS) return undefined;
  const pushback = error.metadata.get("grpc-retry-pushback-ms");
  if (pushback !== null) return /^\d+$/.test(pushback) ? Number(pushback) : undefined;
  const pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1)) * (0.8 + 0.4 * random());
  return Math.max(pause, error.retryAfterMs ?? 0);
}

function checkTimeout(milliseconds: number): number {
  if (typeof milliseconds !== "number" || !(milliseconds > 0)) {
    throw new RangeError(`timeoutMs must be more than 0, or Infinity for no limit, not ${milliseconds}`);
  }
  return milliseconds;
}

/** As Connect takes it: a whole number of at least 1; undefined is no limit. */
function whole(milliseconds: number): number | undefined {
  return milliseconds > LONGEST_TIMEOUT ? undefined : Math.max(1, Math.ceil(milliseconds));
}
