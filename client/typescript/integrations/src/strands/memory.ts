// A store of Strands' MemoryManager: long-term memory of a user. The same in Python: see `threadkeep.integrations.strands`.

import { createHash } from "node:crypto";

import type { AddMessagesContext, JSONValue, MemoryEntry, MemoryStore, MessageData, SearchOptions } from "@strands-agents/sdk";

import { newEventId, remember, textOf, Role, type Client, type MemoryEntry as Entry, type UserMemory } from "@threadkeep/client";

const MOST_QUERY = 1024;
const MOST_RESULTS = 10;

/** Options of `ThreadkeepMemoryStore`; the first five are those of every store. */
export interface MemoryStoreOptions extends Pick<MemoryStore, "description" | "maxSearchResults" | "extraction"> {
  /** Default: "threadkeep". */
  name?: string;
  /** Default: true. */
  writable?: boolean;
  /** A path of labels: the store writes to it, and searches it and those below it. Default: the root, where all entries are found. */
  namespace?: readonly string[];
  /** User who owns the entries. Default: the client's. */
  userId?: string;
}

/**
 * Long-term memory of a user, for a `MemoryManager`. `add` stores the same content once, however often it is called. `addMessages`
 * stores the text of each message as an entry, whose id is the message's tracking id; the server ranks, and no model is called.
 */
export class ThreadkeepMemoryStore implements MemoryStore {
  readonly name: string;
  readonly description?: string;
  readonly maxSearchResults: number;
  readonly writable: boolean;
  readonly extraction?: NonNullable<MemoryStore["extraction"]>;
  readonly #namespace: readonly string[];
  readonly #memory: UserMemory;
  readonly #runId = newEventId();

  constructor(client: Client, { name = "threadkeep", description, maxSearchResults = MOST_RESULTS, writable = true, extraction, namespace = [], userId = client.userId }: MemoryStoreOptions = {}) {
    this.name = name;
    this.maxSearchResults = maxSearchResults;
    this.writable = writable;
    if (description !== undefined) this.description = description;
    if (extraction !== undefined) this.extraction = extraction;
    this.#namespace = namespace;
    this.#memory = client.memory({ userId });
  }

  /** Returns the entries that match a query, best first. Their metadata has an id and a score too. */
  async search(query: string, { maxSearchResults = this.maxSearchResults }: SearchOptions = {}): Promise<MemoryEntry[]> {
    const filter = this.#namespace.length > 0 ? { namespacePrefix: this.#namespace } : undefined;
    const { entries } = await this.#memory.search(Array.from(query).slice(0, MOST_QUERY).join(""), { topK: maxSearchResults, filter });
    return entries.map((entry) => ({ content: textOf(entry), storeName: this.name, metadata: { ...metadataOf(entry), id: entry.id, score: entry.score } }));
  }

  /** Adds a text and returns the id of its entry. The same text again replaces it. */
  async add(content: string, metadata?: Record<string, JSONValue>): Promise<string> {
    const id = hashed(content);
    await this.#memory.upsert(remember(content, { id, metadata, namespace: this.#namespace }));
    return id;
  }

  /** Adds the texts of messages and returns how many have one. A repeated batch adds nothing. */
  async addMessages(messages: MessageData[], context?: AddMessagesContext): Promise<number> {
    const entries = messages.flatMap((message, place) => this.#entriesOf(message, context?.sequenceNumbers?.[place]));
    if (entries.length > 0) await this.#memory.upsert(entries);
    return entries.length;
  }

  /** Returns the entry of a message; none without a text. */
  #entriesOf({ role, content, trackingId }: MessageData, number: number | undefined): Entry[] {
    const texts = content.flatMap((block) => ("text" in block && typeof block.text === "string" && block.text.trim() !== "" ? [block.text] : []));
    if (texts.length === 0) return [];
    const numbered = number === undefined ? hashed(texts.join("\n")) : `${this.#runId}/${number}`;
    const entry = remember(texts, { id: trackingId || numbered, namespace: this.#namespace });
    entry.content!.role = role === "assistant" ? Role.ASSISTANT : Role.USER;
    return [entry];
  }
}

const hashed = (text: string) => createHash("sha256").update(text).digest("hex");

/** Returns the metadata that an entry was added with. */
function metadataOf({ metadataJson }: Entry): Record<string, JSONValue> {
  const metadata = (metadataJson === "" ? {} : JSON.parse(metadataJson)) as JSONValue;
  return typeof metadata === "object" && metadata !== null && !Array.isArray(metadata) ? metadata : {};
}
