// Following changes: a stream that is opened again where it stood.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, type CallOptions, type Client } from "@connectrpc/connect";

import { Backoff } from "./backoff.js";
import { Cursor } from "./cursor.js";
import { ThreadkeepError } from "./errors.js";
import type { EventFilterSchema } from "./gen/threadkeep/v1/filter_pb.js";
import type { SessionRef } from "./gen/threadkeep/v1/session_pb.js";
import type { Change } from "./gen/threadkeep/v1/subscription_pb.js";
import type { ChangeScopeSchema, SubscriptionService } from "./gen/threadkeep/v1/subscription_service_pb.js";
import { link, sleep } from "./signals.js";
import type { TransportSettings } from "./transport.js";

/** Milliseconds without a frame after which a stream is taken for dead: two heartbeats of the server. */
const SILENCE = 30_000;

/** Where a watch starts and what it hands out. By default what is committed from now on, without checkpoints, for ever. */
export interface WatchOptions {
  /** Start after the change that bore this token, whatever the next two say: they are for when there is none yet. */
  resumeToken?: string | undefined;
  /** Of one session: start with what comes after this seq. */
  afterSeq?: bigint | undefined;
  /** Start at the beginning: of the session, or of the feed as far as it reaches back. */
  fromBeginning?: boolean | undefined;
  /** Which events to deliver, without a window. An append of which nothing is left is not told. */
  filter?: MessageInitShape<typeof EventFilterSchema> | undefined;
  /** Hand out checkpoints too. The first says that nothing that is committed later will be missed. */
  checkpoints?: boolean | undefined;
  /** Failures in a row that are borne, none by default too many. */
  maxRetries?: number | undefined;
  /** Ends the watch with a ThreadkeepError of code Canceled. */
  signal?: AbortSignal | undefined;
}

/** Opens a stream after the token, or without one where the options of the watch say. */
type Open = (token: string | undefined, call: CallOptions) => AsyncIterable<{ changes: Change[] }>;

/** What opens the stream that `watch` was told of. Throws TypeError for a place that there is not. */
export function opener(
  subscriptions: Client<typeof SubscriptionService>,
  whose: { session: SessionRef } | { scope: MessageInitShape<typeof ChangeScopeSchema> },
  { afterSeq, fromBeginning, filter }: WatchOptions,
): Open {
  const after = (token: string | undefined) => (token === undefined ? undefined : ({ case: "resumeToken", value: token } as const));
  const live = { case: "liveOnly", value: true } as const;
  if ("session" in whose) {
    const seq = afterSeq ?? (fromBeginning ? 0n : undefined);
    const start = seq === undefined ? live : ({ case: "afterSeq", value: seq } as const);
    return (token, call) => subscriptions.watchSession({ ...whose, filter, start: after(token) ?? start }, call);
  }
  if (afterSeq !== undefined) throw new TypeError("afterSeq is a place in one session: give a session");
  const start = fromBeginning ? ({ case: "fromBeginning", value: true } as const) : live;
  return (token, call) => subscriptions.watchAll({ ...whose, filter, start: after(token) ?? start }, call);
}

/** The changes. Nothing is opened before the first is asked for. */
export async function* follow(open: Open, options: WatchOptions, server: Pick<TransportSettings, "address" | "closed">, silence = SILENCE) {
  const { checkpoints, maxRetries, signal } = options;
  const [cursor, backoff, stop] = [new Cursor(), new Backoff(maxRetries), link(signal, server.closed)];
  let token = options.resumeToken;
  try {
    for (;;) {
      const call = link(stop.signal);
      const silent = () => call.abort(unavailable(`no sign of life from ${server.address} for ${silence / 1000} s`));
      let alarm = setTimeout(silent, silence);
      let pause: number;
      try {
        for await (const frame of open(token, { signal: call.signal })) {
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
        pause = backoff.pause(error);
      } finally {
        clearTimeout(alarm);
        call.abort(); // Connect's streams do not notice that they are left
      }
      await sleep(pause, stop.signal);
      token = cursor.resume() || token;
    }
  } finally {
    stop.release();
  }
}

const unavailable = (message: string) => new ThreadkeepError(message, Code.Unavailable);
