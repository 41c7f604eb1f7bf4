// Watches changes over a stream that is reopened where it stopped.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, type CallOptions, type Client } from "@connectrpc/connect";

import { filterOf, type FilterLike } from "../filters.js";
import type { SessionRef } from "../gen/threadkeep/v1/session_pb.js";
import type { Change } from "../gen/threadkeep/v1/subscription_pb.js";
import type { ChangeScopeSchema, SubscriptionService } from "../gen/threadkeep/v1/subscription_service_pb.js";
import type { Caller, Int } from "../requests.js";
import { Backoff } from "../rpc/backoff.js";
import { ThreadkeepError } from "../rpc/errors.js";
import { link, sleep } from "../rpc/signals.js";
import type { Scope } from "../scope.js";
import { Cursor } from "./cursor.js";

/** Milliseconds without a frame after which a stream is considered dead: two heartbeats of the server. */
export const SILENCE = 30_000;

/** Where a watch starts: with changes from now on, at the beginning, or after the change of a resume token. */
export type Start = "now" | "beginning" | { resumeToken: string };

interface Watching {
  /** Events to deliver; windows are not allowed. An append without matching events is not delivered. */
  filter?: FilterLike | undefined;
  /** Delivers checkpoints too. The first one confirms that no change committed later will be missed. */
  checkpoints?: boolean | undefined;
  /** Maximum number of consecutive failures. Default: no limit. */
  maxRetries?: number | undefined;
}

/** Start and content of a watch of one session. */
export interface WatchOptions extends Watching {
  /** Default: "now". `afterSeq`: after the event with this seq. */
  from?: Start | { afterSeq: Int } | undefined;
}

/** Start, content and scope of a watch of all sessions. */
export interface WatchAllOptions extends Watching, Scope {
  /** Default: "now". "beginning" is as far as the feed reaches back. */
  from?: Start | undefined;
  /** Labels that the sessions must have. */
  labels?: Readonly<Record<string, string>> | undefined;
}

/** Options of the call of a watch. It has no deadline. */
export type WatchCall = Pick<CallOptions, "signal">;

/** Opens a stream after the token or, without one, at the start that the options specify. */
type Open = (token: string | undefined, call: CallOptions) => AsyncIterable<{ changes: Change[] }>;

const LIVE = { case: "liveOnly", value: true } as const;

/** Returns the token of a start; undefined for another start. */
const tokenOf = (from: WatchOptions["from"]) => (typeof from === "object" && "resumeToken" in from ? from.resumeToken : undefined);

const after = (token: string | undefined) => (token === undefined ? undefined : ({ case: "resumeToken", value: token } as const));

/** Returns the function that opens the streams of a watch of one session. */
export function sessionOpener(subscriptions: Client<typeof SubscriptionService>, session: SessionRef, { from, filter }: WatchOptions): Open {
  const seq = from === "beginning" ? 0n : typeof from === "object" && "afterSeq" in from ? BigInt(from.afterSeq) : undefined;
  const start = seq === undefined ? LIVE : ({ case: "afterSeq", value: seq } as const);
  const request = { session, filter: filterOf(filter) };
  return (token, call) => subscriptions.watchSession({ ...request, start: after(token) ?? start }, call);
}

/** Returns the function that opens the streams of a watch of a scope. */
export function scopeOpener(
  subscriptions: Client<typeof SubscriptionService>,
  scope: MessageInitShape<typeof ChangeScopeSchema>,
  { from, filter }: WatchAllOptions,
): Open {
  if (typeof from === "object" && !("resumeToken" in from)) throw new TypeError("afterSeq requires a session");
  const start = from === "beginning" ? ({ case: "fromBeginning", value: true } as const) : LIVE;
  const request = { scope, filter: filterOf(filter) };
  return (token, call) => subscriptions.watchAll({ ...request, start: after(token) ?? start }, call);
}

/** Iterates over changes. No stream is opened before the first is requested. */
export async function* follow(
  open: Open,
  { from, checkpoints, maxRetries }: WatchOptions,
  { signal }: WatchCall,
  { address, closed, logger }: Pick<Caller, "address" | "closed" | "logger">,
  silence = SILENCE,
): AsyncGenerator<Change, void> {
  const [cursor, backoff, stop] = [new Cursor(), new Backoff(maxRetries), link(signal, closed)];
  let token = tokenOf(from);
  try {
    for (;;) {
      const call = link(stop.signal);
      const silent = () => call.abort(unavailable(`no heartbeat from ${address} for ${silence / 1000} s`));
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
        logger?.warn(`threadkeep: a watch is reopened in ${Math.round(pause)} ms: ${error}`);
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
