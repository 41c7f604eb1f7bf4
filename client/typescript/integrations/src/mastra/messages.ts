// The messages of threads: reads, and writes that keep the index of message ids.

import type { MastraDBMessage } from "@mastra/core/memory";
import type { MemoryStorage, StorageListMessagesInput } from "@mastra/core/storage";

import { isReason, type EventInit, type SessionHandle } from "@threadkeep/client";

import { emptied, eventsOf, storedOf, type Message, type Stored } from "../formats/mastra.js";
import { MessageIndex, type Place } from "./messageIndex.js";
import { grouped, THREAD, type Threads } from "./threads.js";

/** Maximum number of events in one call. */
const BATCH = 1000;

/** A thread with its messages, in window order. */
export interface Thread {
  session: SessionHandle;
  stored: Stored[];
  logVersion: bigint;
}

type Update = Parameters<MemoryStorage["updateMessages"]>[0]["messages"][number];

export class Messages {
  readonly index: MessageIndex;

  constructor(private readonly threads: Threads) {
    this.index = new MessageIndex(threads.client);
  }

  /** Returns a thread; undefined if there is none. */
  async read(threadId: string): Promise<Thread | undefined> {
    const session = await this.threads.find(threadId);
    if (session === undefined) return undefined;
    const thread = await this.readSession(session);
    if (thread.logVersion > 0n) return thread;
    this.threads.forget(threadId); // It is empty, or it was moved by another process.
    const again = await this.threads.find(threadId);
    return again === undefined ? undefined : this.readSession(again);
  }

  /** Returns the thread of a session, without what a compaction archived. */
  async readSession(session: SessionHandle): Promise<Thread> {
    const events = [];
    let [logVersion, pageToken] = [undefined as bigint | undefined, ""];
    do {
      const page = await session.eventsPage({ filter: { view: "active" }, pageSize: BATCH, pageToken });
      logVersion ??= page.logVersion;
      events.push(...page.events);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return { session, stored: storedOf(events), logVersion };
  }

  /** Returns the messages of a thread, which belong to its resource; none if that is not the given one. */
  of({ session, stored }: Thread, resourceId?: string): MastraDBMessage[] {
    const { sessionId: threadId, userId } = session.ref;
    if (resourceId && resourceId !== userId) return [];
    return stored.map(({ message }) => ({ ...message, threadId, resourceId: userId }) as unknown as MastraDBMessage);
  }

  /** Returns messages by their ids; unknown ones are left out. */
  async byId(messageIds: readonly string[]): Promise<MastraDBMessage[]> {
    const wanted = new Set(messageIds);
    const threads = await this.#threadsOf(await this.index.find(messageIds));
    return threads.flatMap((thread) => this.of(thread).filter(({ id }) => wanted.has(id)));
  }

  /** Returns the messages that a list includes: each with so many before and after it in its thread. */
  async included(include: NonNullable<StorageListMessagesInput["include"]>, resourceId: string | undefined): Promise<MastraDBMessage[]> {
    if (include.length === 0) return [];
    const places = await this.index.find(include.map(({ id }) => id));
    const ids = new Set([...places.values()].map(({ threadId }) => threadId));
    for (const { id, threadId } of include) if (threadId !== undefined && !places.has(id)) ids.add(threadId);
    const threads = (await Promise.all([...ids].map((id) => this.read(id)))).filter((thread) => thread !== undefined);
    const all = threads.map((thread) => this.of(thread, resourceId).sort((left, right) => left.createdAt.getTime() - right.createdAt.getTime()));
    const found = new Map<string, MastraDBMessage>();
    for (const { id, withPreviousMessages = 0, withNextMessages = 0 } of include) {
      for (const messages of all) {
        const at = messages.findIndex((message) => message.id === id);
        if (at < 0) continue;
        for (const message of messages.slice(Math.max(0, at - withPreviousMessages), at + withNextMessages + 1)) found.set(message.id, message);
      }
    }
    return [...found.values()];
  }

  /** Saves messages. The index is written first: a place without its message is harmless. */
  async save(messages: readonly MastraDBMessage[]): Promise<void> {
    if (messages.some(({ threadId }) => !threadId)) throw new Error("Expected to find a threadId for message, but couldn't find one. An unexpected error has occurred.");
    const before = await this.index.find(messages.map(({ id }) => id));
    const events = new Map(messages.map((message) => [message.id, eventsOf(message as unknown as Message)]));
    const places = messages.map(({ id, threadId }): [string, Place] => [id, { threadId: threadId!, events: events.get(id)!.length }]);
    const changed = places.filter(([id, { threadId, events }]) => before.get(id)?.threadId !== threadId || before.get(id)?.events !== events);
    await this.index.put(new Map(changed));
    const latest = new Map(messages.map((message) => [message.id, message])).values();
    for (const [threadId, group] of grouped(latest, (message) => message.threadId!)) {
      const all = group.flatMap(({ id }) => [...events.get(id)!, ...surplus(id, events.get(id)!.length, before.get(id), threadId)]);
      const owner = group.find(({ resourceId }) => resourceId)?.resourceId;
      await this.#append(await this.#sessionFor(threadId, owner), all);
    }
    const moved = places.filter(([id, { threadId }]) => before.has(id) && before.get(id)!.threadId !== threadId);
    await this.#erase(new Map(moved.map(([id]) => [id, before.get(id)!])));
  }

  /** Changes messages and returns them as they are then. */
  async update(updates: readonly Update[]): Promise<MastraDBMessage[]> {
    const places = await this.index.find(updates.map(({ id }) => id));
    const updated: MastraDBMessage[] = [];
    for (const update of updates) {
      const place = places.get(update.id);
      const changed = place && (await this.#updateOne(place, update));
      if (changed !== undefined) updated.push(changed);
    }
    return updated;
  }

  /** Reads, merges and writes one message, unless the thread changes in between: then again. */
  async #updateOne({ threadId }: Place, update: Update): Promise<MastraDBMessage | undefined> {
    for (;;) {
      const thread = await this.read(threadId);
      const known = thread && this.of(thread).find(({ id }) => id === update.id);
      if (thread === undefined || known === undefined) return undefined;
      const message = merged(known, update);
      if (message.threadId !== threadId) {
        await this.save([message]);
        return message;
      }
      const events = eventsOf(message as unknown as Message);
      const { events: stored } = thread.stored.find((each) => each.message.id === update.id)!;
      const ids = new Set(events.map(({ eventId }) => eventId));
      const all = [...events, ...stored.filter(({ eventId }) => !ids.has(eventId)).map((event) => emptied(event, update.id))];
      try {
        await this.index.put(new Map([[update.id, { threadId, events: all.length }]]));
        await thread.session.append(all, { ifExists: "replace", expect: { logVersion: thread.logVersion } });
        return message;
      } catch (error) {
        if (!isReason(error, "VERSION_MISMATCH")) throw error;
      }
    }
  }

  /** Erases messages and forgets their ids. */
  async delete(messageIds: readonly string[]): Promise<void> {
    await this.#erase(await this.index.find(messageIds));
    await this.index.remove(messageIds);
  }

  async #erase(places: ReadonlyMap<string, Place>): Promise<void> {
    for (const { session, stored } of await this.#threadsOf(places)) {
      const events = stored.filter(({ message }) => places.has(message.id)).flatMap((each) => each.events.map(({ eventId }) => eventId));
      for (let start = 0; start < events.length; start += BATCH) await session.eraseEvents(events.slice(start, start + BATCH));
    }
  }

