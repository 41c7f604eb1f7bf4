// Appends many batches over one stream, without waiting for each result.

import { create } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import { appendRequest, type AppendOptions } from "../events.js";
import { AppendEventsResponseSchema, EventService, type AppendEventsResponse, type AppendStreamResult } from "../gen/threadkeep/v1/event_service_pb.js";
import type { EventInit } from "../messages.js";
import { refOf, type Caller, type SessionLike } from "../requests.js";
import { ThreadkeepError } from "../rpc/errors.js";
import { link } from "../rpc/signals.js";

/** One atomic append of a stream. */
export interface Batch extends AppendOptions {
  /** Session to append to. */
  session: SessionLike;
  /** Events to append, all or none. */
  events: EventInit | readonly EventInit[];
}

/** Options of `appendStream`. */
export interface AppendStreamOptions {
  /** Maximum number of batches that wait for their result; no further batch is taken before. Default: 64. */
  maxOutstanding?: number | undefined;
}

/** The result of one batch: exactly one of `appended` and `error`. */
export interface BatchResult {
  /** Place of the batch, from 0. */
  index: number;
  /** Response of the committed append. */
  appended?: AppendEventsResponse;
  /** Why nothing of the batch was stored. The stream continues. */
  error?: ThreadkeepError;
  /** True if the batch was not sent, because the handle's memory provider does not write; `appended` is then empty. */
  dropped: boolean;
}

/** Counts the batches that wait for a result. */
class Room {
  #free: number;
  #wake: (() => void) | undefined;
  isOver = false;

  constructor(size: number) {
    this.#free = size;
  }

  /** Waits for room. Returns false if the stream is over. */
  async take(): Promise<boolean> {
    while (this.#free === 0 && !this.isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#free--;
    return !this.isOver;
  }

  give(): void {
    this.#free++;
    this.#wake?.();
  }

  end(): void {
    this.isOver = true;
    this.#wake?.();
  }
}

/** See `Client.appendStream`. */
export async function* appendStream(
  caller: Caller,
  batches: Iterable<Batch> | AsyncIterable<Batch>,
  { maxOutstanding = 64 }: AppendStreamOptions,
  options: CallOptions = {},
): AsyncGenerator<BatchResult, void> {
  if (!(maxOutstanding >= 1)) throw new TypeError("maxOutstanding must be at least 1");
  const [room, call] = [new Room(maxOutstanding), link(options.signal)];
  let failure: { error: unknown } | undefined;

  async function* requests() {
    try {
      for await (const { session, events, ...rest } of batches) {
        if (!(await room.take())) return;
        yield { append: appendRequest(refOf(caller, session), events, rest) };
      }
    } catch (error) {
      failure = { error }; // thrown after the results of the batches before it
    }
  }

  try {
    for await (const { results } of caller.raw(EventService).appendStream(requests(), { ...options, signal: call.signal })) {
      for (const result of results) {
        room.give();
        yield resultOf(result);
      }
    }
  } finally {
    room.end();
    call.abort(); // Connect's streams do not end when their loop is left
  }
  if (failure) throw failure.error;
}

function resultOf({ index, outcome }: AppendStreamResult): BatchResult {
  const place = { index: Number(index), dropped: false };
  if (outcome.case !== "error") return { ...place, appended: outcome.value ?? create(AppendEventsResponseSchema) };
  const { message, code, reason, metadata } = outcome.value;
  return { ...place, error: new ThreadkeepError(message, code, { reason, metadata }) };
}

/** Returns the results of a stream whose handle does not write. */
export async function* dropped(batches: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<BatchResult, void> {
  let index = 0;
  for await (const _ of batches) yield { index: index++, appended: create(AppendEventsResponseSchema), dropped: true };
}
