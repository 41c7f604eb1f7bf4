package dev.threadkeep.internal.operations;

import static dev.threadkeep.internal.operations.Operation.chosen;

import dev.threadkeep.Appended;
import dev.threadkeep.Events;
import dev.threadkeep.filter.MemoryProvider;
import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.Watch;
import dev.threadkeep.options.AppendOptions;
import dev.threadkeep.options.ContextOptions;
import dev.threadkeep.options.CreateOptions;
import dev.threadkeep.options.EventsOptions;
import dev.threadkeep.options.SearchOptions;
import dev.threadkeep.options.UpdateOptions;
import dev.threadkeep.options.WatchOptions;
import dev.threadkeep.v1.AppendEventsResponse;
import dev.threadkeep.v1.Branch;
import dev.threadkeep.v1.CallToolRequest;
import dev.threadkeep.v1.CallToolResponse;
import dev.threadkeep.v1.CreateSessionResponse;
import dev.threadkeep.v1.DeleteSessionRequest;
import dev.threadkeep.v1.DeleteSessionResponse;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.GetContextResponse;
import dev.threadkeep.v1.GetEventRequest;
import dev.threadkeep.v1.GetEventResponse;
import dev.threadkeep.v1.GetSessionRequest;
import dev.threadkeep.v1.GetSessionResponse;
import dev.threadkeep.v1.ListBranchesRequest;
import dev.threadkeep.v1.ListBranchesResponse;
import dev.threadkeep.v1.ListEventsResponse;
import dev.threadkeep.v1.ListUsageRequest;
import dev.threadkeep.v1.ListUsageResponse;
import dev.threadkeep.v1.LoadSessionRequest;
import dev.threadkeep.v1.LoadSessionResponse;
import dev.threadkeep.v1.MoveSessionRequest;
import dev.threadkeep.v1.MoveSessionResponse;
import dev.threadkeep.v1.SearchEventsResponse;
import dev.threadkeep.v1.SearchHit;
import dev.threadkeep.v1.SearchServiceGrpc;
import dev.threadkeep.v1.Session;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.SessionServiceGrpc;
import dev.threadkeep.v1.SubscriptionServiceGrpc;
import dev.threadkeep.v1.ToolServiceGrpc;
import dev.threadkeep.v1.UpdateSessionResponse;
import dev.threadkeep.v1.UsageEntry;
import dev.threadkeep.v1.WatchSessionResponse;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.function.Consumer;

/** The operations of one session: its lifecycle, its log, its context. */
public final class SessionOperations {
  private static final Appended DROPPED = new Appended(AppendEventsResponse.getDefaultInstance(), true);

  private SessionOperations() {}

  public static Operation<CreateSessionResponse> create(SessionRef ref, Consumer<CreateOptions> options) {
    return Operation.of(SessionServiceGrpc.getCreateSessionMethod(), chosen(new CreateOptions(), options).request(ref));
  }

  public static Operation<Session> get(SessionRef ref) {
    var request = GetSessionRequest.newBuilder().setSession(ref).build();
    return Operation.of(SessionServiceGrpc.getGetSessionMethod(), request, GetSessionResponse::getSession);
  }

  public static Operation<LoadSessionResponse> load(SessionRef ref, Consumer<LoadSessionRequest.Builder> change) {
    var request = chosen(LoadSessionRequest.newBuilder().setSession(ref), change);
    return Operation.of(EventServiceGrpc.getLoadSessionMethod(), request.build());
  }

  public static Listing<Branch> branches(SessionRef ref) {
    var request = ListBranchesRequest.newBuilder().setSession(ref).build();
    return Listing.of(EventServiceGrpc.getListBranchesMethod(), request, ListBranchesResponse::getBranchesList);
  }

  public static Listing<UsageEntry> usage(SessionRef ref, Consumer<ListUsageRequest.Builder> change) {
    var request = chosen(ListUsageRequest.newBuilder().setSession(ref), change);
    return Listing.of(EventServiceGrpc.getListUsageMethod(), request.build(), ListUsageResponse::getEntriesList);
  }

