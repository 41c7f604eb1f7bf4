import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CallOptions } from "@connectrpc/connect";

import {
  MemoryEntrySchema,
  MemoryScopeSchema,
  MetadataOperator,
  type MemoryEntry,
  type MemoryFilterSchema,
  type MemoryScope,
} from "./gen/threadkeep/v1/memory_pb.js";
import * as memories from "./gen/threadkeep/v1/memory_service_pb.js";
import { newEventId, user, type Content } from "./messages.js";
import { modeOf, type ModeName } from "./names.js";
import { paged } from "./pages.js";
import { jsonText, jsonTexts, type Caller, type Json, type PageOptions, type SessionLike } from "./requests.js";
import type { RecencyOptions } from "./search.js";

/** Content to remember: a text, stored as a user message, or the fields of a MemoryEntry. */
export type MemoryInit = string | MessageInitShape<typeof MemoryEntrySchema>;

/** Fields of an entry other than its content. */
export interface MemoryFields {
  /** Id, unique in the namespace: the idempotency key. Default: a new one when the entry is sent. */
  id?: string | undefined;
  /** Namespace: a path of at most 16 labels. Default: the root. */
  namespace?: readonly string[] | undefined;
  /** Milliseconds that the entry is kept after it is written, or read with `refreshTtl`. Default: without limit. */
  ttlMs?: number | undefined;
  /** Metadata: a JSON object, or its text, which is stored verbatim. At most 256 KiB. */
  metadata?: Json | undefined;
  /** Author of the content. */
  author?: string | undefined;
  /** Time of the content. */
  eventTime?: Date | undefined;
  /** Session that the entry comes from. */
  sessionId?: string | undefined;
  /** Event that the entry comes from, in that session. */
  eventId?: string | undefined;
}

/** Returns an entry to write, with its content as a user message: `remember("Window seat.", { id: "seat", ttlMs: 86_400_000 })`. */
export function remember(content: Content, { namespace = [], ttlMs, metadata, eventTime, ...rest }: MemoryFields = {}): MemoryEntry {
  return create(MemoryEntrySchema, {
    ...rest,
    content: user(content).message,
    namespace: [...namespace],
    ttl: ttlMs === undefined ? undefined : durationFromMs(ttlMs),
    metadataJson: metadata === undefined ? undefined : jsonText(metadata),
    eventTime: eventTime && timestampFromDate(eventTime),
  });
}

/** An entry to write: its content, or with a precondition. */
export type MemoryWriteInit =
  | MemoryInit
  | {
      memory: MemoryInit;
      /** `etag` of the stored entry, "" if there must be none; otherwise VERSION_MISMATCH, and nothing is written. */
      expectedEtag?: string | undefined;
    };

/** Options of `upsert`. */
export interface UpsertOptions {
  /** How an entry is handled that exists: "replace", the default, or "ignore", which keeps it as it is. */
  ifExists?: "replace" | "ignore" | undefined;
}

/** The name of an entry: its id in a namespace, which is the root unless given. A text is an id in the root. */
export type MemoryName = string | { id: string; namespace?: readonly string[] | undefined };

/** Which events of a session are remembered. */
export interface RememberOptions {
  /** Ids of the events. Default: all; at most 1,000. */
  eventIds?: readonly string[] | undefined;
  /** Also tool calls and tool results. Default: text only. */
  includeTools?: boolean | undefined;
  /** Also reasoning. */
  includeReasoning?: boolean | undefined;
  /** Also synthetic events, such as summaries. */
  includeSynthetic?: boolean | undefined;
  /** Metadata of every added entry, a JSON object. */
  metadata?: Json | undefined;
}

/** A comparison of a top-level value of the metadata. */
export interface MemoryCondition {
  /** Key of the value. */
  key: string;
  /**
   * How the value is compared: by its JSON type, numbers as numbers. "in" is equal to one of an array, of at most 100. A missing
   * key matches "ne" only.
   */
  operator: "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in";
  /** Value to compare with: anything that `JSON.stringify` writes. */
  value: unknown;
}

