package dev.threadkeep.internal.operations;

import static dev.threadkeep.internal.operations.Operation.chosen;

import dev.threadkeep.internal.Watch;
import dev.threadkeep.options.ErasureOptions;
import dev.threadkeep.options.ExpiredOptions;
import dev.threadkeep.options.SearchOptions;
import dev.threadkeep.options.SessionsOptions;
import dev.threadkeep.options.UserEventsOptions;
import dev.threadkeep.options.UsersOptions;
import dev.threadkeep.options.WatchOptions;
import dev.threadkeep.v1.AuditRecord;
import dev.threadkeep.v1.ConsumerServiceGrpc;
import dev.threadkeep.v1.DeleteAppRequest;
import dev.threadkeep.v1.DeleteAppResponse;
import dev.threadkeep.v1.DeleteByLabelResponse;
import dev.threadkeep.v1.DeleteExpiredSessionsResponse;
import dev.threadkeep.v1.DeleteUserResponse;
import dev.threadkeep.v1.ErasureReceipt;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.GetServerInfoRequest;
import dev.threadkeep.v1.GetServerInfoResponse;
import dev.threadkeep.v1.ListAuditRecordsRequest;
import dev.threadkeep.v1.ListAuditRecordsResponse;
import dev.threadkeep.v1.ListConsumersRequest;
import dev.threadkeep.v1.ListConsumersResponse;
import dev.threadkeep.v1.ListSessionsResponse;
import dev.threadkeep.v1.ListToolsRequest;
import dev.threadkeep.v1.ListToolsResponse;
import dev.threadkeep.v1.ListUserEventsResponse;
import dev.threadkeep.v1.ListUsersResponse;
import dev.threadkeep.v1.SearchEventsResponse;
import dev.threadkeep.v1.SearchHit;
import dev.threadkeep.v1.SearchServiceGrpc;
import dev.threadkeep.v1.ServerServiceGrpc;
import dev.threadkeep.v1.Session;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.SessionServiceGrpc;
import dev.threadkeep.v1.SubscriptionServiceGrpc;
import dev.threadkeep.v1.ToolDefinition;
import dev.threadkeep.v1.ToolServiceGrpc;
import dev.threadkeep.v1.UserEvent;
import dev.threadkeep.v1.UserRef;
import dev.threadkeep.v1.WatchAllResponse;
import io.grpc.MethodDescriptor;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;

/** The operations over several sessions, of an owner or of the server. */
public final class OwnerOperations {
  private OwnerOperations() {}

  public static Listing<Session> sessions(SessionRef whose, Consumer<SessionsOptions> options) {
    var request = chosen(new SessionsOptions(), options).request(whose);
    return Listing.of(SessionServiceGrpc.getListSessionsMethod(), request, ListSessionsResponse::getSessionsList);
  }

  public static Operation<ListSessionsResponse> sessionsPage(SessionRef whose, Consumer<SessionsOptions> options) {
    return Operation.of(SessionServiceGrpc.getListSessionsMethod(), chosen(new SessionsOptions(), options).request(whose));
  }

  public static Listing<UserRef> users(SessionRef whose, Consumer<UsersOptions> options) {
    var request = chosen(new UsersOptions(), options).request(whose);
    return Listing.of(SessionServiceGrpc.getListUsersMethod(), request, ListUsersResponse::getUsersList);
  }

  public static Operation<ListUsersResponse> usersPage(SessionRef whose, Consumer<UsersOptions> options) {
    return Operation.of(SessionServiceGrpc.getListUsersMethod(), chosen(new UsersOptions(), options).request(whose));
  }

  public static Operation<DeleteExpiredSessionsResponse> deleteExpiredSessions(
      SessionRef whose, Consumer<ExpiredOptions> options) {
    return Operation.of(SessionServiceGrpc.getDeleteExpiredSessionsMethod(), chosen(new ExpiredOptions(), options).request(whose));
  }

  public static Operation<ErasureReceipt> deleteUser(
      SessionRef whose, String userId, Consumer<ErasureOptions> options) {
    var chosen = chosen(new ErasureOptions(), options);
    var method = SessionServiceGrpc.getDeleteUserMethod();
    return erased(method, chosen.ofUser(userId, whose), DeleteUserResponse::getReceipt, DeleteUserResponse::getMore, chosen);
  }

