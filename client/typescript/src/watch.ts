// Following changes: a stream that is opened again where it stood.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, type CallOptions } from "@connectrpc/connect";

import type { Backoff } from "./backoff.js";
import { int64, type Int64 } from "./convert.js";
import { Cursor } from "./cursor.js";
import { RecollectError } from "./errors.js";
import type { EventFilterSchema } from "./gen/recollect/v1/filter_pb.js";
import type { SessionRef } from "./gen/recollect/v1/session_pb.js";
import type { Change } from "./gen/recollect/v1/subscription_pb.js";
import {
  type ChangeScopeSchema,
  WatchAllRequestSchema,
  WatchSessionRequestSchema,
  type WatchAllRequest,
  type WatchSessionRequest,
} from "./gen/recollect/v1/subscription_service_pb.js";
import { link, sleep } from "./signals.js";

/** Milliseconds without a frame after which a stream is taken for dead: two heartbeats of the server. */
export const SILENCE = 30_000;

/** Where a watch starts and what it hands out. By default what is committed from now on, without checkpoints, for ever. */
export interface WatchOptions {
  /** Start after the change that bore this token. At most one of this, `afterSeq` and `fromBeginning`. */
  resumeToken?: string;
  /** Of one session: start with what comes after this seq. */
  afterSeq?: Int64;
  /** Start at the beginning: of the session, or of the feed as far as it reaches back. */
  fromBeginning?: boolean;
  /** Which events to deliver, without a window. An append of which nothing is left is not told. */
  filter?: MessageInitShape<typeof EventFilterSchema>;
  /** Hand out checkpoints too. The first says that nothing that is committed later will be missed. */
  checkpoints?: boolean;
  /** Failures in a row that are borne, none by default too many. */
  maxRetries?: number;
  /** Ends the watch with a RecollectError of code Canceled. */
  signal?: AbortSignal;
}

export type WatchRequest = WatchSessionRequest | WatchAllRequest;
export type OpenStream = (request: WatchRequest, options: CallOptions) => AsyncIterable<{ changes: Change[] }>;

/** The request for what `watch` was told. Throws TypeError where it was told several places to start at. */
export function watchRequest(
  whose: { session: SessionRef } | { scope: MessageInitShape<typeof ChangeScopeSchema> },
  { resumeToken, afterSeq, fromBeginning = false, filter }: WatchOptions,
): WatchRequest {
  if (Number(resumeToken !== undefined) + Number(afterSeq !== undefined) + Number(fromBeginning) > 1) {
    throw new TypeError("give at most one of resumeToken, afterSeq and fromBeginning");
  }
  const token = resumeToken === undefined ? undefined : ({ case: "resumeToken", value: resumeToken } as const);
  const live = { case: "liveOnly", value: true } as const;
  if ("session" in whose) {
    const after = fromBeginning ? 0n : afterSeq === undefined ? undefined : int64(afterSeq, "afterSeq");
    const start = token ?? (after === undefined ? live : ({ case: "afterSeq", value: after } as const));
    return create(WatchSessionRequestSchema, { session: whose.session, filter, start });
  }
  if (afterSeq !== undefined) throw new TypeError("afterSeq is a place in one session: give a session");
  const start = token ?? (fromBeginning ? ({ case: "fromBeginning", value: true } as const) : live);
  return create(WatchAllRequestSchema, { scope: whose.scope, filter, start });
}

export interface Following {
  open: OpenStream;
  request: WatchRequest;
  checkpoints: boolean;
  backoff: Backoff;
  /** Each ends it, with its reason as the error. */
  signals: (AbortSignal | undefined)[];
  address: string;
  silence?: number;
}

/** The changes. Unlike that of a bare generator, `return` ends a `next` that waits. Nothing is opened before the first `next`. */
export function follow(following: Following): AsyncIterableIterator<Change> {
  const stop = link(...following.signals);
  const changes = generate(following, stop.signal);
  let left = false;
  const next = async (): Promise<IteratorResult<Change, undefined>> => {
    try {
      const result = await changes.next();
      if (result.done) stop.release();
      return result;
    } catch (error) {
      stop.release();
      if (left) return { done: true, value: undefined };
      throw error;
    }
  };
  return {
    next,
    return: async () => {
      left = true;
      stop.release();
      stop.abort();
      await changes.return(undefined);
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* generate(following: Following, stop: AbortSignal): AsyncGenerator<Change, undefined> {
  const { open, request, checkpoints, backoff, address, silence = SILENCE } = following;
  const cursor = new Cursor();
  for (;;) {
    const call = link(stop);
    const silent = () => call.abort(unavailable(`no sign of life from ${address} for ${silence / 1000} s`));
    let alarm = setTimeout(silent, silence);
    let milliseconds: number;
    try {
      for await (const frame of open(request, { signal: call.signal })) {
        clearTimeout(alarm);
        backoff.reset();
        for (const part of frame.changes) {
          const change = cursor.take(part);
          if (change !== undefined && (checkpoints || change.kind.case !== "checkpoint")) yield change;
        }
        alarm = setTimeout(silent, silence);
      }
      throw unavailable("the server ended the stream");
    } catch (error) {
      milliseconds = backoff.pause(error);
    } finally {
      clearTimeout(alarm);
      call.abort(); // Connect's streams do not notice that they are left
      call.release();
    }
    await pause(milliseconds, stop);
    const token = cursor.resume();
    if (token) request.start = { case: "resumeToken", value: token };
  }
}

const unavailable = (message: string) => new RecollectError(message, Code.Unavailable);

async function pause(milliseconds: number, stop: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, stop);
  } catch (reason) {
    if (reason instanceof RecollectError) throw reason;
    throw new RecollectError("the call was aborted", Code.Canceled, { cause: reason });
  }
}
