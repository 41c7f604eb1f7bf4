// Works for a consumer: handles deliveries as one member after another, until it is stopped.

import { create } from "@bufbuild/protobuf";
import { Code, type CallOptions } from "@connectrpc/connect";

import { ConsumeRequestSchema, type ConsumeRequest, type ConsumeResponse, type Delivery, type JoinConsumer } from "../gen/threadkeep/v1/consumer_service_pb.js";
import { Backoff } from "../rpc/backoff.js";
import { ThreadkeepError } from "../rpc/errors.js";
import { link, sleep } from "../rpc/signals.js";
import type { Caller } from "../requests.js";
import { Lanes, Member, type Work } from "./member.js";
import { SILENCE } from "./watch.js";

/** Milliseconds that a leaving member waits until the server confirms its acknowledgments by ending the stream. */
const FAREWELL = 10_000;

type Open = (requests: AsyncIterable<ConsumeRequest>, call: CallOptions) => AsyncIterable<ConsumeResponse>;

/** Handles deliveries with at most `concurrency` handlers at once. */
export class Worker {
  readonly #lanes = new Lanes();
  readonly #running = new Set<Promise<void>>();
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly open: Open,
    private readonly handle: (delivery: Delivery) => unknown,
    concurrency: number,
    private readonly stop: AbortSignal,
    private readonly giveUp: (error: unknown) => void,
    private readonly caller: Pick<Caller, "address" | "closed" | "logger">,
  ) {
    this.#free = concurrency;
  }

  /** Joins, works, and joins again when a stream breaks. Throws errors that no retry resolves, after running handlers ended. */
  async run(join: JoinConsumer): Promise<void> {
    const backoff = new Backoff();
    const request = create(ConsumeRequestSchema, { request: { case: "join", value: join } });
    try {
      while (!this.stop.aborted) {
        try {
          await this.#serve(request, backoff);
        } catch (error) {
          if (this.stop.aborted) break;
          const pause = this.#pauseAfter(error, backoff);
          this.caller.logger?.warn(`threadkeep: consumer ${join.name} joins again in ${Math.round(pause)} ms: ${error}`);
          await sleep(pause, this.stop);
        }
      }
    } finally {
      await this.#idle();
    }
  }

  /** Returns the pause before the next stream. Ends the running handlers and throws if another stream cannot succeed. */
  #pauseAfter(error: unknown, backoff: Backoff): number {
    try {
      return backoff.pause(error);
    } catch (final) {
      this.giveUp(final);
      throw final;
    }
  }

  /** Serves one stream to its end. */
  async #serve(join: ConsumeRequest, backoff: Backoff): Promise<void> {
    const [member, call] = [new Member(), link(this.caller.closed)];
    const silent = () => call.abort(unavailable(`no heartbeat from ${this.caller.address} for ${SILENCE / 1000} s`));
    let alarm = setTimeout(silent, SILENCE);
    let farewell: ReturnType<typeof setTimeout> | undefined;
    const leave = async () => {
      member.stop();
      await this.#idle();
      member.leave();
      farewell = setTimeout(() => call.abort(), FAREWELL);
    };
    const stopped = () => void leave();
    this.stop.addEventListener("abort", stopped);
    try {
      for await (const { joined, deliveries } of this.open(member.requests(join), { signal: call.signal })) {
        clearTimeout(alarm);
        alarm = setTimeout(silent, SILENCE);
        backoff.reset();
        if (joined) member.joined(joined);
        for (const delivery of deliveries) this.#begin({ member, delivery });
      }
    } finally {
      clearTimeout(alarm);
      clearTimeout(farewell);
      this.stop.removeEventListener("abort", stopped);
      member.leave();
      this.#lanes.dropWaiting();
      call.abort(); // Connect's streams do not end when their loop is left
    }
    if (!this.stop.aborted) throw unavailable("the server ended the stream");
  }

  #begin(work: Work): void {
    if (!this.#lanes.add(work)) return;
    const lane = this.#work(work).finally(() => this.#running.delete(lane));
    this.#running.add(lane);
  }

  /** Handles the deliveries of a lane until it is empty. */
  async #work(first: Work): Promise<void> {
    for (let work: Work | undefined = first; work !== undefined; work = this.#lanes.after(work)) {
      if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      else this.#free--;
      try {
        if (work.member.counts(work.delivery)) await this.#handled(work);
      } finally {
        const next = this.#waiting.shift(); // the slot passes to the one that waits
        if (next) next();
        else this.#free++;
      }
    }
  }

  async #handled({ member, delivery }: Work): Promise<void> {
    try {
      await this.handle(delivery);
    } catch (error) {
      if (this.stop.aborted) return; // it is delivered again, to another member
      const parked = member.reject(delivery, error);
      const { sessionId } = delivery.change?.session ?? {};
      this.caller.logger?.warn(`threadkeep: a change of ${sessionId} ${parked ? "is parked" : "will be delivered again"}: ${error}`);
      return;
    }
    member.acknowledge(delivery);
  }

  /** Waits until no handler runs. */
  async #idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}

const unavailable = (message: string) => new ThreadkeepError(message, Code.Unavailable);
