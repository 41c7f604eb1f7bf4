package dev.threadkeep;

import dev.threadkeep.options.MemorySearchOptions;
import dev.threadkeep.v1.AddMemoriesRequest;
import dev.threadkeep.v1.AddMemoriesResponse;
import dev.threadkeep.v1.AddSessionToMemoryRequest;
import dev.threadkeep.v1.AddSessionToMemoryResponse;
import dev.threadkeep.v1.DeleteMemoriesRequest;
import dev.threadkeep.v1.DeleteMemoriesResponse;
import dev.threadkeep.v1.GetMemoriesRequest;
import dev.threadkeep.v1.GetMemoriesResponse;
import dev.threadkeep.v1.ListMemoriesRequest;
import dev.threadkeep.v1.ListMemoriesResponse;
import dev.threadkeep.v1.ListMemoryNamespacesRequest;
import dev.threadkeep.v1.ListMemoryNamespacesResponse;
import dev.threadkeep.v1.MemoryEntry;
import dev.threadkeep.v1.MemoryIds;
import dev.threadkeep.v1.MemoryName;
import dev.threadkeep.v1.MemoryNamespace;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.MemoryServiceGrpc;
import dev.threadkeep.v1.MemoryWrite;
import dev.threadkeep.v1.SearchMemoryResponse;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.UpsertMemoriesRequest;
import dev.threadkeep.v1.UpsertMemoriesResponse;
import java.util.List;
import java.util.function.Consumer;

/**
 * A handle on the long-term memory of one user in one app. Creating it makes no call, and it is valid as long as its client.
 *
 * <p>The handle's scope replaces the scope of requests. Every method may fail with MEMORY_NOT_CONFIGURED.
 */
public final class UserMemory {
  private final ThreadkeepClient client;
  private final MemoryScope scope;

  UserMemory(ThreadkeepClient client, MemoryScope scope) {
    this.client = client;
    this.scope = scope;
  }

  /**
   * Returns an entry to add, with a text as a user message. Set other fields with its builder.
   *
   * @param text text to remember
   * @return an entry without an id
   */
  public static MemoryEntry remember(String text) {
    return MemoryEntry.newBuilder().setContent(Events.user(text).getMessage()).build();
  }

  /**
   * Adds entries, all or none. Entries without an id get one in a copy before they are sent, so that the client's retries add
   * nothing twice; an existing id with the same content is a replay. Reasons: MEMORY_ID_CONFLICT, EVENT_TOO_LARGE,
   * BATCH_TOO_LARGE.
   *
   * @param entries entries to add
   * @return the result for each entry
   */
  public AddMemoriesResponse add(MemoryEntry... entries) {
    var identified = List.of(entries).stream()
        .map(entry -> entry.getId().isEmpty() ? entry.toBuilder().setId(Events.newEventId()).build() : entry);
    var request = AddMemoriesRequest.newBuilder().setScope(scope).addAllMemories(identified.toList());
    return client.call(MemoryServiceGrpc.getAddMemoriesMethod(), request.build());
  }

  /**
   * Ingests a session: adds one entry per event with text. See {@link #addSession(AddSessionToMemoryRequest)}.
   *
   * @param session id of the session
   * @return the numbers of added and other events
   */
  public AddSessionToMemoryResponse addSession(String session) {
    var ref = SessionRef.newBuilder().setApp(scope.getApp()).setUserId(scope.getUserId()).setSessionId(session);
    return addSession(AddSessionToMemoryRequest.newBuilder().setSession(ref).build());
  }

  /**
   * Ingests a session. Existing entries are unchanged and deleted entries stay deleted, so the call can be repeated. Reasons:
   * SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND.
   *
   * @param request session, which is used unchanged, events, and content to include
   * @return the numbers of added and other events
   */
  public AddSessionToMemoryResponse addSession(AddSessionToMemoryRequest request) {
    return client.call(MemoryServiceGrpc.getAddSessionToMemoryMethod(), request);
  }

