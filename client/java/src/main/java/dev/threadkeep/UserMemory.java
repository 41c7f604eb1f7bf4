package dev.threadkeep;

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
    return client.run(MemoryOperations.add(scope, List.of(entries)));
  }

  /**
   * Ingests a session: adds one entry per event with text. See {@link #addSession(AddSessionToMemoryRequest)}.
   *
   * @param session id of the session
   * @return the numbers of added and other events
   */
  public AddSessionToMemoryResponse addSession(String session) {
    return addSession(MemoryOperations.ofSession(scope, session));
  }

  /**
   * Ingests a session. Existing entries are unchanged and deleted entries stay deleted, so the call can be repeated. Reasons:
   * SESSION_NOT_FOUND, AMBIGUOUS_SESSION, EVENT_NOT_FOUND.
   *
   * @param request session, which is used unchanged, events, and content to include
   * @return the numbers of added and other events
   */
  public AddSessionToMemoryResponse addSession(AddSessionToMemoryRequest request) {
    return client.run(MemoryOperations.addSession(request));
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
    return client.run(MemoryOperations.search(scope, query, options));
  }

  /**
   * Lists the entries, most recently written first.
   *
   * @return the entries, page by page
   */
  public Pages<MemoryEntry> list() {
    return list(ListMemoriesRequest.getDefaultInstance());
  }

  /**
   * Lists the matching entries, most recently written first.
   *
   * @param request filter and page size; ListMemoriesRequest.getDefaultInstance() for all
   * @return the entries, page by page
   */
  public Pages<MemoryEntry> list(ListMemoriesRequest request) {
    return new Pages<>(client, MemoryOperations.list(scope, request));
  }

  /**
   * Deletes entries of the root namespace permanently.
   *
   * @param ids their ids
   * @return the receipt
   */
  public DeleteMemoriesResponse delete(List<String> ids) {
    return client.run(MemoryOperations.delete(scope, ids));
  }

  /**
   * Deletes the entries that came from a session permanently.
   *
   * @param sessionId id of the session
   * @return the receipt
   */
  public DeleteMemoriesResponse deleteSession(String sessionId) {
    return client.run(MemoryOperations.deleteSession(scope, sessionId));
  }

  /**
   * Deletes all entries permanently.
   *
   * @return the receipt
   */
  public DeleteMemoriesResponse deleteAll() {
    return client.run(MemoryOperations.deleteAll(scope));
  }

  /**
   * Deletes the entries with these names permanently.
   *
   * @param names their namespaces and ids
   * @return the receipt
   */
  public DeleteMemoriesResponse deleteNames(MemoryName... names) {
    return client.run(MemoryOperations.deleteNames(scope, List.of(names)));
  }

  /**
   * Deletes the entries in a namespace and below it permanently.
   *
   * @param labels its labels, at least one
   * @return the receipt
   */
  public DeleteMemoriesResponse deleteNamespace(String... labels) {
    return client.run(MemoryOperations.deleteNamespace(scope, List.of(labels)));
  }

  /**
   * Writes entries, all or none: those with the same namespace and id are replaced. See {@link #upsert(List, Consumer)}.
   *
   * @param entries the entries
   * @return the outcome and the etag of each entry
   */
  public UpsertMemoriesResponse upsert(MemoryEntry... entries) {
    return upsert(MemoryOperations.writes(entries), request -> {});
  }

  /**
   * Writes entries, all or none: those with the same namespace and id are replaced. Entries without an id get one in a copy.
   * Reasons: VERSION_MISMATCH of an expected etag, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
   *
   * @param writes the entries, and the etags that stored ones must have
   * @param change changes the request, for example its if_exists
   * @return the outcome and the etag of each entry
   */
  public UpsertMemoriesResponse upsert(List<MemoryWrite> writes, Consumer<UpsertMemoriesRequest.Builder> change) {
    return client.run(MemoryOperations.upsert(scope, writes, change));
  }

  /**
   * Returns the entry with this id in a namespace.
   *
   * @param id its id
   * @param namespace labels of the namespace; none means the root
   * @return the entry, if there is one
   */
  public Optional<MemoryEntry> get(String id, String... namespace) {
    return client.run(MemoryOperations.get(scope, MemoryOperations.name(id, namespace)));
  }

  /**
   * Returns entries by their names. Large entries take several calls, each with the timeout.
   *
   * @param names namespaces and ids, at most 1,000
   * @param change changes the request, for example its refresh_ttl
   * @return an entry for each name, in order, if there is one
   */
  public List<Optional<MemoryEntry>> get(List<MemoryName> names, Consumer<GetMemoriesRequest.Builder> change) {
    return client.run(MemoryOperations.get(scope, names, change));
  }

  /**
   * Lists the namespaces that have entries, in order; the root has no labels.
   *
   * @return the namespaces, page by page
   */
  public Pages<MemoryNamespace> namespaces() {
    return namespaces(request -> {});
  }

  /**
   * Lists the namespaces that have entries, in order; the root has no labels.
   *
   * @param change changes the request, for example its prefix, its suffix or its max_depth
   * @return the namespaces, page by page
   */
  public Pages<MemoryNamespace> namespaces(Consumer<ListMemoryNamespacesRequest.Builder> change) {
    return new Pages<>(client, MemoryOperations.namespaces(scope, change));
  }
}
