import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CallOptions } from "@connectrpc/connect";

import { MemoryScopeSchema, type MemoryEntry, type MemoryEntrySchema, type MemoryFilterSchema, type MemoryScope } from "./gen/threadkeep/v1/memory_pb.js";
import * as memories from "./gen/threadkeep/v1/memory_service_pb.js";
import { newEventId, user } from "./messages.js";
import { modeOf, type ModeName } from "./names.js";
import { paged } from "./pages.js";
import { jsonText, type Caller, type Json, type PageOptions, type SessionLike } from "./requests.js";
import type { RecencyOptions } from "./search.js";

/** Content to remember: a text, stored as a user message, or the fields of a MemoryEntry. */
export type MemoryInit = string | MessageInitShape<typeof MemoryEntrySchema>;

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
}

/** Which memories to list. */
export interface MemoriesOptions extends PageOptions {
  /** Conditions. */
  filter?: MemoryConditions | undefined;
}

/** Memories to delete: by ids, by session, or all. */
export type Forgotten = { ids: readonly string[] } | { sessionId: string } | { all: true };

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
    const entries = [given].flat().map((entry: MemoryInit) => (typeof entry === "string" ? { content: user(entry).message } : entry));
    const identified = entries.map((entry) => ({ ...entry, id: entry.id || newEventId() }));
    return this.#service.addMemories({ scope: this.scope, memories: identified }, call);
  }

  /**
   * Searches entries, best first. The query has at most 1,024 characters; an empty query returns nothing. Reasons:
   * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   */
  search(query: string, options: SearchMemoryOptions = {}, call?: CallOptions): Promise<memories.SearchMemoryResponse> {
    const { mode, filter, recency, referenceTime, topK, minScore } = options;
    const request = {
      ...{ scope: this.scope, query, topK, minScore },
      mode: modeOf(mode),
      filter: conditionsOf(filter),
      recency: recency && { halfLife: durationFromMs(recency.halfLifeMs), weight: recency.weight },
      referenceTime: referenceTime && timestampFromDate(referenceTime),
    };
    return this.#service.searchMemory(request, call);
  }

  /** Iterates over the matching entries, most recently added first, page by page. */
  list(options: MemoriesOptions = {}, call?: CallOptions): AsyncGenerator<MemoryEntry, void> {
    return paged((pageToken) => this.listPage({ ...options, pageToken }, call), (page) => page.entries);
  }

  /** Returns one page of `list`. */
  listPage({ filter, pageSize, pageToken }: MemoriesOptions = {}, call?: CallOptions): Promise<memories.ListMemoriesResponse> {
    return this.#service.listMemories({ scope: this.scope, filter: conditionsOf(filter), pageSize, pageToken }, call);
  }

  /** Deletes entries permanently; the response is a receipt. The session need not exist. */
  delete(which: Forgotten, call?: CallOptions): Promise<memories.DeleteMemoriesResponse> {
    const selection: MessageInitShape<typeof memories.DeleteMemoriesRequestSchema>["selection"] =
      "ids" in which
        ? { case: "ids", value: { ids: [...which.ids] } }
        : "sessionId" in which
          ? { case: "sessionId", value: which.sessionId }
          : { case: "all", value: which.all };
    return this.#service.deleteMemories({ scope: this.scope, selection }, call);
  }

  get #service() {
    return this.caller.raw(memories.MemoryService);
  }
}

function conditionsOf(filter: MemoryConditions | undefined): MessageInitShape<typeof MemoryFilterSchema> | undefined {
  if (filter === undefined) return undefined;
  const { sessionIds = [], authors = [], fromTime, toTime, metadata } = filter;
  const times = { fromTime: fromTime && timestampFromDate(fromTime), toTime: toTime && timestampFromDate(toTime) };
  return { ...times, sessionIds: [...sessionIds], authors: [...authors], metadata: { ...metadata } };
}