/** Conditions on memories, combined with AND; values inside a list with OR. */
export interface MemoryConditions {
  /** Ids of the sessions that the entries come from. */
  sessionIds?: readonly string[] | undefined;
  /** Authors of the entries, compared exactly. */
  authors?: readonly string[] | undefined;
  /** Earliest time, inclusive. */
  fromTime?: Date | undefined;
  /** Latest time, inclusive. */
  toTime?: Date | undefined;
  /** Top-level values of the metadata, numbers and booleans as JSON text. All must match. */
  metadata?: Readonly<Record<string, string>> | undefined;
  /** Comparisons of metadata. All must match; at most 16. */
  conditions?: readonly MemoryCondition[] | undefined;
  /** Namespace of the entries, and those below it. Default: all. */
  namespacePrefix?: readonly string[] | undefined;
}

/** Options of a search of memories. */
export interface SearchMemoryOptions {
  /** How the query is interpreted. Default: "auto". */
  mode?: ModeName | undefined;
  /** Maximum number of entries. Default: 10; 5 for "semantic". */
  topK?: number | undefined;
  /** Minimum score of an entry. */
  minScore?: number | undefined;
  /** Additional conditions. */
  filter?: MemoryConditions | undefined;
  /** Boost for newer entries. Default: age has no effect. */
  recency?: RecencyOptions | undefined;
  /** Time to which "yesterday" in the query refers. Default: now. */
  referenceTime?: Date | undefined;
  /** Found entries expire one `ttl` from now. Requires the role writer. */
  refreshTtl?: boolean | undefined;
}

/** Which memories to list. */
export interface MemoriesOptions extends PageOptions {
  /** Conditions. */
  filter?: MemoryConditions | undefined;
  /** Returned entries expire one `ttl` from now. Requires the role writer. */
  refreshTtl?: boolean | undefined;
}

/** Which namespaces to list. */
export interface NamespacesOptions extends PageOptions {
  /** First labels; "*" matches any. */
  prefix?: readonly string[] | undefined;
  /** Last labels; "*" matches any. */
  suffix?: readonly string[] | undefined;
  /** Of longer namespaces only so many labels, each result once. Default: no limit. */
  maxDepth?: number | undefined;
}

/** Memories to delete: by ids in the root namespace, by names, by session, in a namespace and below it, or all. */
export type Forgotten =
  | { ids: readonly string[] }
  | { names: readonly MemoryName[] }
  | { sessionId: string }
  | { namespace: readonly string[] }
  | { all: true };

/**
 * A handle on the long-term memory of one user in one app; see `Client.memory`. In addition to the reasons of the client's
 * methods, every method may fail with MEMORY_NOT_CONFIGURED.
 */
export class UserMemory {
  readonly scope: MemoryScope;

  /** @internal Use `Client.memory`. */
  constructor(private readonly caller: Caller, scope: MessageInitShape<typeof MemoryScopeSchema>) {
    this.scope = create(MemoryScopeSchema, scope);
  }

  /**
   * Ingests a session: adds one entry per event with text, or per event of `eventIds`. Existing entries are unchanged and
   * deleted entries stay deleted, so the call can be repeated. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND.
   */
  addSession(session: SessionLike, options: RememberOptions = {}, call?: CallOptions): Promise<memories.AddSessionToMemoryResponse> {
    const { eventIds = [], metadata, ...include } = options;
    const { app, userId } = this.scope;
    const ref = typeof session === "string" ? { app, userId, sessionId: session } : session;
    const metadataJson = metadata === undefined ? undefined : jsonText(metadata);
    return this.#service.addSessionToMemory({ ...include, session: ref, eventIds: [...eventIds], metadataJson }, call);
  }

