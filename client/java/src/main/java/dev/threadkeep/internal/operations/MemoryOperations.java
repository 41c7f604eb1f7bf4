package dev.threadkeep.internal.operations;

import static dev.threadkeep.internal.operations.Operation.chosen;

import dev.threadkeep.Events;
import dev.threadkeep.options.MemorySearchOptions;
import dev.threadkeep.v1.AddMemoriesRequest;
import dev.threadkeep.v1.AddMemoriesResponse;
import dev.threadkeep.v1.AddSessionToMemoryRequest;
import dev.threadkeep.v1.AddSessionToMemoryResponse;
import dev.threadkeep.v1.DeleteMemoriesRequest;
import dev.threadkeep.v1.DeleteMemoriesResponse;
import dev.threadkeep.v1.GetMemoriesRequest;
import dev.threadkeep.v1.ListMemoriesRequest;
import dev.threadkeep.v1.ListMemoriesResponse;
import dev.threadkeep.v1.ListMemoryNamespacesRequest;
import dev.threadkeep.v1.ListMemoryNamespacesResponse;
import dev.threadkeep.v1.MemoryEntry;
import dev.threadkeep.v1.MemoryIds;
import dev.threadkeep.v1.MemoryName;
import dev.threadkeep.v1.MemoryNames;
import dev.threadkeep.v1.MemoryNamespace;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.MemoryServiceGrpc;
import dev.threadkeep.v1.MemoryWrite;
import dev.threadkeep.v1.SearchMemoryResponse;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.UpsertMemoriesRequest;
import dev.threadkeep.v1.UpsertMemoriesResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/** The operations of long-term memory, and its scope. */
public final class MemoryOperations {
  private MemoryOperations() {}

  /** Returns the scope of a user in the client's app. */
  public static MemoryScope scope(SessionRef whose, String userId) {
    return MemoryScope.newBuilder().setApp(whose.getApp()).setUserId(userId).build();
  }

  /** Adds entries; those without an id get one in a copy. */
  public static Operation<AddMemoriesResponse> add(MemoryScope scope, List<MemoryEntry> entries) {
    var identified = entries.stream()
        .map(entry -> entry.getId().isEmpty() ? entry.toBuilder().setId(Events.newEventId()).build() : entry);
    var request = AddMemoriesRequest.newBuilder().setScope(scope).addAllMemories(identified.toList());
    return Operation.of(MemoryServiceGrpc.getAddMemoriesMethod(), request.build());
  }

  /** Returns the request to ingest a session of the scope. */
  public static AddSessionToMemoryRequest ofSession(MemoryScope scope, String sessionId) {
    var ref = SessionRef.newBuilder().setApp(scope.getApp()).setUserId(scope.getUserId()).setSessionId(sessionId);
    return AddSessionToMemoryRequest.newBuilder().setSession(ref).build();
  }

  public static Operation<AddSessionToMemoryResponse> addSession(AddSessionToMemoryRequest request) {
    return Operation.of(MemoryServiceGrpc.getAddSessionToMemoryMethod(), request);
  }

  public static Operation<SearchMemoryResponse> search(MemoryScope scope, String query, Consumer<MemorySearchOptions> options) {
    return Operation.of(MemoryServiceGrpc.getSearchMemoryMethod(), chosen(new MemorySearchOptions(), options).request(query, scope));
  }

  public static Listing<MemoryEntry> list(MemoryScope scope, ListMemoriesRequest request) {
    var own = request.toBuilder().setScope(scope).build();
    return Listing.of(MemoryServiceGrpc.getListMemoriesMethod(), own, ListMemoriesResponse::getEntriesList);
  }

  public static Operation<DeleteMemoriesResponse> delete(MemoryScope scope, List<String> ids) {
    return delete(scope, DeleteMemoriesRequest.newBuilder().setIds(MemoryIds.newBuilder().addAllIds(ids)));
  }

  public static Operation<DeleteMemoriesResponse> deleteNames(MemoryScope scope, List<MemoryName> names) {
    return delete(scope, DeleteMemoriesRequest.newBuilder().setNames(MemoryNames.newBuilder().addAllNames(names)));
  }

