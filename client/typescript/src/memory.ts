import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import { MemoryScopeSchema, type MemoryEntry, type MemoryEntrySchema, type MemoryScope } from "./gen/threadkeep/v1/memory_pb.js";
import * as memories from "./gen/threadkeep/v1/memory_service_pb.js";
import { newEventId, user } from "./messages.js";
import { paged } from "./pages.js";
import type { Fields, ServiceCaller, SessionLike } from "./requests.js";

/** Content to remember: a text, stored as a user message, or the fields of a MemoryEntry. */
export type MemoryInit = string | MessageInitShape<typeof MemoryEntrySchema>;
export type RememberOptions = Fields<typeof memories.AddSessionToMemoryRequestSchema, "session">;
export type SearchMemoryOptions = Fields<typeof memories.SearchMemoryRequestSchema, "scope" | "query">;
export type MemoriesOptions = Fields<typeof memories.ListMemoriesRequestSchema, "scope" | "pageToken">;

/** Memories to delete: by ids, by session, or all. */
export type Forgotten = { ids: readonly string[] } | { sessionId: string } | { all: true };

/**
 * A handle on the long-term memory of one user in one app; see `Client.memory`. In addition to the reasons of the client's
 * methods, every method may fail with MEMORY_NOT_CONFIGURED.
 */
export class UserMemory {
  readonly scope: MemoryScope;

  /** @internal Use `Client.memory`. */
  constructor(private readonly caller: ServiceCaller, scope: MessageInitShape<typeof MemoryScopeSchema>) {
    this.scope = create(MemoryScopeSchema, scope);
  }

  /**
   * Ingests a session: adds one entry per event with text, or per event of `eventIds`. Existing entries are unchanged and
   * deleted entries stay deleted, so the call can be repeated. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND.
   */
  addSession(session: SessionLike, options: RememberOptions = {}): Promise<memories.AddSessionToMemoryResponse> {
    const { app, userId } = this.scope;
    const ref = typeof session === "string" ? { app, userId, sessionId: session } : session;
    return this.#service.addSessionToMemory({ ...options, session: ref }, options);
  }

  /**
   * Adds entries, all or none. Entries without an id get one in a copy before they are sent, so that the client's retries add
   * nothing twice; an existing id with the same content is a replay. Reasons: MEMORY_ID_CONFLICT, EVENT_TOO_LARGE,
   * BATCH_TOO_LARGE.
   */
  add(given: MemoryInit | readonly MemoryInit[], options?: CallOptions): Promise<memories.AddMemoriesResponse> {
    const entries = [given].flat().map((entry: MemoryInit) => (typeof entry === "string" ? { content: user(entry).message } : entry));
    const identified = entries.map((entry) => ({ ...entry, id: entry.id || newEventId() }));
    return this.#service.addMemories({ scope: this.scope, memories: identified }, options);
  }

  /**
   * Searches entries, best first. The query has at most 1,024 characters; an empty query returns nothing. Reasons:
   * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   */
  search(query: string, options: SearchMemoryOptions = {}): Promise<memories.SearchMemoryResponse> {
    return this.#service.searchMemory({ ...options, scope: this.scope, query }, options);
  }

  /** Iterates over the matching entries, most recently added first, page by page. */
  list(options: MemoriesOptions = {}): AsyncGenerator<MemoryEntry, void> {
    const fetch = (pageToken: string) => this.#service.listMemories({ ...options, scope: this.scope, pageToken }, options);
    return paged(fetch, (page) => page.entries);
  }

  /** Deletes entries permanently; the response is a receipt. The session need not exist. */
  delete(which: Forgotten, options?: CallOptions): Promise<memories.DeleteMemoriesResponse> {
    const selection: MessageInitShape<typeof memories.DeleteMemoriesRequestSchema>["selection"] =
      "ids" in which
        ? { case: "ids", value: { ids: [...which.ids] } }
        : "sessionId" in which
          ? { case: "sessionId", value: which.sessionId }
          : { case: "all", value: which.all };
    return this.#service.deleteMemories({ scope: this.scope, selection }, options);
  }

  get #service() {
    return this.caller.service(memories.MemoryService);
  }
}
