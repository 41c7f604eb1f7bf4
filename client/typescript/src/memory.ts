import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import { MemoryScopeSchema, type MemoryEntry, type MemoryEntrySchema, type MemoryScope } from "./gen/threadkeep/v1/memory_pb.js";
import * as memories from "./gen/threadkeep/v1/memory_service_pb.js";
import { newEventId, user } from "./messages.js";
import { paged } from "./pages.js";
import type { Fields, ServiceCaller, SessionLike } from "./requests.js";

/** What is remembered: a text, as the user's, or the fields of a MemoryEntry. */
export type MemoryInit = string | MessageInitShape<typeof MemoryEntrySchema>;
export type RememberOptions = Fields<typeof memories.AddSessionToMemoryRequestSchema, "session">;
export type SearchMemoryOptions = Fields<typeof memories.SearchMemoryRequestSchema, "scope" | "query">;
export type MemoriesOptions = Fields<typeof memories.ListMemoriesRequestSchema, "scope" | "pageToken">;

/** Which memories are deleted: some by their ids, those of a session, or all. */
export type Forgotten = { ids: readonly string[] } | { sessionId: string } | { all: true };

/**
 * What is remembered of one user in one app, across sessions; see `Client.memory`. Every method may fail with the reason
 * MEMORY_NOT_CONFIGURED beside those of the client's methods.
 */
export class UserMemory {
  readonly scope: MemoryScope;

  /** @internal Use `Client.memory`. */
  constructor(private readonly caller: ServiceCaller, scope: MessageInitShape<typeof MemoryScopeSchema>) {
    this.scope = create(MemoryScopeSchema, scope);
  }

  /**
   * Remembers a session: one entry for each event with text, or for those of `eventIds`. What is remembered already is left as it
   * is and what was deleted stays so: call it as often as you like. Reasons: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND.
   */
  addSession(session: SessionLike, options: RememberOptions = {}): Promise<memories.AddSessionToMemoryResponse> {
    const { app, userId } = this.scope;
    const ref = typeof session === "string" ? { app, userId, sessionId: session } : session;
    return this.#service.addSessionToMemory({ ...options, session: ref }, options);
  }

  /**
   * Remembers these, all or none. Entries without an id get one before they are sent, in a copy, so that the client's own retries
   * remember nothing twice; the same id with the same content is a replay. Reasons: MEMORY_ID_CONFLICT, EVENT_TOO_LARGE,
   * BATCH_TOO_LARGE.
   */
  add(given: MemoryInit | readonly MemoryInit[], options?: CallOptions): Promise<memories.AddMemoriesResponse> {
    const entries = [given].flat().map((entry: MemoryInit) => (typeof entry === "string" ? { content: user(entry).message } : entry));
    const identified = entries.map((entry) => ({ ...entry, id: entry.id || newEventId() }));
    return this.#service.addMemories({ scope: this.scope, memories: identified }, options);
  }

  /**
   * The entries that answer the query (at most 1,024 characters), best first; an empty query finds nothing. Reasons:
   * EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   */
  search(query: string, options: SearchMemoryOptions = {}): Promise<memories.SearchMemoryResponse> {
    return this.#service.searchMemory({ ...options, scope: this.scope, query }, options);
  }

  /** All entries that match, the last added first, page after page. */
  list(options: MemoriesOptions = {}): AsyncGenerator<MemoryEntry, void> {
    const fetch = (pageToken: string) => this.#service.listMemories({ ...options, scope: this.scope, pageToken }, options);
    return paged(fetch, (page) => page.entries);
  }

  /** Forgets entries for good; the response is the receipt. A session need not exist any more. */
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
