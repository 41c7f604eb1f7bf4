// Watches changes over a stream that is reopened where it stopped.

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

/** Milliseconds without a frame after which a stream is considered dead: two heartbeats of the server. */
const SILENCE = 30_000;

/**
 * Start and content of a watch. By default it delivers changes committed from now on, without checkpoints, until it is ended.
 */
export interface WatchOptions {
  /**
   * Resume token after which to start. Takes precedence over `afterSeq` and `fromBeginning`, which apply while there is no
   * token.
   */
  resumeToken?: string | undefined;
  /** Seq after which to start, for a watch of one session. */
  afterSeq?: bigint | undefined;
  /** Starts at the beginning of the session, or of the feed as far as it reaches back. */
  fromBeginning?: boolean | undefined;
  /** Events to deliver; last_n and page are not allowed. An append without matching events is not delivered. */
  filter?: MessageInitShape<typeof EventFilterSchema> | undefined;
  /** Delivers checkpoints too. The first one confirms that no change committed later will be missed. */
  checkpoints?: boolean | undefined;
  /** Maximum number of consecutive failures. Default: no limit. */
  maxRetries?: number | undefined;
  /** Signal that ends the watch with a ThreadkeepError of code Canceled. */
  signal?: AbortSignal | undefined;
}

/** Opens a stream after the token or, without one, at the start that the options specify. */
type Open = (token: string | undefined, call: CallOptions) => AsyncIterable<{ changes: Change[] }>;

/** Returns the function that opens the streams of a watch. Throws TypeError if `afterSeq` is set for a scope. */
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
  if (afterSeq !== undefined) throw new TypeError("afterSeq requires a session");
  const start = fromBeginning ? ({ case: "fromBeginning", value: true } as const) : live;
  return (token, call) => subscriptions.watchAll({ ...whose, filter, start: after(token) ?? start }, call);
}

/** Iterates over changes. No stream is opened before the first is requested. */
export async function* follow(open: Open, options: WatchOptions, server: Pick<TransportSettings, "address" | "closed">, silence = SILENCE) {
  const { checkpoints, maxRetries, signal } = options;
  const [cursor, backoff, stop] = [new Cursor(), new Backoff(maxRetries), link(signal, server.closed)];
  let token = options.resumeToken;
  try {
    for (;;) {
      const call = link(stop.signal);
      const silent = () => call.abort(unavailable(`no heartbeat from ${server.address} for ${silence / 1000} s`));
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
        call.abort(); // Connect's streams do not end when their loop is left
      }
      await sleep(pause, stop.signal);
      token = cursor.resume() || token;
    }
  } finally {
    stop.release();
  }
}

const unavailable = (message: string) => new ThreadkeepError(message, Code.Unavailable);