  /**
   * Adds entries, all or none. Entries without an id get one in a copy before they are sent, so that the client's retries add
   * nothing twice; an existing id with the same content is a replay. Reasons: MEMORY_ID_CONFLICT, EVENT_TOO_LARGE,
   * BATCH_TOO_LARGE.
   */
  add(given: MemoryInit | readonly MemoryInit[], call?: CallOptions): Promise<memories.AddMemoriesResponse> {
    const entries = [given].flat() as MemoryInit[];
    return this.#service.addMemories({ scope: this.scope, memories: entries.map(identified) }, call);
  }

  /**
   * Writes entries, all or none: an entry with the same namespace and id is replaced. Entries without an id get one in a copy.
   * The response has the outcome and the `etag` of each. Reasons: VERSION_MISMATCH of an `expectedEtag`, EVENT_TOO_LARGE,
   * BATCH_TOO_LARGE.
   */
  upsert(
    given: MemoryWriteInit | readonly MemoryWriteInit[],
    { ifExists = "replace" }: UpsertOptions = {},
    call?: CallOptions,
  ): Promise<memories.UpsertMemoriesResponse> {
    const writes = ([given].flat() as MemoryWriteInit[]).map((each) =>
      typeof each === "object" && "memory" in each ? { ...each, memory: identified(each.memory) } : { memory: identified(each) },
    );
    return this.#service.upsertMemories({ scope: this.scope, writes, ifExists: IF_EXISTS[ifExists] }, call);
  }

  /** Returns the entry with this name; undefined if there is none. With `refreshTtl` it expires one `ttl` from now. */
  async get(name: MemoryName, options: { refreshTtl?: boolean | undefined } = {}, call?: CallOptions): Promise<MemoryEntry | undefined> {
    return (await this.getMany([name], options, call))[0];
  }

  /**
   * Returns the entries with these names, at most 1,000, in order; undefined in place of those that do not exist. Large entries
   * take several calls, each with the timeout.
   */
  async getMany(
    names: readonly MemoryName[],
    { refreshTtl }: { refreshTtl?: boolean | undefined } = {},
    call?: CallOptions,
  ): Promise<(MemoryEntry | undefined)[]> {
    const found: (MemoryEntry | undefined)[] = [];
    while (found.length < names.length) {
      const wanted = names.slice(found.length).map(nameOf);
      const { memories: lookups } = await this.#service.getMemories({ scope: this.scope, names: wanted, refreshTtl }, call);
      const omitted = lookups.findIndex((each) => each.omitted);
      const returned = omitted < 0 ? lookups : lookups.slice(0, omitted);
      if (returned.length === 0) throw new TypeError("the server returned no entry for the first name");
      found.push(...returned.map(({ entry }) => entry));
    }
    return found;
  }

  /** Iterates over the namespaces that have entries, in order; the root is []. */
  namespaces(options: NamespacesOptions = {}, call?: CallOptions): AsyncGenerator<string[], void> {
    return paged((pageToken) => this.namespacesPage({ ...options, pageToken }, call), (page) => page.namespaces.map(({ labels }) => labels));
  }

  /** Returns one page of `namespaces`, which may be empty and not be the last. */
  namespacesPage(options: NamespacesOptions = {}, call?: CallOptions): Promise<memories.ListMemoryNamespacesResponse> {
    const { prefix = [], suffix = [], ...rest } = options;
    return this.#service.listMemoryNamespaces({ ...rest, scope: this.scope, prefix: [...prefix], suffix: [...suffix] }, call);
  }

  /**
   * Searches entries, best first. The query has at most 1,024 characters; an empty query returns nothing. Reasons:
   * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   */
  search(query: string, options: SearchMemoryOptions = {}, call?: CallOptions): Promise<memories.SearchMemoryResponse> {
    const { mode, filter, recency, referenceTime, topK, minScore, refreshTtl } = options;
    const request = {
      ...{ scope: this.scope, query, topK, minScore, refreshTtl },
      mode: modeOf(mode),
      filter: conditionsOf(filter),
      recency: recency && { halfLife: durationFromMs(recency.halfLifeMs), weight: recency.weight },
      referenceTime: referenceTime && timestampFromDate(referenceTime),
    };
    return this.#service.searchMemory(request, call);
  }