  public static Operation<ErasureReceipt> deleteApp(String app, Consumer<ErasureOptions> options) {
    var chosen = chosen(new ErasureOptions(), options);
    var request = DeleteAppRequest.newBuilder().setApp(app).setRequestId(chosen.id()).build();
    return erased(SessionServiceGrpc.getDeleteAppMethod(), request, DeleteAppResponse::getReceipt, DeleteAppResponse::getMore, chosen);
  }

  public static Operation<ErasureReceipt> deleteByLabel(
      SessionRef whose, Map<String, String> labels, Consumer<ErasureOptions> options) {
    var chosen = chosen(new ErasureOptions(), options);
    var method = SessionServiceGrpc.getDeleteByLabelMethod();
    return erased(method, chosen.ofLabels(labels, whose), DeleteByLabelResponse::getReceipt, DeleteByLabelResponse::getMore, chosen);
  }

  /** Repeats the call until nothing is left. */
  private static <Q, R> Operation<ErasureReceipt> erased(
      MethodDescriptor<Q, R> method, Q request, Function<R, ErasureReceipt> receipt, Predicate<R> more, ErasureOptions options) {
    return Operation.call(
        method,
        request,
        response -> {
          options.report(receipt.apply(response));
          return more.test(response) ? erased(method, request, receipt, more, options) : new Operation.Result<>(receipt.apply(response));
        });
  }

  public static Listing<SearchHit> search(SessionRef whose, String query, Consumer<SearchOptions> options) {
    var request = chosen(new SearchOptions(), options).request(query, whose);
    return Listing.of(SearchServiceGrpc.getSearchEventsMethod(), request, SearchEventsResponse::getHitsList);
  }

  public static Operation<SearchEventsResponse> searchPage(
      SessionRef whose, String query, Consumer<SearchOptions> options) {
    return Operation.of(SearchServiceGrpc.getSearchEventsMethod(), chosen(new SearchOptions(), options).request(query, whose));
  }

  public static Watch.Source<?, ?> watchAll(SessionRef whose, Consumer<WatchOptions> options) {
    var chosen = chosen(new WatchOptions(), options);
    return new Watch.Source<>(SubscriptionServiceGrpc.getWatchAllMethod(), chosen.ofAll(whose), WatchAllResponse::getChangesList, chosen);
  }

  public static Listing<UserEvent> userEvents(SessionRef whose, Consumer<UserEventsOptions> options) {
    var request = chosen(new UserEventsOptions(), options).request(whose);
    return Listing.of(EventServiceGrpc.getListUserEventsMethod(), request, ListUserEventsResponse::getEventsList);
  }

  public static Listing<dev.threadkeep.v1.Consumer> consumers() {
    var request = ListConsumersRequest.getDefaultInstance();
    return Listing.of(ConsumerServiceGrpc.getListConsumersMethod(), request, ListConsumersResponse::getConsumersList);
  }

  public static Operation<List<ToolDefinition>> tools() {
    return Operation.of(ToolServiceGrpc.getListToolsMethod(), ListToolsRequest.getDefaultInstance(), ListToolsResponse::getToolsList);
  }

  public static Listing<AuditRecord> auditRecords(Consumer<ListAuditRecordsRequest.Builder> change) {
    var method = ServerServiceGrpc.getListAuditRecordsMethod();
    return Listing.of(method, changed(change), ListAuditRecordsResponse::getRecordsList);
  }

  public static Operation<ListAuditRecordsResponse> auditRecordsPage(Consumer<ListAuditRecordsRequest.Builder> change) {
    return Operation.of(ServerServiceGrpc.getListAuditRecordsMethod(), changed(change));
  }

  private static ListAuditRecordsRequest changed(Consumer<ListAuditRecordsRequest.Builder> change) {
    var request = ListAuditRecordsRequest.newBuilder();
    change.accept(request);
    return request.build();
  }

  public static Operation<GetServerInfoResponse> info(boolean totals) {
    return Operation.of(ServerServiceGrpc.getGetServerInfoMethod(), GetServerInfoRequest.newBuilder().setIncludeTotals(totals).build());
  }
}
