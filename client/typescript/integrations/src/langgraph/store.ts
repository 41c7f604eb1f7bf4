import {
  BaseStore, type Item, type ListNamespacesOperation, type Operation, type OperationResults, type PutOperation, type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import type { Client, MemoryEntry, MemoryName, UserMemory } from "@threadkeep/client";

import { conditionsOf, entryOf, itemOf, matches, namespaceMatches, searchItemOf, UNINDEXED, valueOf } from "./items.js";

/** Options of a ThreadkeepStore. */
export interface ThreadkeepStoreOptions {
  /** The paths of a value that queries search, as in LangGraph's `index`. Default: the whole value, "$". */
  fields?: readonly string[] | undefined;
  /** User whose memory it is. Default: the client's. */
  userId?: string | undefined;
  /** App of the memory. Default: the client's. */
  app?: string | undefined;
}

const MOST_WRITES = 500;
const MOST_FOUND = 1000;
const LONGEST_QUERY = 1024;
const DEFAULT_LIMIT = 10;

/**
 * A long-term store: `graph.compile({ store: new ThreadkeepStore(client) })`. An item is an entry of a user's memory, with its
 * namespace.
 *
 * The server searches by words, and by meaning if it has an embedder. Entries that other writers added are found too; their value is
 * their metadata with the `text`. A value has at most 256 KiB of JSON. Deletions need the role admin. Methods throw ThreadkeepError if
 * a call fails.
 */
export class ThreadkeepStore extends BaseStore {
  readonly #memory: UserMemory;
  readonly #fields: readonly string[];

  constructor(client: Client, { fields = ["$"], userId, app }: ThreadkeepStoreOptions = {}) {
    super();
    this.#memory = client.memory({ userId, app });
    this.#fields = fields;
  }

  /**
   * Carries out operations and returns their results, in order: all reads first, as of before the writes. Of several writes of an item
   * the last one counts. Up to 500 writes are all stored or none.
   */
  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const puts = new Map<string, PutOperation>();
    const results = operations.map((operation): Promise<unknown> | undefined => {
      if ("namespacePrefix" in operation) return this.#search(operation);
      if ("value" in operation) puts.set(JSON.stringify([operation.namespace, operation.key]), operation);
      else if ("key" in operation) return this.#get(operation);
      else return this.#namespaces(operation);
      return undefined;
    });
    const read = await Promise.all(results);
    await this.#put([...puts.values()]);
    return read as OperationResults<Op>;
  }

  async #get(name: { namespace: string[]; key: string }): Promise<Item | null> {
    const entry = await this.#memory.get(nameOf(name));
    return entry === undefined ? null : itemOf(entry);
  }

  async #put(puts: readonly PutOperation[]): Promise<void> {
    const entries = puts.filter(({ value }) => value !== null).map((put) => entryOf(put, this.#fields));
    for (let start = 0; start < entries.length; start += MOST_WRITES) await this.#memory.upsert(entries.slice(start, start + MOST_WRITES));
    const names = puts.filter(({ value }) => value === null).map(nameOf);
    for (let start = 0; start < names.length; start += MOST_FOUND) await this.#memory.delete({ names: names.slice(start, start + MOST_FOUND) });
  }

  async #search(operation: SearchOperation): Promise<SearchItem[]> {
    const { offset = 0, limit = DEFAULT_LIMIT } = operation;
    const scored = Boolean(operation.query?.trim());
    const found = await (scored ? this.#queried(operation, offset + limit) : this.#listed(operation, offset + limit));
    return found.slice(offset, offset + limit).map((entry) => searchItemOf(entry, scored));
  }

  /** Returns hits of a query, best first. Where the rest of a filter drops some, the search is repeated with the most hits. */
  async #queried({ query, filter, namespacePrefix }: SearchOperation, end: number): Promise<MemoryEntry[]> {
    const { conditions, left } = conditionsOf(filter);
    const options = { filter: { namespacePrefix, conditions } };
    for (const topK of new Set([Math.min(end, MOST_FOUND), MOST_FOUND])) {
      const { entries } = await this.#memory.search(query!.slice(0, LONGEST_QUERY), { ...options, topK });
      const found = entries.filter((entry) => entry.author !== UNINDEXED && matches(valueOf(entry), left));
      if (found.length >= end || entries.length < topK || topK === MOST_FOUND) return found;
    }
    return [];
  }

  /** Returns entries, the last written first. */
  async #listed({ filter, namespacePrefix }: SearchOperation, end: number): Promise<MemoryEntry[]> {
    const { conditions, left } = conditionsOf(filter);
    const found: MemoryEntry[] = [];
    if (end <= 0) return found;
    const pageSize = Object.keys(left).length === 0 ? Math.min(end, MOST_FOUND) : 0;
    for await (const entry of this.#memory.list({ filter: { namespacePrefix, conditions }, pageSize })) {
      if (matches(valueOf(entry), left) && found.push(entry) >= end) break;
    }
    return found;
  }

  async #namespaces({ matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation): Promise<string[][]> {
    const prefix = matchConditions.find(({ matchType }) => matchType === "prefix");
    const suffix = matchConditions.find(({ matchType }) => matchType === "suffix");
    const rest = matchConditions.filter((each) => each !== prefix && each !== suffix);
    const depth = rest.length > 0 ? undefined : maxDepth;
    const found = new Map<string, string[]>();
    if (limit <= 0) return [];
    for await (const labels of this.#memory.namespaces({ prefix: prefix?.path, suffix: suffix?.path, maxDepth: depth })) {
      if (labels.length === 0 || !rest.every((each) => namespaceMatches(labels, each))) continue;
      const shortened = labels.slice(0, maxDepth);
      found.set(JSON.stringify(shortened), shortened);
      if (found.size >= offset + limit) break;
    }
    return [...found.values()].slice(offset, offset + limit);
  }
}

const nameOf = ({ namespace, key }: { namespace: readonly string[]; key: string }): Exclude<MemoryName, string> => ({ id: key, namespace });
