package dev.threadkeep;

import dev.threadkeep.v1.AddMemoriesRequest;
import dev.threadkeep.v1.AddMemoriesResponse;
import dev.threadkeep.v1.AddSessionToMemoryRequest;
import dev.threadkeep.v1.AddSessionToMemoryResponse;
import dev.threadkeep.v1.DeleteMemoriesRequest;
import dev.threadkeep.v1.DeleteMemoriesResponse;
import dev.threadkeep.v1.ListMemoriesRequest;
import dev.threadkeep.v1.ListMemoriesResponse;
import dev.threadkeep.v1.MemoryEntry;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.MemoryServiceGrpc;
import dev.threadkeep.v1.SearchMemoryRequest;
import dev.threadkeep.v1.SearchMemoryResponse;
import dev.threadkeep.v1.SessionRef;
import java.util.List;

/**
 * What is remembered of one user in one app, across sessions: a handle, made without a call, used as long as its client.
 *
 * <p>The scope of requests is the handle's, whatever they say. Every method may fail with MEMORY_NOT_CONFIGURED.
 */
public final class UserMemory {
  private final ThreadkeepClient client;
  private final MemoryScope scope;

  /**
   * The memory of a scope, as it is; see {@link ThreadkeepClient#memory()} for the client's own.
   *
   * @param client what it calls with
   * @param scope whose memory
   */
  public UserMemory(ThreadkeepClient client, MemoryScope scope) {
    this.client = client;
    this.scope = scope;
  }

  /**
   * An entry to add: a text, as the user's. Its builder sets what else there is.
   *
   * @param text what to remember
   * @return an entry without an id
   */
  public static MemoryEntry entry(String text) {
    return MemoryEntry.newBuilder().setContent(Events.user(text).getMessage()).build();
  }

  /**
   * Remembers entries, all or none. Those without an id get one before they are sent, in a copy, so the client's own retries remember
   * nothing twice; the same id with the same content is a replay. Reasons to fail: MEMORY_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
   *
   * @param entries what to remember
   * @return what became of each
   */
  public AddMemoriesResponse add(MemoryEntry... entries) {
    var identified = List.of(entries).stream()
        .map(entry -> entry.getId().isEmpty() ? entry.toBuilder().setId(Events.newId()).build() : entry);
    var request = AddMemoriesRequest.newBuilder().setScope(scope).addAllMemories(identified.toList());
    return client.call(MemoryServiceGrpc.getAddMemoriesMethod(), request.build());
  }

  /**
   * Remembers a session: one entry for each event with text. See {@link #addSession(AddSessionToMemoryRequest)}.
   *
   * @param session the session's id
   * @return how many were added, and how many were not
   */
  public AddSessionToMemoryResponse addSession(String session) {
    var ref = SessionRef.newBuilder().setApp(scope.getApp()).setUserId(scope.getUserId()).setSessionId(session);
    return addSession(AddSessionToMemoryRequest.newBuilder().setSession(ref).build());
  }

  /**
   * Remembers a session. What is remembered already is left as it is and what was deleted stays so: call it as often as you like. Reasons
   * to fail: SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND.
   *
   * @param request the session, which is taken as it is; which events, and what of them
   * @return how many were added, and how many were not
   */
  public AddSessionToMemoryResponse addSession(AddSessionToMemoryRequest request) {
    return client.call(MemoryServiceGrpc.getAddSessionToMemoryMethod(), request);
  }

  /**
   * The entries that answer a query, best first. See {@link #search(SearchMemoryRequest)}.
   *
   * @param query at most 1,024 characters; an empty one finds nothing
   * @return the entries, at most ten
   */
  public SearchMemoryResponse search(String query) {
    return search(SearchMemoryRequest.newBuilder().setQuery(query).build());
  }

  /**
   * The entries that answer a request. Reasons to fail: EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   *
   * @param request for what, in which mode, how many
   * @return the entries
   */
  public SearchMemoryResponse search(SearchMemoryRequest request) {
    return client.call(MemoryServiceGrpc.getSearchMemoryMethod(), request.toBuilder().setScope(scope).build());
  }

  /**
   * All entries that match, the last added first.
   *
   * @param request with which filter, how many a page; ListMemoriesRequest.getDefaultInstance() for all
   * @return the entries, page after page
   */
  public Pages<MemoryEntry> list(ListMemoriesRequest request) {
    var own = request.toBuilder().setScope(scope).build();
    return Pages.of(client, MemoryServiceGrpc.getListMemoriesMethod(), own, ListMemoriesResponse::getEntriesList);
  }

  /**
   * Forgets entries, for good.
   *
   * @param request which: some by their ids, those of a session, or all
   * @return the receipt
   */
  public DeleteMemoriesResponse delete(DeleteMemoriesRequest request) {
    return client.call(MemoryServiceGrpc.getDeleteMemoriesMethod(), request.toBuilder().setScope(scope).build());
  }
}