  async #threadsOf(places: ReadonlyMap<string, Place>): Promise<Thread[]> {
    const ids = new Set([...places.values()].map(({ threadId }) => threadId));
    return (await Promise.all([...ids].map((id) => this.read(id)))).filter((thread) => thread !== undefined);
  }

  async #sessionFor(threadId: string, resourceId: string | undefined): Promise<SessionHandle> {
    return (await this.threads.find(threadId)) ?? this.threads.of(threadId, resourceId || this.threads.client.userId);
  }

  async #append(session: SessionHandle, events: readonly EventInit[]): Promise<void> {
    for (let start = 0; start < events.length; start += BATCH) {
      await session.append(events.slice(start, start + BATCH), { ifExists: "replace", createIfMissing: { labels: THREAD } });
    }
  }
}

/** Returns the events that take the place of those that a message had more when it was saved last. */
function surplus(id: string, count: number, before: Place | undefined, threadId: string): EventInit[] {
  if (before === undefined || before.threadId !== threadId) return [];
  const numbers = Array.from({ length: Math.max(0, before.events - count) }, (_, place) => count + place);
  return numbers.map((number) => emptied({ eventId: `${id}#${number}` }, id));
}

/** Returns a message with an update: content is merged, member by member, and so is its metadata. */
function merged(message: MastraDBMessage, { content, ...fields }: Update): MastraDBMessage {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const metadata = { ...message.content.metadata, ...content?.metadata };
  const whole = { ...message.content, ...content, ...(Object.keys(metadata).length > 0 ? { metadata } : {}) };
  return { ...message, ...given, content: whole } as MastraDBMessage;
}
