import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions } from "@connectrpc/connect";

import { Park } from "./feed/member.js";
import { Worker } from "./feed/worker.js";
import { filterOf, type FilterLike } from "./filters.js";
import type { ParkedChange } from "./gen/threadkeep/v1/consumer_pb.js";
import * as pb from "./gen/threadkeep/v1/consumer_service_pb.js";
import type { Change } from "./gen/threadkeep/v1/subscription_pb.js";
import { paged } from "./pages.js";
import type { Caller, PageOptions } from "./requests.js";
import { link } from "./rpc/signals.js";
import { narrowed, type Scope } from "./scope.js";

/** One change that a handler gets. */
export interface Delivered {
  /** The whole change, never a checkpoint. */
  change: Change;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Partition of the change: changes of one partition come in order. */
  partition: number;
  /** Id of the parked change, if this is a replay; else empty. */
  parkedId: string;
}

/** A delivery of `deliveries`, to be settled once. */
export interface Settleable extends Delivered {
  /** Reports that the change was handled; it is not delivered again. */
  acknowledge(): void;
  /** Reports a failure: the change is delivered again after a pause, and parked after the last attempt. */
  reject(reason: string): void;
  /** Parks the change at once. */
  park(reason: string): void;
}

/** Handles one change. A resolved promise acknowledges it; a rejected one delivers it again; `throw new Park(why)` parks it. */
export type Handler = (delivery: Delivered, call: { signal: AbortSignal }) => unknown;

/** Options of `run`. Scope and filter must be the same for all members. */
export interface ConsumerOptions extends Scope {
  /** Labels that the sessions must have. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** Events to deliver; windows are not allowed. */
  filter?: FilterLike | undefined;
  /** Start of a new consumer: "now", the default, or "beginning", the oldest change of the feed. */
  from?: "now" | "beginning" | undefined;
  /** Maximum number of handlers that run at once, for different partitions. Default: 8. */
  concurrency?: number | undefined;
  /** Id of this member, shown to operators. Default: one from the server. */
  memberId?: string | undefined;
  /** Maximum number of unacknowledged deliveries. Default: 256; at most 10,000. */
  maxOutstanding?: number | undefined;
  /** Number of attempts before a change is parked. Only the first member's counts. Default: 5; at most 1,000. */
  maxAttempts?: number | undefined;
  /** Milliseconds to acknowledge a delivery. Only the first member's counts. Default: 60,000; from 1 second to 1 day. */
  ackTimeoutMs?: number | undefined;
  /** Number of partitions, the most members that work at once. Only the first member's counts. Default: 32; at most 256. */
  partitions?: number | undefined;
}

/** Options of the call of a consumer: it has no deadline and ends when `signal` is aborted. */
export type ConsumerCall = Pick<CallOptions, "signal">;

/** A named consumer, whose progress the server stores. Get it from `client.consumer`; it makes no call. */
export class ConsumerHandle {
  /** @internal Use `Client.consumer`. */
  constructor(
    private readonly caller: Caller,
    /** Name of the consumer. */
    readonly name: string,
  ) {}

  /**
   * Works for the consumer: calls `handler` with every change, at least once, and acknowledges it when the handler resolves.
   * The first member creates the consumer; members of one name share the sessions. The changes of a session are delivered in
   * order, one at a time. When the handler throws, its change is delivered again after a pause, with those after it, and parked
   * after `maxAttempts`. `throw new Park(why)` parks it at once.
   *
   * It runs until `signal` is aborted, and then resolves: it starts no more handlers, waits for the running ones, whose own
   * `signal` is aborted too, and up to 10 seconds until the server confirms their acknowledgments. A change whose handler
   * throws after that is delivered to another member. When the stream breaks, or the member was too slow, it joins again,
   * after pauses as in `watch` and without limit.
   *
   * It needs a bidirectional stream, which browsers do not support. Reasons: CONSUMER_MISMATCH, CONSUMER_NOT_FOUND if it was
   * deleted, RESUME_POSITION_EXPIRED, QUOTA_EXCEEDED.
   */
  async run(handler: Handler, options: ConsumerOptions = {}, call: ConsumerCall = {}): Promise<void> {
    const { concurrency = 8 } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) throw new TypeError("concurrency must be at least 1");
    const stop = link(call.signal);
    const service = this.caller.raw(pb.ConsumerService);
    const handle = async ({ change, attempt, partition, parkedId }: pb.Delivery) =>
      handler({ change: change!, attempt, partition, parkedId }, { signal: stop.signal });
    const worker = new Worker((requests, each) => service.consume(requests, each), handle, concurrency, stop.signal, stop.abort, this.caller);
    try {
      await worker.run(this.#join(options));
    } finally {
      stop.release();
    }
  }