  /** Iterates over the matching entries, most recently written first, page by page. */
  list(options: MemoriesOptions = {}, call?: CallOptions): AsyncGenerator<MemoryEntry, void> {
    return paged((pageToken) => this.listPage({ ...options, pageToken }, call), (page) => page.entries);
  }

  /** Returns one page of `list`. */
  listPage({ filter, pageSize, pageToken, refreshTtl }: MemoriesOptions = {}, call?: CallOptions): Promise<memories.ListMemoriesResponse> {
    return this.#service.listMemories({ scope: this.scope, filter: conditionsOf(filter), pageSize, pageToken, refreshTtl }, call);
  }

  /** Deletes entries permanently; the response is a receipt. The session need not exist. */
  delete(which: Forgotten, call?: CallOptions): Promise<memories.DeleteMemoriesResponse> {
    return this.#service.deleteMemories({ scope: this.scope, selection: selectionOf(which) }, call);
  }

  get #service() {
    return this.caller.raw(memories.MemoryService);
  }
}

const IF_EXISTS = { replace: memories.IfMemoryExists.REPLACE, ignore: memories.IfMemoryExists.IGNORE };

const OPERATORS = {
  eq: MetadataOperator.EQUAL,
  ne: MetadataOperator.NOT_EQUAL,
  gt: MetadataOperator.GREATER,
  gte: MetadataOperator.GREATER_OR_EQUAL,
  lt: MetadataOperator.LESS,
  lte: MetadataOperator.LESS_OR_EQUAL,
  in: MetadataOperator.IN,
};

function operatorOf(name: MemoryCondition["operator"]): MetadataOperator {
  const operator = OPERATORS[name] as MetadataOperator | undefined;
  if (operator === undefined) throw new TypeError(`"${name}" is none of ${Object.keys(OPERATORS).join(", ")}`);
  return operator;
}

/** Returns a copy of the entry with an id. */
function identified(given: MemoryInit) {
  const entry = typeof given === "string" ? { content: user(given).message } : given;
  return { ...entry, id: entry.id || newEventId() };
}

function nameOf(name: MemoryName): { id: string; namespace: string[] } {
  return typeof name === "string" ? { id: name, namespace: [] } : { id: name.id, namespace: [...(name.namespace ?? [])] };
}

function selectionOf(which: Forgotten): MessageInitShape<typeof memories.DeleteMemoriesRequestSchema>["selection"] {
  if ("ids" in which) return { case: "ids", value: { ids: [...which.ids] } };
  if ("names" in which) return { case: "names", value: { names: which.names.map(nameOf) } };
  if ("sessionId" in which) return { case: "sessionId", value: which.sessionId };
  if ("namespace" in which) return { case: "namespace", value: { labels: [...which.namespace] } };
  return { case: "all", value: which.all };
}

function conditionsOf(filter: MemoryConditions | undefined): MessageInitShape<typeof MemoryFilterSchema> | undefined {
  if (filter === undefined) return undefined;
  const { sessionIds = [], authors = [], fromTime, toTime, metadata, conditions = [], namespacePrefix = [] } = filter;
  return {
    fromTime: fromTime && timestampFromDate(fromTime),
    toTime: toTime && timestampFromDate(toTime),
    sessionIds: [...sessionIds],
    authors: [...authors],
    metadata: { ...metadata },
    conditions: conditions.map(({ key, operator, value }) => ({ key, operator: operatorOf(operator), valueJson: jsonTexts({ value })["value"] })),
    namespacePrefix: [...namespacePrefix],
  };
}
