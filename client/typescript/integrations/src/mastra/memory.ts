// The storage domain `memory` of Mastra: threads, messages and resources.

import { randomUUID } from "node:crypto";

import type { MastraDBMessage, StorageThreadType } from "@mastra/core/memory";
import {
  calculatePagination, filterByDateRange, jsonValueEquals, MemoryStorage, normalizePerPage, storageMessageMatchesMetadataFilter,
  validateStorageMetadataFilter, type StorageCloneThreadInput, type StorageCopyThreadOutput, type StorageListMessagesByResourceIdInput,
  type StorageListMessagesInput, type StorageListMessagesOutput, type StorageListThreadsInput, type StorageListThreadsOutput,
  type StorageResourceType,
} from "@mastra/core/storage";

import { isReason, type Client } from "@threadkeep/client";

import { created } from "../common/created.js";
import { Messages, type Thread } from "./messages.js";
import { clearResources, getResource, saveResource, updateResource } from "./resources.js";
import { INDEX } from "./messageIndex.js";
import { describing, found, stateOf, THREAD, threadOf, Threads } from "./threads.js";

type ListOptions = Omit<StorageListMessagesInput, "threadId">;
type MessageUpdate = Parameters<MemoryStorage["updateMessages"]>[0]["messages"][number];

/**
 * Mastra's memory storage over the sessions of the client's app: a thread is a session, its resource is the user who owns it.
 * Deletions and moves require the role admin; everything else the role writer, for all users of the app.
 */
export class ThreadkeepMemoryStorage extends MemoryStorage {
  override readonly supportsPartialThreadUpdate = true;
  override readonly supportsObservationalMemory = false;
  readonly #threads: Threads;
  readonly #messages: Messages;

  constructor(private readonly client: Client) {
    super();
    this.#threads = new Threads(client);
    this.#messages = new Messages(this.#threads);
  }

  getThreadById({ threadId, resourceId }: { threadId: string; resourceId?: string }): Promise<StorageThreadType | null> {
    return this.#threads.get(threadId, resourceId);
  }

  /** Creates a thread, or replaces title and metadata of the one with this id. One of another resource is moved to this one. */
  async saveThread({ thread }: { thread: StorageThreadType }): Promise<StorageThreadType> {
    const session = this.#threads.of(thread.id, thread.resourceId);
    const state = stateOf(thread);
    const options = { state, labels: THREAD, createTime: new Date(thread.createdAt), uniqueInApp: true };
    try {
      if (await created(session, options)) return thread;
    } catch (error) {
      if (!isReason(error, "SESSION_ALREADY_EXISTS")) throw error;
      await this.updateThreadResourceId({ threadId: thread.id, resourceId: thread.resourceId });
    }
    const { texts } = await session.state().get();
    await session.state().patch(state, { remove: describing(Object.keys(texts)).filter((key) => !(key in state)) });
    await session.update({ setLabels: THREAD });
    return thread;
  }

  updateThread({ id, ...described }: { id: string; title?: string; metadata?: Record<string, unknown> }): Promise<StorageThreadType> {
    return this.#threads.update(id, described);
  }

  /** Changes metadata by what is read, atomically: if another process changes the thread's state meanwhile, `update` is called again. */
  override async updateThreadMetadata({ id, resourceId, update }: Parameters<MemoryStorage["updateThreadMetadata"]>[0]): Promise<StorageThreadType | null> {
    for (;;) {
      const session = resourceId === undefined ? await this.#threads.find(id) : this.#threads.of(id, resourceId);
      const loaded = session && (await found(Promise.all([session.get(), session.state().get()])));
      if (session === undefined || loaded === undefined) return null;
      const [{ version }, thread] = [loaded[1], threadOf(loaded[0], loaded[1].texts)];
      const metadata = update(thread);
      if (metadata === undefined) return thread;
      try {
        await session.state().patch(stateOf({ metadata }), { expect: { version } });
        return await this.#threads.get(id, resourceId);
      } catch (error) {
        if (!isReason(error, "VERSION_MISMATCH")) throw error;
      }
    }
  }

  /** Deletes a thread with its messages. */
  async deleteThread({ threadId }: { threadId: string }): Promise<void> {
    const thread = await this.#messages.read(threadId);
    if (thread === undefined) return;
    await found(thread.session.delete());
    this.#threads.forget(threadId);
    await this.#messages.index.remove(thread.stored.map(({ message }) => message.id));
  }