  /**
   * Iterates over the deliveries, each of which the loop settles with `acknowledge`, `reject` or `park`; at most `concurrency`
   * are not settled at a time. Leaving the loop or aborting `signal` leaves the consumer; what is not settled is delivered to
   * another member. See `run` for everything else.
   */
  async *deliveries(options: ConsumerOptions = {}, call: ConsumerCall = {}): AsyncGenerator<Settleable, void> {
    const stop = link(call.signal);
    const queue: Settleable[] = [];
    let [wake, isOver] = [() => {}, false];
    const handler: Handler = (delivery, { signal }) =>
      new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        const settle = { acknowledge: resolve, reject: (why: string) => reject(new Error(why)), park: (why: string) => reject(new Park(why)) };
        queue.push({ ...delivery, ...settle });
        wake();
      });
    const run = this.run(handler, options, { signal: stop.signal }).finally(() => ((isOver = true), wake()));
    run.catch(() => {}); // awaited below
    try {
      while (!isOver) {
        while (queue.length > 0 && !stop.signal.aborted) yield queue.shift()!;
        if (!isOver) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      stop.abort();
      await run;
    }
  }

  /** Returns the consumer, its members, the progress of each partition and the number of parked changes. Reasons: CONSUMER_NOT_FOUND. */
  get(call?: CallOptions): Promise<pb.GetConsumerResponse> {
    return this.caller.raw(pb.ConsumerService).getConsumer({ name: this.name }, call);
  }

  /** Deletes the consumer, its progress and its parked changes, and ends its members. */
  delete(call?: CallOptions): Promise<pb.DeleteConsumerResponse> {
    return this.caller.raw(pb.ConsumerService).deleteConsumer({ name: this.name }, call);
  }

  /** Iterates over the parked changes, oldest first. Reasons: CONSUMER_NOT_FOUND. */
  parked(query: PageOptions = {}, call?: CallOptions): AsyncGenerator<ParkedChange, void> {
    return paged((pageToken) => this.parkedPage({ ...query, pageToken }, call), (page) => page.parkedChanges);
  }

  /** Returns one page of `parked`. */
  parkedPage(query: PageOptions = {}, call?: CallOptions): Promise<pb.ListParkedChangesResponse> {
    return this.caller.raw(pb.ConsumerService).listParkedChanges({ ...query, name: this.name }, call);
  }

  /** Delivers parked changes again, those with these ids (at most 1,000) or "all". Returns how many. Reasons: CONSUMER_NOT_FOUND. */
  async replayParked(which: readonly string[] | "all", call?: CallOptions): Promise<bigint> {
    if (which.length === 0) return 0n; // an empty list in the request means all
    const parkedIds = which === "all" ? [] : [...which];
    return (await this.caller.raw(pb.ConsumerService).replayParkedChanges({ name: this.name, parkedIds }, call)).replayed;
  }

  /** Deletes parked changes, those with these ids (at most 1,000) or "all". Returns how many. Reasons: CONSUMER_NOT_FOUND. */
  async deleteParked(which: readonly string[] | "all", call?: CallOptions): Promise<bigint> {
    if (which.length === 0) return 0n; // an empty list in the request means all
    const parkedIds = which === "all" ? [] : [...which];
    return (await this.caller.raw(pb.ConsumerService).deleteParkedChanges({ name: this.name, parkedIds }, call)).deleted;
  }

  #join(options: ConsumerOptions): pb.JoinConsumer {
    const { labels, filter, from, memberId, maxOutstanding, maxAttempts, ackTimeoutMs, partitions } = options;
    return create(pb.JoinConsumerSchema, {
      ...{ name: this.name, memberId, maxOutstanding, maxAttempts, partitions },
      scope: { ...narrowed(this.caller, options), labels: { ...labels } },
      filter: filterOf(filter),
      fromBeginning: from === "beginning",
      ackTimeout: ackTimeoutMs === undefined ? undefined : durationFromMs(ackTimeoutMs),
    });
  }
}
