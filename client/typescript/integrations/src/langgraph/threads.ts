// The events of a thread's checkpoints: written, and read in the order of their commits. A thread is the session with its id.

import {
  Authors, eventFilter, isReason, type Client, type EventInit, type FilterOptions, type SessionEvent, type SessionProperties,
} from "@threadkeep/client";

import { Seqs, Writes } from "./known.js";
import {
  AUTHOR, branchOf, CHECKPOINT, checkpointEventId, checkpointOf, eventOfCheckpoint, eventOfWrite, readFrom, WRITE, writeEventId,
  type Checkpointed, type Stored, type Write,
} from "./records.js";

/** Events of the first page of a read: after a run, the newest checkpoint is among the newest events. */
const FIRST_PAGE = 8;
const PAGE = 100;
/** Events of one append, of which the server takes 1,000. */
const MOST_EVENTS = 500;

/** Messages to store with a checkpoint: those that are new, and those whose content changed. */
export interface Changed {
  readonly added: readonly EventInit[];
  readonly edited: readonly EventInit[];
}

export class Threads {
  readonly #seqs = new Seqs();

  constructor(private readonly client: Client, private readonly properties: SessionProperties | undefined) {}

  /**
   * Stores a checkpoint with the new messages of the conversation, in one commit: after a crash both are there or neither. A message
   * whose id is stored stays as it is. Edited messages replace the stored ones, in a commit of their own with the checkpoint.
   */
  async put(threadId: string, record: Omit<Checkpointed, "floor">, about: object, { added, edited }: Changed): Promise<void> {
    const floor = this.#seqs.floor(threadId, record.checkpointId);
    const checkpoint = eventOfCheckpoint({ ...record, floor }, about);
    if (edited.length === 0) return this.#append(threadId, [...added, checkpoint], "ignore");
    await this.#append(threadId, added, "ignore");
    await this.#append(threadId, [...edited, checkpoint], "replace");
  }

  /** Stores writes of a task. Of an ordinary write the first one stays; a special one replaces the one before it. */
  async putWrites(threadId: string, checkpointId: string, writes: readonly Write[]): Promise<void> {
    this.#seqs.writing(threadId, checkpointId);
    const ordinary = new Map<string, EventInit>();
    const special = new Map<string, EventInit>();
    for (const write of writes) (write.index < 0 ? special : ordinary).set(writeEventId(write), eventOfWrite(write));
    await this.#append(threadId, [...ordinary.values()], "ignore");
    await this.#append(threadId, [...special.values()], "replace");
  }

  async #append(threadId: string, events: readonly EventInit[], ifExists: "ignore" | "replace"): Promise<void> {
    for (let start = 0; start < events.length; start += MOST_EVENTS) {
      const some = events.slice(start, start + MOST_EVENTS);
      const appended = await this.client.session(threadId).append(some, { createIfMissing: this.properties ?? true, ifExists });
      this.#seqs.saw(threadId, appended.lastSeq);
    }
  }

  /** Returns the checkpoint with an id, with its writes. */
  async checkpoint(threadId: string, namespace: string, checkpointId: string): Promise<Stored | undefined> {
    const stored = await this.#stored(threadId, namespace, checkpointId);
    const record = stored && checkpointOf(stored);
    if (record === undefined) return undefined;
    const writes = new Writes();
    const metadata = { checkpoint_id: checkpointId };
    const filter = { ...exactly(namespace), afterSeq: record.floor, nativeFormats: [WRITE], metadata };
    for await (const event of this.#events(threadId, filter, "asc", PAGE)) writes.add(event);
    return readFrom(record, threadId, writes.take(record));
  }

  async #stored(threadId: string, namespace: string, checkpointId: string): Promise<SessionEvent | undefined> {
    try {
      return await this.client.session(threadId).getEvent(checkpointEventId(namespace, checkpointId));
    } catch (error) {
      if (isReason(error, "SESSION_NOT_FOUND", "EVENT_NOT_FOUND")) return undefined;
      throw error;
    }
  }

  /** Iterates over the checkpoints of a namespace, or of all, with their writes: the last stored first. */
  async *checkpoints(threadId: string, namespace: string | undefined, first = PAGE): AsyncGenerator<Stored, void> {
    const writes = new Writes();
    const held: Checkpointed[] = [];
    const seen = new Set<string>();
    const filter = namespace === undefined ? { nativeFormats: [CHECKPOINT, WRITE] } : exactly(namespace);
    for await (const event of this.#events(threadId, filter, "desc", first)) {
      while (held.length > 0 && event.seq <= BigInt(held[0]!.floor)) {
        const record = held.shift()!;
        yield readFrom(record, threadId, writes.take(record));
      }
      if (seen.has(event.eventId)) continue; // An earlier version of an event that was replaced.
      seen.add(event.eventId);
      writes.add(event);
      const record = checkpointOf(event);
      if (record !== undefined) held.push(record);
    }
    for (const record of held) yield readFrom(record, threadId, writes.take(record));
  }

  /** Returns the checkpoint that was stored last, with its writes. */
  async latest(threadId: string, namespace: string): Promise<Stored | undefined> {
    for await (const record of this.checkpoints(threadId, namespace, FIRST_PAGE)) return record;
    return undefined;
  }

  /** Iterates over the events that match, without erased ones. The pages after the first are larger. */
  async *#events(threadId: string, filter: FilterOptions, order: "asc" | "desc", first: number): AsyncGenerator<SessionEvent, void> {
    const session = this.client.session(threadId);
    let [pageToken, pageSize] = ["", first];
    do {
      const page = await session.eventsPage({ filter: eventFilter(filter), order, pageSize, pageToken });
      this.#seqs.saw(threadId, page.lastSeq);
      yield* page.events.filter(({ erased }) => !erased);
      [pageToken, pageSize] = [page.nextPageToken, PAGE];
    } while (pageToken !== "");
  }

  /** Returns the ids of all threads of the client's user that have checkpoints. */
  async ofUser(): Promise<Set<string>> {
    const found = new Set<string>();
    for await (const { session } of this.client.userEvents({ filter: { nativeFormats: [CHECKPOINT] } })) found.add(session!.sessionId);
    return found;
  }

  /** Deletes a thread: the session, with the conversation in it. */
  async delete(threadId: string): Promise<void> {
    await this.client.session(threadId).delete();
  }

  /** Returns the messages of the window, of all writers, without instructions to models and summaries. */
  async conversation(threadId: string): Promise<SessionEvent[]> {
    const found: SessionEvent[] = [];
    const others = Authors.exclude({ ids: [AUTHOR] });
    const filter: FilterOptions = { view: "active", roles: ["user", "assistant", "tool"], excludeSynthetic: true, authors: others };
    for await (const event of this.#events(threadId, filter, "asc", PAGE)) found.push(event);
    return found;
  }
}

const exactly = (namespace: string): FilterOptions => ({ branch: branchOf(namespace), branchMatch: "exact" });
