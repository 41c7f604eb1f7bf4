package dev.threadkeep.async;

import dev.threadkeep.internal.operations.MemoryOperations;
import dev.threadkeep.options.MemorySearchOptions;
import dev.threadkeep.v1.AddMemoriesResponse;
import dev.threadkeep.v1.AddSessionToMemoryRequest;
import dev.threadkeep.v1.AddSessionToMemoryResponse;
import dev.threadkeep.v1.DeleteMemoriesResponse;
import dev.threadkeep.v1.GetMemoriesRequest;
import dev.threadkeep.v1.ListMemoriesRequest;
import dev.threadkeep.v1.ListMemoryNamespacesRequest;
import dev.threadkeep.v1.MemoryEntry;
import dev.threadkeep.v1.MemoryName;
import dev.threadkeep.v1.MemoryNamespace;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.MemoryWrite;
import dev.threadkeep.v1.SearchMemoryResponse;
import dev.threadkeep.v1.UpsertMemoriesRequest;
import dev.threadkeep.v1.UpsertMemoriesResponse;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A handle on the long-term memory of one user in one app. Creating it makes no call, and it is valid as long as its client. {@link
 * dev.threadkeep.UserMemory#remember} makes entries.
 *
 * <p>The handle's scope replaces the scope of requests. Every method may fail with MEMORY_NOT_CONFIGURED.
 *
 * @see dev.threadkeep.UserMemory
 */
public final class AsyncUserMemory {
  private final AsyncCalls client;
  private final MemoryScope scope;

  AsyncUserMemory(AsyncCalls client, MemoryScope scope) {
    this.client = client;
    this.scope = scope;
  }

  /**
   * Adds entries, all or none. Entries without an id get one in a copy before they are sent, so that the client's retries add
   * nothing twice; an existing id with the same content is a replay. Reasons: MEMORY_ID_CONFLICT, EVENT_TOO_LARGE,
   * BATCH_TOO_LARGE.
   *
   * @param entries entries to add
   * @return a future of the result for each entry
   */
  public CompletableFuture<AddMemoriesResponse> add(MemoryEntry... entries) {
    return client.start(() -> MemoryOperations.add(scope, List.of(entries)));
  }

  /**
   * Ingests a session: adds one entry per event with text. See {@link #addSession(AddSessionToMemoryRequest)}.
   *
   * @param session id of the session
   * @return a future of the numbers of added and other events
   */
  public CompletableFuture<AddSessionToMemoryResponse> addSession(String session) {
    return client.start(() -> MemoryOperations.addSession(MemoryOperations.ofSession(scope, session)));
  }

  /**
   * Ingests a session. Existing entries are unchanged and deleted entries stay deleted, so the call can be repeated. Reasons:
   * SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND.
   *
   * @param request session, which is used unchanged, events, and content to include
   * @return a future of the numbers of added and other events
   */
  public CompletableFuture<AddSessionToMemoryResponse> addSession(AddSessionToMemoryRequest request) {
    return client.start(() -> MemoryOperations.addSession(request));
  }

  /**
   * Searches entries, best first. See {@link #search(String, Consumer)}.
   *
   * @param query at most 1,024 characters; an empty query returns nothing
   * @return a future of at most ten entries
   */
  public CompletableFuture<SearchMemoryResponse> search(String query) {
    return search(query, o -> {});
  }

  /**
   * Searches entries, best first. Reasons: EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   *
   * @param query at most 1,024 characters; an empty query returns nothing
   * @param options sets the options, see {@link MemorySearchOptions}
   * @return a future of the entries
   */
  public CompletableFuture<SearchMemoryResponse> search(String query, Consumer<MemorySearchOptions> options) {
    return client.start(() -> MemoryOperations.search(scope, query, options));
  }

  /**
   * Lists the entries, most recently written first.
   *
   * @return the entries
   */
  public AsyncPages<MemoryEntry> list() {
    return list(ListMemoriesRequest.getDefaultInstance());
  }

  /**
   * Lists the matching entries, most recently written first.
   *
   * @param request filter and page size; ListMemoriesRequest.getDefaultInstance() for all
   * @return the entries
   */
  public AsyncPages<MemoryEntry> list(ListMemoriesRequest request) {
    return new AsyncPages<>(client, MemoryOperations.list(scope, request));
  }

  /**
   * Deletes entries of the root namespace permanently.
   *
   * @param ids their ids
   * @return a future of the receipt
   */
  public CompletableFuture<DeleteMemoriesResponse> delete(List<String> ids) {
    return client.start(() -> MemoryOperations.delete(scope, ids));
  }

  /**
   * Deletes the entries that came from a session permanently.
   *
   * @param sessionId id of the session
   * @return a future of the receipt
   */
  public CompletableFuture<DeleteMemoriesResponse> deleteSession(String sessionId) {
    return client.start(() -> MemoryOperations.deleteSession(scope, sessionId));
  }

  /**
   * Deletes all entries permanently.
   *
   * @return a future of the receipt
   */
  public CompletableFuture<DeleteMemoriesResponse> deleteAll() {
    return client.start(() -> MemoryOperations.deleteAll(scope));
  }

  /**
   * Deletes the entries with these names permanently.
   *
   * @param names their namespaces and ids
   * @return a future of the receipt
   */
  public CompletableFuture<DeleteMemoriesResponse> deleteNames(MemoryName... names) {
    return client.start(() -> MemoryOperations.deleteNames(scope, List.of(names)));
  }

  /**
   * Deletes the entries in a namespace and below it permanently.
   *
   * @param labels its labels, at least one
   * @return a future of the receipt
   */
  public CompletableFuture<DeleteMemoriesResponse> deleteNamespace(String... labels) {
    return client.start(() -> MemoryOperations.deleteNamespace(scope, List.of(labels)));
  }

  /**
   * Writes entries, all or none: those with the same namespace and id are replaced. See {@link #upsert(List, Consumer)}.
   *
   * @param entries the entries
   * @return a future of the outcome and the etag of each entry
   */
  public CompletableFuture<UpsertMemoriesResponse> upsert(MemoryEntry... entries) {
    return client.start(() -> MemoryOperations.upsert(scope, MemoryOperations.writes(entries), request -> {}));
  }

  /**
   * Writes entries, all or none: those with the same namespace and id are replaced. Entries without an id get one in a copy.
   * Reasons: VERSION_MISMATCH of an expected etag, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
   *
   * @param writes the entries, and the etags that stored ones must have
   * @param change changes the request, for example its if_exists
   * @return a future of the outcome and the etag of each entry
   */
  public CompletableFuture<UpsertMemoriesResponse> upsert(List<MemoryWrite> writes, Consumer<UpsertMemoriesRequest.Builder> change) {
    return client.start(() -> MemoryOperations.upsert(scope, writes, change));
  }

  /**
   * Returns the entry with this id in a namespace.
   *
   * @param id its id
   * @param namespace labels of the namespace; none means the root
   * @return a future of the entry, if there is one
   */
  public CompletableFuture<Optional<MemoryEntry>> get(String id, String... namespace) {
    return client.start(() -> MemoryOperations.get(scope, MemoryOperations.name(id, namespace)));
  }

  /**
   * Returns entries by their names. Large entries take several calls, each with the timeout.
   *
   * @param names namespaces and ids, at most 1,000
   * @param change changes the request, for example its refresh_ttl
   * @return a future of an entry for each name, in order, if there is one
   */
  public CompletableFuture<List<Optional<MemoryEntry>>> get(List<MemoryName> names, Consumer<GetMemoriesRequest.Builder> change) {
    return client.start(() -> MemoryOperations.get(scope, names, change));
  }

  /**
   * Lists the namespaces that have entries, in order; the root has no labels.
   *
   * @return the namespaces
   */
  public AsyncPages<MemoryNamespace> namespaces() {
    return namespaces(request -> {});
  }

  /**
   * Lists the namespaces that have entries, in order; the root has no labels.
   *
   * @param change changes the request, for example its prefix, its suffix or its max_depth
   * @return the namespaces
   */
  public AsyncPages<MemoryNamespace> namespaces(Consumer<ListMemoryNamespacesRequest.Builder> change) {
    return new AsyncPages<>(client, MemoryOperations.namespaces(scope, change));
  }
}