  /**
   * Searches entries, best first. See {@link #search(String, Consumer)}.
   *
   * @param query at most 1,024 characters; an empty query returns nothing
   * @return at most ten entries
   */
  public SearchMemoryResponse search(String query) {
    return search(query, o -> {});
  }

  /**
   * Searches entries, best first. Reasons: EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   *
   * @param query at most 1,024 characters; an empty query returns nothing
   * @param options sets the options, see {@link MemorySearchOptions}
   * @return the entries
   */
  public SearchMemoryResponse search(String query, Consumer<MemorySearchOptions> options) {
    var chosen = new MemorySearchOptions();
    options.accept(chosen);
    return client.call(MemoryServiceGrpc.getSearchMemoryMethod(), chosen.request(query, scope));
  }

  /**
   * Lists the entries, most recently added first.
   *
   * @return the entries, page by page
   */
  public Pages<MemoryEntry> list() {
    return list(ListMemoriesRequest.getDefaultInstance());
  }

  /**
   * Lists the matching entries, most recently added first.
   *
   * @param request filter and page size; ListMemoriesRequest.getDefaultInstance() for all
   * @return the entries, page by page
   */
  public Pages<MemoryEntry> list(ListMemoriesRequest request) {
    var own = request.toBuilder().setScope(scope).build();
    return Pages.of(client, MemoryServiceGrpc.getListMemoriesMethod(), own, ListMemoriesResponse::getEntriesList);
  }

  /**
   * Deletes entries permanently.
   *
   * @param ids their ids
   * @return the receipt
   */
  public DeleteMemoriesResponse delete(List<String> ids) {
    return delete(DeleteMemoriesRequest.newBuilder().setIds(MemoryIds.newBuilder().addAllIds(ids)));
  }

  /**
   * Deletes the entries that came from a session permanently.
   *
   * @param sessionId id of the session
   * @return the receipt
   */
  public DeleteMemoriesResponse deleteSession(String sessionId) {
    return delete(DeleteMemoriesRequest.newBuilder().setSessionId(sessionId));
  }

  /**
   * Deletes all entries permanently.
   *
   * @return the receipt
   */
  public DeleteMemoriesResponse deleteAll() {
    return delete(DeleteMemoriesRequest.newBuilder().setAll(true));
  }

  private DeleteMemoriesResponse delete(DeleteMemoriesRequest.Builder request) {
    return client.call(MemoryServiceGrpc.getDeleteMemoriesMethod(), request.setScope(scope).build());
  }

  /**
   * Writes entries, all or none: those that exist are replaced. Reasons: VERSION_MISMATCH of an expected etag.
   *
   * @param writes the entries; each needs an id
   * @return the result for each entry
   */
  public UpsertMemoriesResponse upsert(MemoryWrite... writes) {
    var request = UpsertMemoriesRequest.newBuilder().setScope(scope).addAllWrites(List.of(writes));
    return client.call(MemoryServiceGrpc.getUpsertMemoriesMethod(), request.build());
  }

  /**
   * Returns entries by their namespaces and ids.
   *
   * @param names the names
   * @return one lookup for each name
   */
  public GetMemoriesResponse get(MemoryName... names) {
    var request = GetMemoriesRequest.newBuilder().setScope(scope).addAllNames(List.of(names));
    return client.call(MemoryServiceGrpc.getGetMemoriesMethod(), request.build());
  }

  /**
   * Lists the namespaces that have entries.
   *
   * @return the namespaces, page by page
   */
  public Pages<MemoryNamespace> namespaces() {
    var request = ListMemoryNamespacesRequest.newBuilder().setScope(scope).build();
    return Pages.of(client, MemoryServiceGrpc.getListMemoryNamespacesMethod(), request, ListMemoryNamespacesResponse::getNamespacesList);
  }
}