  public static Operation<Session> update(SessionRef ref, Consumer<UpdateOptions> options) {
    var request = chosen(new UpdateOptions(), options).request(ref);
    return Operation.of(SessionServiceGrpc.getUpdateSessionMethod(), request, UpdateSessionResponse::getSession);
  }

  public static Operation<Session> move(SessionRef ref, String newUserId, String operationId) {
    var request = MoveSessionRequest.newBuilder().setSession(ref).setNewUserId(newUserId).setOperationId(operationId).build();
    return Operation.of(SessionServiceGrpc.getMoveSessionMethod(), request, MoveSessionResponse::getSession);
  }

  public static Operation<DeleteSessionResponse> delete(SessionRef ref, boolean purgeMemories, String uid) {
    var request = DeleteSessionRequest.newBuilder().setSession(ref).setPurgeMemories(purgeMemories).setUid(uid).build();
    return Operation.of(SessionServiceGrpc.getDeleteSessionMethod(), request);
  }

  /** Appends the events with ids, or drops them if the provider does not write; null is no provider. */
  public static Operation<Appended> append(
      SessionRef ref, MemoryProvider memory, List<SessionEvent> events, Consumer<AppendOptions> options) {
    if (!writes(memory)) {
      return new Operation.Result<>(dropped(ref));
    }
    var request = chosen(new AppendOptions(), options).request(ref, Events.withIds(events));
    return Operation.of(EventServiceGrpc.getAppendEventsMethod(), request, response -> new Appended(response, false));
  }

  /** Returns whether appends by this provider are sent; null is no provider. */
  public static boolean writes(MemoryProvider memory) {
    return memory == null || memory.writes();
  }

  /** Logs that an append is dropped and returns its result. */
  public static Appended dropped(SessionRef ref) {
    String what = "an append to {0} is dropped: the memory provider of the session does not write";
    Connection.LOG.log(Level.INFO, what, ref.getSessionId());
    return DROPPED;
  }

  public static Operation<SessionEvent> getEvent(SessionRef ref, String eventId) {
    var request = GetEventRequest.newBuilder().setSession(ref).setEventId(eventId).build();
    return Operation.of(EventServiceGrpc.getGetEventMethod(), request, GetEventResponse::getEvent);
  }

  public static Listing<SessionEvent> events(SessionRef ref, Consumer<EventsOptions> options) {
    var request = chosen(new EventsOptions(), options).request(ref);
    return Listing.of(EventServiceGrpc.getListEventsMethod(), request, ListEventsResponse::getEventsList);
  }

  public static Operation<ListEventsResponse> eventsPage(SessionRef ref, Consumer<EventsOptions> options) {
    return Operation.of(EventServiceGrpc.getListEventsMethod(), chosen(new EventsOptions(), options).request(ref));
  }

  /** Reads by the provider, unless the options say otherwise; null is no provider. */
  public static Operation<GetContextResponse> getContext(SessionRef ref, MemoryProvider memory, Consumer<ContextOptions> options) {
    var byDefault = new ContextOptions();
    if (memory != null) {
      byDefault.memory(memory);
    }
    return Operation.of(EventServiceGrpc.getGetContextMethod(), chosen(byDefault, options).request(ref));
  }

  public static Listing<SearchHit> search(SessionRef ref, String query, Consumer<SearchOptions> options) {
    var request = chosen(new SearchOptions(), options).ofSession(query, ref);
    return Listing.of(SearchServiceGrpc.getSearchEventsMethod(), request, SearchEventsResponse::getHitsList);
  }

  public static Operation<CallToolResponse> callTool(SessionRef ref, String name, String argumentsJson) {
    var request = CallToolRequest.newBuilder().setSession(ref).setName(name).setArgumentsJson(argumentsJson).build();
    return Operation.of(ToolServiceGrpc.getCallToolMethod(), request);
  }

  public static Watch.Source<?, ?> watch(SessionRef ref, Consumer<WatchOptions> options) {
    var chosen = chosen(new WatchOptions(), options);
    var method = SubscriptionServiceGrpc.getWatchSessionMethod();
    return new Watch.Source<>(method, chosen.ofSession(ref), WatchSessionResponse::getChangesList, chosen);
  }
}
