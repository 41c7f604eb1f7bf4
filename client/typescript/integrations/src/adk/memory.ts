import { createHash } from "node:crypto";

import { timestampMs } from "@bufbuild/protobuf/wkt";

import type { BaseMemoryService, Event, MemoryEntry, SearchMemoryRequest, SearchMemoryResponse, Session } from "@google/adk";
import { isReason, type Client, type MemoryEntry as StoredEntry, type ModeName, type UserMemory } from "@threadkeep/client";

import { contentOf, eventOf, type Item } from "../formats/adk.js";

/** Options of a ThreadkeepMemoryService. */
export interface ThreadkeepMemoryServiceOptions {
  /** How a query is read: "auto" (the default), "substring", "ranked", "semantic" or "hybrid". */
  mode?: ModeName | undefined;
  /** The most memories of a search, at most 1,000. Default: 10. */
  topK?: number | undefined;
}

const LONGEST_QUERY = 1024;
const ENTRIES_AT_ONCE = 100;

/**
 * Long-term memory in Threadkeep: `new Runner({ ..., memoryService: new ThreadkeepMemoryService(client) })`.
 *
 * The client's address and token are used; the app and the user are those of ADK's calls. To add a session again adds only what is new,
 * and what was deleted stays deleted. Methods throw ThreadkeepError if a call fails.
 */
export class ThreadkeepMemoryService implements BaseMemoryService {
  readonly #client: Client;
  readonly #options: ThreadkeepMemoryServiceOptions;

  constructor(client: Client, options: ThreadkeepMemoryServiceOptions = {}) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Adds the events of a session that have text, without reasoning. Of a session that Threadkeep keeps, these are all of its events; of
   * another one, those that the object has.
   */
  async addSessionToMemory(session: Session): Promise<void> {
    const { appName: app, userId, id: sessionId } = session;
    const memory = this.#client.memory({ app, userId });
    try {
      await memory.addSession({ app, userId, sessionId });
    } catch (error) {
      if (!isReason(error, "SESSION_NOT_FOUND")) throw error;
      await addEvents(memory, sessionId, session.events);
    }
  }

  /** Returns the memories that match a query, best first. Of a longer query, the first 1,024 characters count. */
  async searchMemory({ appName: app, userId, query }: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    const { mode, topK = 10 } = this.#options;
    const { entries } = await this.#client.memory({ app, userId }).search(query.slice(0, LONGEST_QUERY), { mode, topK });
    return { memories: entries.map(memoryOf) };
  }
}

/** Adds events that Threadkeep does not keep. An entry has an id of its session and event, so it is added once. */
async function addEvents(memory: UserMemory, sessionId: string, events: readonly Event[]): Promise<void> {
  const entries = events.flatMap((event) => {
    const { message, author, eventTime, eventId = "" } = eventOf(event as unknown as Item);
    const parts = (message?.parts ?? []).filter(({ content }) => content?.case === "text" && content.value.trim() !== "");
    const id = createHash("sha256").update(`${sessionId}:${eventId}`).digest("hex");
    return parts.length > 0 ? [{ id, content: { role: message!.role!, parts }, author, eventTime, sessionId, eventId }] : [];
  });
  for (let start = 0; start < entries.length; start += ENTRIES_AT_ONCE) {
    await memory.upsert(entries.slice(start, start + ENTRIES_AT_ONCE), { ifExists: "ignore" });
  }
}

function memoryOf({ content, author, eventTime }: StoredEntry): MemoryEntry {
  const found = (contentOf(content) ?? { role: "user", parts: [] }) as MemoryEntry["content"];
  return {
    content: found,
    ...(author ? { author } : {}),
    ...(eventTime === undefined ? {} : { timestamp: new Date(timestampMs(eventTime)).toISOString() }),
  };
}
