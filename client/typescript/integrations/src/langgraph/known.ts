// What a saver remembers between its calls, and the writes that it collects in one.

import type { SessionEvent } from "@threadkeep/client";

import { writeOf, type Checkpointed, type Write } from "./records.js";

/** Values of the keys that were set last. */
export class Recent<Value> {
  readonly #values = new Map<string, Value>();

  constructor(private readonly most: number) {}

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  /** Sets a value; the one that was set longest ago may be forgotten. */
  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size > this.most) this.#values.delete(this.#values.keys().next().value!);
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}

/**
 * What is known of the logs of threads: the last seq, and where a checkpoint's writes begin.
 *
 * LangGraph stores a checkpoint and its writes at the same time, so a write may be stored first. A checkpoint therefore says which
 * seq all its writes exceed: the last one that was known before any of them was sent.
 */
export class Seqs {
  readonly #last = new Recent<number>(4096);
  readonly #floors = new Recent<number>(4096);

  /** Notes the last seq of a log, as a response has it. A lower one than the real one does no harm. */
  saw(threadId: string, seq: bigint): void {
    this.#last.set(threadId, Number(seq));
  }

  /** Notes that writes of a checkpoint are sent, before they are. */
  writing(threadId: string, checkpointId: string): void {
    const key = keyOf(threadId, checkpointId);
    this.#floors.set(key, this.#floors.get(key) ?? this.#last.get(threadId) ?? 0);
  }

  /** Returns the floor of a checkpoint that is sent now. */
  floor(threadId: string, checkpointId: string): number {
    const key = keyOf(threadId, checkpointId);
    const floor = this.#floors.get(key) ?? this.#last.get(threadId) ?? 0;
    this.#floors.delete(key);
    return floor;
  }
}

/** Writes that were read, by their checkpoints. Of the versions of a replaced write the newest one counts. */
export class Writes {
  readonly #found = new Map<string, Map<string, { seq: bigint; write: Write }>>();

  /** Adds the write of an event; events of other kinds are ignored. */
  add(event: SessionEvent): void {
    const write = writeOf(event);
    if (write === undefined) return;
    const key = keyOf(write.namespace, write.checkpointId);
    const writes = this.#found.get(key) ?? new Map<string, { seq: bigint; write: Write }>();
    this.#found.set(key, writes);
    if ((writes.get(event.eventId)?.seq ?? 0n) < event.seq) writes.set(event.eventId, { seq: event.seq, write });
  }

  /** Returns the writes of a checkpoint, and forgets them. */
  take({ namespace, checkpointId }: Checkpointed): Write[] {
    const key = keyOf(namespace, checkpointId);
    const writes = [...(this.#found.get(key)?.values() ?? [])].map(({ write }) => write);
    this.#found.delete(key);
    return writes;
  }
}

const keyOf = (...names: string[]) => JSON.stringify(names);