  /** Gives a thread to another resource, with its messages. */
  override async updateThreadResourceId({ threadId, resourceId }: { threadId: string; resourceId: string }): Promise<StorageThreadType> {
    const session = await this.#threads.find(threadId);
    if (session === undefined) throw new Error(`Thread "${threadId}" not found`);
    if (session.ref.userId !== resourceId) await session.move(resourceId);
    this.#threads.forget(threadId);
    const thread = await this.#threads.get(threadId);
    if (thread === null) throw new Error(`Thread "${threadId}" not found`);
    return thread;
  }

  async listThreads({ page = 0, perPage: given, orderBy, filter }: StorageListThreadsInput): Promise<StorageListThreadsOutput> {
    const { field, direction } = this.parseOrderBy(orderBy);
    this.validatePaginationInput(page, given ?? 100);
    this.validateMetadataKeys(filter?.metadata);
    const { offset, perPage } = calculatePagination(page, given, normalizePerPage(given, 100));
    const order = `${field === "updatedAt" ? "updated" : "created"}_${direction === "ASC" ? "first" : "last_first"}` as const;
    const whose = filter?.resourceId ? { userId: filter.resourceId } : { anyUser: true };
    const wanted = Object.entries(filter?.metadata ?? {});
    const query = { ...whose, labels: THREAD, orderBy: order, withState: true };
    // The server selects by resource and order; metadata is selected here.
    if (wanted.length === 0 && perPage !== false && perPage > 0 && perPage <= 1000 && offset <= 10_000) {
      const found = await this.client.sessionsPage({ ...query, offset, pageSize: perPage, withTotal: true });
      const threads = await this.#threadsOf(found);
      return { threads, total: found.totalSize, page, perPage, hasMore: offset + threads.length < found.totalSize };
    }
    const all: StorageThreadType[] = [];
    let pageToken = "";
    do {
      const found = await this.client.sessionsPage({ ...query, pageSize: 1000, pageToken });
      all.push(...(await this.#threadsOf(found)));
      pageToken = found.nextPageToken;
    } while (pageToken !== "");
    const matching = all.filter(({ metadata }) => wanted.every(([key, value]) => jsonValueEquals(metadata?.[key], value)));
    const end = perPage === false ? matching.length : offset + perPage;
    return { threads: matching.slice(offset, end), total: matching.length, page, perPage, hasMore: end < matching.length };
  }

  async #threadsOf({ sessions, states }: Awaited<ReturnType<Client["sessionsPage"]>>): Promise<StorageThreadType[]> {
    return Promise.all(
      sessions.map(async (session, place) => {
        const { values = {}, more = true } = states[place] ?? {};
        const { sessionId, userId } = session.ref!;
        return threadOf(session, more ? (await this.#threads.of(sessionId, userId).state().get()).texts : values);
      }),
    );
  }

  async listMessages({ threadId, ...options }: StorageListMessagesInput): Promise<StorageListMessagesOutput> {
    const threadIds = [threadId].flat();
    if (threadIds.length === 0 || threadIds.some((id) => !id.trim())) throw new Error("threadId must be a non-empty string or array of non-empty strings");
    return this.#listed(options, async () => {
      const threads = await Promise.all([...new Set(threadIds)].map((id) => this.#messages.read(id)));
      return threads.filter((thread) => thread !== undefined);
    });
  }

  override async listMessagesByResourceId({ resourceId, ...options }: StorageListMessagesByResourceIdInput): Promise<StorageListMessagesOutput> {
    return this.#listed({ ...options, resourceId }, async () => {
      const threads: Thread[] = [];
      for await (const { ref } of this.client.sessions({ userId: resourceId, labels: THREAD })) {
        threads.push(await this.#messages.readSession(this.#threads.of(ref!.sessionId, ref!.userId)));
      }
      return threads;
    });
  }

  async #listed({ resourceId, include = [], perPage: given, page = 0, filter, orderBy }: ListOptions, read: () => Promise<Thread[]>): Promise<StorageListMessagesOutput> {
    const metadata = validateStorageMetadataFilter(filter?.metadata);
    const { direction } = this.parseOrderBy(orderBy, "ASC");
    this.validatePaginationInput(page, given ?? 40);
    const count = normalizePerPage(given, 40);
    const { offset, perPage } = calculatePagination(page, given, count);
    const all = count === 0 ? [] : (await read()).flatMap((thread) => this.#messages.of(thread, resourceId));
    const matching = inOrder(
      filterByDateRange(all, ({ createdAt }) => createdAt, filter?.dateRange).filter(({ content }) => storageMessageMatchesMetadataFilter(content, metadata)),
      direction,
    );
    const picked = matching.slice(offset, perPage === false ? undefined : offset + perPage);
    const known = new Set(picked.map(({ id }) => id));
    const included = (await this.#messages.included(include, resourceId)).filter(({ id }) => !known.has(id));
    const hasMore = count > 0 && offset + picked.length < matching.length;
    return { messages: inOrder([...picked, ...included], direction), total: matching.length, page, perPage, hasMore };
  }

  async listMessagesById({ messageIds }: { messageIds: string[] }): Promise<{ messages: MastraDBMessage[] }> {
    return { messages: inOrder(await this.#messages.byId(messageIds), "ASC") };
  }

  /** Saves messages: one whose id is stored, in any thread, is replaced. */
  async saveMessages({ messages }: { messages: MastraDBMessage[] }): Promise<{ messages: MastraDBMessage[] }> {
    await this.#messages.save(messages);
    return { messages };
  }

  /** Changes messages: their content is merged, and its metadata. Unknown ones are left out. */
  async updateMessages({ messages }: { messages: MessageUpdate[] }): Promise<MastraDBMessage[]> {
    return this.#messages.update(messages);
  }

  /** Deletes messages permanently. */
  override async deleteMessages(messageIds: string[]): Promise<void> {
    await this.#messages.delete(messageIds);
  }

  /** Copies a thread. The messages of the copy have new ids; a limit keeps the newest. */
  override async copyThread({ sourceThreadId, newThreadId = randomUUID(), resourceId, title, metadata, options }: StorageCloneThreadInput): Promise<StorageCopyThreadOutput> {
    const [source, thread] = await Promise.all([this.#messages.read(sourceThreadId), this.#threads.get(sourceThreadId)]);
    if (source === undefined || thread === null) throw new Error(`Source thread with id ${sourceThreadId} not found`);
    const copied = chosen(inOrder(this.#messages.of(source), "ASC"), options);
    const [now, last] = [new Date(), copied.at(-1)];
    const clone = { sourceThreadId, clonedAt: now, ...(last === undefined ? {} : { lastMessageId: last.id }) };
    const named = title || (thread.title ? `Clone of ${thread.title}` : undefined);
    const copy: StorageThreadType = {
      ...{ id: newThreadId, resourceId: resourceId || thread.resourceId, metadata: { ...metadata, clone }, createdAt: now, updatedAt: now },
      ...(named === undefined ? {} : { title: named }),
    };
    const isNew = await created(this.#threads.of(copy.id, copy.resourceId), { state: stateOf(copy), labels: THREAD, uniqueInApp: true });
    if (!isNew) throw new Error(`Thread with id ${newThreadId} already exists`);
    const ids = Object.fromEntries(copied.map(({ id }) => [id, randomUUID()]));
    await this.#messages.save(copied.map((message) => ({ ...message, id: ids[message.id]!, threadId: copy.id, resourceId: copy.resourceId })));
    return { thread: copy, messageIdMap: ids };
  }

  override getResourceById({ resourceId }: { resourceId: string }): Promise<StorageResourceType | null> {
    return getResource(this.client, resourceId);
  }

  override saveResource({ resource }: { resource: StorageResourceType }): Promise<StorageResourceType> {
    return saveResource(this.client, resource);
  }

  override updateResource(given: { resourceId: string; workingMemory?: string; metadata?: Record<string, unknown> }): Promise<StorageResourceType> {
    return updateResource(this.client, given);
  }

  /** Deletes all threads of the app that Mastra made, and the resources of all users. */
  async dangerouslyClearAll(): Promise<void> {
    await this.client.deleteByLabel(THREAD, { anyUser: true });
    await this.client.deleteByLabel(INDEX, { anyUser: true });
    await clearResources(this.client);
    this.#threads.clear();
  }
}

/** Returns the messages in the order of their times; those of one time stay in the order of the log. */
function inOrder(messages: readonly MastraDBMessage[], direction: "ASC" | "DESC"): MastraDBMessage[] {
  const sign = direction === "ASC" ? 1 : -1;
  return [...messages].sort((left, right) => sign * (left.createdAt.getTime() - right.createdAt.getTime()));
}

/** Returns the messages that a copy has. */
function chosen(messages: MastraDBMessage[], { messageFilter = {}, messageLimit = 0 }: NonNullable<StorageCloneThreadInput["options"]> = {}): MastraDBMessage[] {
  const { startDate, endDate, messageIds = [] } = messageFilter;
  const ids = new Set(messageIds);
  const matching = messages.filter(
    ({ id, createdAt }) => (ids.size === 0 || ids.has(id)) && (startDate === undefined || createdAt >= startDate) && (endDate === undefined || createdAt <= endDate),
  );
  return messageLimit > 0 ? matching.slice(-messageLimit) : matching;
}
