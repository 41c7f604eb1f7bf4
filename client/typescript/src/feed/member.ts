// One member of a consumer: which deliveries to handle, and the requests to send.

import { create } from "@bufbuild/protobuf";

import { ConsumeRequestSchema, type ConsumeRequest, type Delivery, type Joined } from "../gen/threadkeep/v1/consumer_service_pb.js";

/** Maximum length of a reason that the server stores. */
const LONGEST_REASON = 1024;

/** Thrown by a handler to park its change for this reason: it is not delivered again, until it is replayed. */
export class Park extends Error {
  override readonly name = "Park";
}

/** One Consume stream: its valid deliveries, and its outgoing requests in order. Acknowledgments that gather are sent together. */
export class Member {
  #outgoing: ConsumeRequest[] = [];
  /** By partition, the attempt that was rejected. */
  readonly #rejected = new Map<number, number>();
  #maxAttempts = 0;
  #isOver = false;
  #isLeaving = false;
  #wake: (() => void) | undefined;

  /** Stores the limits of the server's answer to the join. */
  joined({ consumer }: Joined): void {
    this.#maxAttempts = consumer?.maxAttempts ?? 0;
  }

  /**
   * Returns whether to handle the delivery: not if its stream ended, nor if an earlier one of the partition was rejected. A
   * rejected delivery is delivered again with all that follow it. Deliveries sent before the rejection are recognized by their
   * attempt: no change is delivered more often than the change before it.
   */
  counts({ partition, parkedId, attempt }: Delivery): boolean {
    if (this.#isOver) return false;
    const failed = this.#rejected.get(partition);
    if (failed === undefined || parkedId) return true;
    if (attempt <= failed) return false;
    this.#rejected.delete(partition);
    return true;
  }

  /** Acknowledges a delivery that was handled. */
  acknowledge({ deliveryId }: Delivery): void {
    const last = this.#outgoing.at(-1)?.request;
    if (last?.case === "acknowledge") last.value.deliveryIds.push(deliveryId);
    else this.#outgoing.push(create(ConsumeRequestSchema, { request: { case: "acknowledge", value: { deliveryIds: [deliveryId] } } }));
    this.#wake?.();
  }

  /** Rejects a delivery that could not be handled because of this error. Returns whether the change is parked. */
  reject({ deliveryId, partition, parkedId, attempt }: Delivery, error: unknown): boolean {
    const park = error instanceof Park;
    const comesAgain = !park && !parkedId && attempt < this.#maxAttempts;
    if (comesAgain) this.#rejected.set(partition, attempt);
    const reason = (park ? error.message : String(error)).slice(0, LONGEST_REASON);
    this.#outgoing.push(create(ConsumeRequestSchema, { request: { case: "reject", value: { deliveryId, reason, park } } }));
    this.#wake?.();
    return !comesAgain;
  }

  /** Starts no more deliveries; the outcome of running ones is still sent. */
  stop(): void {
    this.#isOver = true;
  }

  /** Ends the stream after the requests that wait. */
  leave(): void {
    this.#isOver = this.#isLeaving = true;
    this.#wake?.();
  }

  /** Iterates over the requests until the member leaves; the end closes its half of the stream. */
  async *requests(join: ConsumeRequest): AsyncGenerator<ConsumeRequest, void> {
    yield join;
    for (;;) {
      while (this.#outgoing.length > 0) yield this.#outgoing.shift()!;
      if (this.#isLeaving) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** A delivery and its member. */
export type Work = Readonly<{ member: Member; delivery: Delivery }>;

/** Work by partition, in order. The first item of a lane is running, so each lane has one worker at a time. */
export class Lanes {
  readonly #lanes = new Map<number, Work[]>();

  /** Appends work. Returns whether it is alone in its lane, so that a worker must start. */
  add(work: Work): boolean {
    const { partition } = work.delivery;
    const lane = this.#lanes.get(partition) ?? [];
    this.#lanes.set(partition, lane);
    return lane.push(work) === 1;
  }

  /** Removes the finished work, the first of its lane. Returns the next. */
  after({ delivery: { partition } }: Work): Work | undefined {
    const lane = this.#lanes.get(partition)!;
    lane.shift();
    if (lane.length === 0) this.#lanes.delete(partition);
    return lane[0];
  }

  /** Removes all work that has not started. */
  dropWaiting(): void {
    for (const lane of this.#lanes.values()) lane.length = 1;
  }
}