  public static Operation<DeleteMemoriesResponse> deleteNamespace(MemoryScope scope, List<String> labels) {
    return delete(scope, DeleteMemoriesRequest.newBuilder().setNamespace(MemoryNamespace.newBuilder().addAllLabels(labels)));
  }

  public static Operation<DeleteMemoriesResponse> deleteSession(MemoryScope scope, String sessionId) {
    return delete(scope, DeleteMemoriesRequest.newBuilder().setSessionId(sessionId));
  }

  public static Operation<DeleteMemoriesResponse> deleteAll(MemoryScope scope) {
    return delete(scope, DeleteMemoriesRequest.newBuilder().setAll(true));
  }

  private static Operation<DeleteMemoriesResponse> delete(MemoryScope scope, DeleteMemoriesRequest.Builder selection) {
    return Operation.of(MemoryServiceGrpc.getDeleteMemoriesMethod(), selection.setScope(scope).build());
  }

  /** Returns the write of each entry, without a precondition. */
  public static List<MemoryWrite> writes(MemoryEntry... entries) {
    return Stream.of(entries).map(entry -> MemoryWrite.newBuilder().setMemory(entry).build()).toList();
  }

  /** Writes entries; those without an id get one in a copy. */
  public static Operation<UpsertMemoriesResponse> upsert(
      MemoryScope scope, List<MemoryWrite> writes, Consumer<UpsertMemoriesRequest.Builder> change) {
    var request = UpsertMemoriesRequest.newBuilder().setScope(scope).addAllWrites(writes);
    request.getWritesBuilderList().stream()
        .map(MemoryWrite.Builder::getMemoryBuilder)
        .filter(entry -> entry.getId().isEmpty())
        .forEach(entry -> entry.setId(Events.newEventId()));
    return Operation.of(MemoryServiceGrpc.getUpsertMemoriesMethod(), chosen(request, change).build());
  }

  /** Returns the name of an entry. */
  public static MemoryName name(String id, String... namespace) {
    return MemoryName.newBuilder().setId(id).addAllNamespace(List.of(namespace)).build();
  }

  /** Reads entries by their names, in as many calls as they need. */
  public static Operation<List<Optional<MemoryEntry>>> get(
      MemoryScope scope, List<MemoryName> names, Consumer<GetMemoriesRequest.Builder> change) {
    return rest(scope, List.copyOf(names), change, new ArrayList<>(), found -> found);
  }

  /** Reads one entry. */
  public static Operation<Optional<MemoryEntry>> get(MemoryScope scope, MemoryName name) {
    return rest(scope, List.of(name), request -> {}, new ArrayList<>(), found -> found.get(0));
  }

  /** Reads the entries that are not found yet, then returns what is read from all. */
  private static <T> Operation<T> rest(
      MemoryScope scope, List<MemoryName> names, Consumer<GetMemoriesRequest.Builder> change, List<Optional<MemoryEntry>> found,
      Function<List<Optional<MemoryEntry>>, T> read) {
    if (found.size() >= names.size()) {
      return new Operation.Result<>(read.apply(found));
    }
    var request = GetMemoriesRequest.newBuilder().setScope(scope).addAllNames(names.subList(found.size(), names.size()));
    return Operation.call(
        MemoryServiceGrpc.getGetMemoriesMethod(),
        chosen(request, change).build(),
        response -> {
          var returned = response.getMemoriesList().stream().takeWhile(lookup -> !lookup.getOmitted()).toList();
          if (returned.isEmpty()) {
            throw new IllegalStateException("the server returned no entry for the first name");
          }
          returned.forEach(lookup -> found.add(lookup.hasEntry() ? Optional.of(lookup.getEntry()) : Optional.empty()));
          return rest(scope, names, change, found, read);
        });
  }

  public static Listing<MemoryNamespace> namespaces(MemoryScope scope, Consumer<ListMemoryNamespacesRequest.Builder> change) {
    var request = chosen(ListMemoryNamespacesRequest.newBuilder().setScope(scope), change).build();
    return Listing.of(MemoryServiceGrpc.getListMemoryNamespacesMethod(), request, ListMemoryNamespacesResponse::getNamespacesList);
  }
}
