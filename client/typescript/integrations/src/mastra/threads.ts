// Threads: a thread is a session, its resource is the user who owns it, its title and metadata are state of the session.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { StorageThreadType } from "@mastra/core/memory";

import { isReason, type Client, type Session, type SessionHandle } from "@threadkeep/client";

/** Labels of the sessions that are threads. */
export const THREAD = { mastra: "thread" };

const TITLE = "mastra.title";
const METADATA = "mastra.metadata/";

/** Title and metadata of a thread, each if it is to change. */
export interface Described {
  title?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
}

/** Returns the values of a session's state that describe a thread. */
export function stateOf({ title, metadata = {} }: Described): Record<string, unknown> {
  const entries = Object.entries(metadata).filter(([, value]) => value !== undefined);
  return { ...(title === undefined ? {} : { [TITLE]: title }), ...Object.fromEntries(entries.map(([key, value]) => [METADATA + key, value])) };
}

/** Returns the keys of a state that describe a thread. */
export const describing = (keys: readonly string[]) => keys.filter((key) => key === TITLE || key.startsWith(METADATA));

/** Returns the thread of a session and its state, JSON texts by key. */
export function threadOf({ ref, createTime, updateTime }: Session, texts: Readonly<Record<string, string>>): StorageThreadType {
  const metadata = Object.entries(texts).filter(([key]) => key.startsWith(METADATA));
  const title = texts[TITLE] === undefined ? {} : { title: JSON.parse(texts[TITLE]) as string };
  return {
    id: ref!.sessionId,
    resourceId: ref!.userId,
    ...title,
    metadata: Object.fromEntries(metadata.map(([key, json]) => [key.slice(METADATA.length), JSON.parse(json)])),
    createdAt: timestampDate(createTime!),
    updatedAt: timestampDate(updateTime!),
  };
}

/** The threads of an app. The owners of threads that are named by id alone are looked up once. */
export class Threads {
  readonly #owners = new Map<string, string>();

  constructor(readonly client: Client) {}

  /** Returns a handle on a thread of a resource, which need not exist. */
  of(threadId: string, resourceId: string): SessionHandle {
    return this.client.session({ app: this.client.app, userId: resourceId, sessionId: threadId });
  }

  /** Returns a handle on an existing thread of any resource; undefined if there is none. */
  async find(threadId: string): Promise<SessionHandle | undefined> {
    const known = this.#owners.get(threadId);
    if (known !== undefined) return this.of(threadId, known);
    for await (const { ref } of this.client.sessions({ anyUser: true, sessionIdPrefix: threadId, orderBy: "created_first" })) {
      if (ref?.sessionId !== threadId) continue;
      if (this.#owners.size >= REMEMBERED) this.#owners.clear();
      this.#owners.set(threadId, ref.userId);
      return this.of(threadId, ref.userId);
    }
    return undefined;
  }

  /** Forgets the owner of a thread, which was moved or deleted. */
  forget(threadId: string): void {
    this.#owners.delete(threadId);
  }

  /** Forgets all owners. */
  clear(): void {
    this.#owners.clear();
  }

  /** Returns a thread; null if there is none, or none of this resource. */
  async get(threadId: string, resourceId?: string): Promise<StorageThreadType | null> {
    const session = resourceId === undefined ? await this.find(threadId) : this.of(threadId, resourceId);
    if (session === undefined) return null;
    const loaded = await found(session.load({ excludeEvents: true, stateScopes: ["session"] }));
    if (loaded === undefined) {
      // Another process moved or deleted it, unless it never was.
      const wasKnown = resourceId === undefined && this.#owners.delete(threadId);
      return wasKnown ? this.get(threadId) : null;
    }
    const page = loaded.state?.session;
    return threadOf(loaded.session!, page?.more ? (await session.state().get()).texts : (page?.values ?? {}));
  }

  /** Changes title and metadata; metadata is merged, key by key. Throws Error if there is no such thread. */
  async update(threadId: string, described: Described): Promise<StorageThreadType> {
    const session = await this.find(threadId);
    const state = stateOf(described);
    if (session !== undefined && Object.keys(state).length > 0) await found(session.state().patch(state));
    const thread = await this.get(threadId);
    if (thread === null) throw new Error(`Thread with id ${threadId} not found`);
    return thread;
  }
}

const REMEMBERED = 10_000;

/** Returns the answer of a call; undefined if its session does not exist. */
export async function found<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isReason(error, "SESSION_NOT_FOUND", "EVENT_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** Returns the items by their keys, in their order. */
export function grouped<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}
