package dev.threadkeep;

import dev.threadkeep.async.AsyncThreadkeepClient;
import dev.threadkeep.internal.Connection;
import dev.threadkeep.internal.Watch;
import dev.threadkeep.internal.WatchSubscription;
import dev.threadkeep.internal.operations.MemoryOperations;
import dev.threadkeep.internal.operations.OwnerOperations;
import dev.threadkeep.internal.operations.PolicyOperations;
import dev.threadkeep.options.ErasureOptions;
import dev.threadkeep.options.ExpiredOptions;
import dev.threadkeep.options.SearchOptions;
import dev.threadkeep.options.SessionsOptions;
import dev.threadkeep.options.UserEventsOptions;
import dev.threadkeep.options.UsersOptions;
import dev.threadkeep.options.WatchOptions;
import dev.threadkeep.v1.AuditRecord;
import dev.threadkeep.v1.Change;
import dev.threadkeep.v1.DeleteExpiredSessionsResponse;
import dev.threadkeep.v1.ErasureReceipt;
import dev.threadkeep.v1.GetServerInfoResponse;
import dev.threadkeep.v1.ListAuditRecordsRequest;
import dev.threadkeep.v1.ListAuditRecordsResponse;
import dev.threadkeep.v1.ListSessionsResponse;
import dev.threadkeep.v1.ListUsersResponse;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.SearchEventsResponse;
import dev.threadkeep.v1.SearchHit;
import dev.threadkeep.v1.Session;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.ToolDefinition;
import dev.threadkeep.v1.UserEvent;
import dev.threadkeep.v1.UserRef;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.function.Consumer;

/**
 * A client of one server. It is thread-safe, opens its connection with the first call, and must be closed. The calls on one
 * session are those of a {@link #session(String) handle}. A blocking call ends when its thread is interrupted or its {@link
 * io.grpc.Context} is canceled.
 */
public final class ThreadkeepClient extends Calls {
  /** The version of this SDK. */
  public static final String VERSION = "0.2.0";

  ThreadkeepClient(Connection connection, SessionRef whose, Duration timeout) {
    super(connection, whose, timeout);
  }

  /**
   * Configures a client.
   *
   * @return a new builder
   */
  public static ThreadkeepClientBuilder builder() {
    return new ThreadkeepClientBuilder(System.getenv());
  }

  /**
   * Returns this client, on the same connection, with another timeout. Closing one closes both.
   *
   * @param limit timeout of a call, retries included; zero means no limit
   * @return a client
   */
  public ThreadkeepClient withTimeout(Duration limit) {
    return new ThreadkeepClient(connection, whose, Objects.requireNonNull(limit, "limit"));
  }

  /**
   * Returns the asynchronous client on the same connection, with the same app, user and timeout. Closing one closes both.
   *
   * @return a client whose methods return futures and publishers
   */
  public AsyncThreadkeepClient async() {
    return new AsyncThreadkeepClient(this);
  }

  /**
   * Returns a handle on a session of this client's user and app, without a call; the session need not exist.
   *
   * @param sessionId id of the session; empty for one that the server names
   * @return the handle
   */
  public SessionHandle session(String sessionId) {
    return session(ref(sessionId));
  }

  /**
   * Returns a handle on a session, without a call; the session need not exist.
   *
   * @param session the complete reference, which is used unchanged
   * @return the handle
   */
  public SessionHandle session(SessionRef session) {
    return new SessionHandle(this, session, null);
  }

  /**
   * Lists the sessions of this client's user and app, newest first.
   *
   * @return the sessions, page by page
   */
  public Pages<Session> sessions() {
    return sessions(o -> {});
  }

  /**
   * Lists sessions, newest first: those of this client's user and app, unless the options say otherwise.
   *
   * @param options sets the options, see {@link SessionsOptions}
   * @return the sessions, page by page
   */
  public Pages<Session> sessions(Consumer<SessionsOptions> options) {
    return new Pages<>(this, OwnerOperations.sessions(whose, options));
  }

  /**
   * Returns one page of the sessions. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param options sets the options, see {@link SessionsOptions}
   * @return the page, and the token of the next one
   */
  public ListSessionsResponse sessionsPage(Consumer<SessionsOptions> options) {
    return run(OwnerOperations.sessionsPage(whose, options));
  }

  /**
   * Lists the users that have sessions, memories or state in this client's app, unless the options say otherwise, each with its
   * app, in a fixed order. Reasons: PERMISSION_DENIED with a token that is bound to a user.
   *
   * @param options sets the options, see {@link UsersOptions}
   * @return the users, page by page
   */
  public Pages<UserRef> users(Consumer<UsersOptions> options) {
    return new Pages<>(this, OwnerOperations.users(whose, options));
  }

  /**
   * Returns one page of the users. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param options sets the options, see {@link UsersOptions}
   * @return the page, and the token of the next one
   */
  public ListUsersResponse usersPage(Consumer<UsersOptions> options) {
    return run(OwnerOperations.usersPage(whose, options));
  }

  /**
   * Deletes expired sessions, at most 1,000 per call: those of this client's user and app, unless the options say otherwise. The
   * server also deletes them automatically.
   *
   * @param options sets the options, see {@link ExpiredOptions}
   * @return the number of deleted sessions, and whether more remain
   */
  public DeleteExpiredSessionsResponse deleteExpiredSessions(Consumer<ExpiredOptions> options) {
    return run(OwnerOperations.deleteExpiredSessions(whose, options));
  }

  /**
   * Deletes everything of a user in this client's app: sessions, memories and policies; with allApps or without an app, of every
   * app, and the user's consumers. The call is repeated, each time with the client's timeout, until nothing is left. Reasons:
   * INVALID_FIELD, PERMISSION_DENIED.
   *
   * @param userId the user
   * @param options sets the options, see {@link ErasureOptions}
   * @return the receipt
   */
  public ErasureReceipt deleteUser(String userId, Consumer<ErasureOptions> options) {
    return run(OwnerOperations.deleteUser(whose, userId, options));
  }

  /**
   * Deletes everything of an app: the sessions and memories of all its users, and policies. See {@link #deleteUser}.
   *
   * @param app the app; empty is what has no app
   * @param options sets the options, see {@link ErasureOptions}
   * @return the receipt
   */
  public ErasureReceipt deleteApp(String app, Consumer<ErasureOptions> options) {
    return run(OwnerOperations.deleteApp(app, options));
  }

  /**
   * Deletes the sessions that have all of these labels: of this client's user and app, unless the options say otherwise. See
   * {@link #deleteUser}.
   *
   * @param labels at least one label
   * @param options sets the options, see {@link ErasureOptions}
   * @return the receipt
   */
  public ErasureReceipt deleteByLabel(Map<String, String> labels, Consumer<ErasureOptions> options) {
    return run(OwnerOperations.deleteByLabel(whose, labels, options));
  }

  /**
   * Searches the events of this client's user and app. See {@link #search(String, Consumer)}.
   *
   * @param query at most 1,024 characters
   * @return the hits, page by page
   */
  public Pages<SearchHit> search(String query) {
    return search(query, o -> {});
  }

  /**
   * Searches the events of this client's user and app, unless the options say otherwise. Without a mode, the server chooses how to
   * search. Hits come best first, take as many as you need. Reasons: EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   *
   * @param query at most 1,024 characters
   * @param options sets the options, see {@link SearchOptions}
   * @return the hits, page by page
   */
  public Pages<SearchHit> search(String query, Consumer<SearchOptions> options) {
    return new Pages<>(this, OwnerOperations.search(whose, query, options));
  }

  /**
   * Returns one page of the hits, and how the server searched. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param query at most 1,024 characters
   * @param options sets the options, see {@link SearchOptions}
   * @return the page
   */
  public SearchEventsResponse searchPage(String query, Consumer<SearchOptions> options) {
    return run(OwnerOperations.searchPage(whose, query, options));
  }

  /**
   * Watches the changes of all sessions of this client's user and app, unless the options say otherwise. See {@link
   * SessionHandle#watch(Consumer)}.
   *
   * @param options sets the options, see {@link WatchOptions}
   * @return the changes; close them
   */
  public Changes watchAll(Consumer<WatchOptions> options) {
    return new Changes(connection, OwnerOperations.watchAll(whose, options), Watch.SILENCE);
  }

  /**
   * Returns the watch of {@link #watchAll(Consumer)} as a publisher. See {@link SessionHandle#watchPublisher}.
   *
   * @param options sets the options, see {@link WatchOptions}
   * @return the publisher
   */
  public Flow.Publisher<Change> watchAllPublisher(Consumer<WatchOptions> options) {
    return WatchSubscription.publisher(connection, OwnerOperations.watchAll(whose, options), Watch.SILENCE);
  }

  /**
   * Lists the events of this client's user over all sessions of its app, unless the options say otherwise: session by session in
   * the order of their creation, and in each in window order.
   *
   * @param options sets the options, see {@link UserEventsOptions}
   * @return the events, page by page
   */
  public Pages<UserEvent> userEvents(Consumer<UserEventsOptions> options) {
    return new Pages<>(this, OwnerOperations.userEvents(whose, options));
  }

  /**
   * Returns a handle on a named consumer, without a call.
   *
   * @param name name of the consumer
   * @return the handle
   */
  public ConsumerHandle consumer(String name) {
    return new ConsumerHandle(this, name);
  }

  /**
   * Lists the consumers, by name.
   *
   * @return the consumers, page by page
   */
  public Pages<dev.threadkeep.v1.Consumer> consumers() {
    return new Pages<>(this, OwnerOperations.consumers());
  }

  /**
   * Returns the long-term memory of this client's user in its app, without a call.
   *
   * @return a handle on the memory
   */
  public UserMemory memory() {
    return memory(whose.getUserId());
  }

  /**
   * Returns the long-term memory of a user in this client's app, without a call.
   *
   * @param userId the user
   * @return a handle on the memory
   */
  public UserMemory memory(String userId) {
    return memory(MemoryOperations.scope(whose, userId));
  }

  /**
   * Returns the long-term memory of a scope, without a call.
   *
   * @param scope owner of the memory, which is used unchanged
   * @return a handle on the memory
   */
  public UserMemory memory(MemoryScope scope) {
    return new UserMemory(this, scope);
  }

  /**
   * Returns a handle on the compaction policy of this client's user: in its app or, without one, in every app.
   *
   * @return the handle
   */
  public PolicyHandle userPolicy() {
    return new PolicyHandle(this, PolicyOperations.ofUser(whose));
  }

  /**
   * Returns a handle on the compaction policy of this client's app.
   *
   * @return the handle
   */
  public PolicyHandle appPolicy() {
    return new PolicyHandle(this, PolicyOperations.ofApp(whose.getApp()));
  }

  /**
   * Returns a handle on the compaction policy of the server.
   *
   * @return the handle
   */
  public PolicyHandle serverPolicy() {
    return new PolicyHandle(this, PolicyOperations.ofServer());
  }

  /**
   * Returns the retention of the server: policies that archive and delete old sessions.
   *
   * @return the handle
   */
  public RetentionHandle retention() {
    return new RetentionHandle(this);
  }

  /**
   * Returns the recall tools for models, which the server runs; see {@link SessionHandle#callTool}.
   *
   * @return the tools
   */
  public List<ToolDefinition> tools() {
    return run(OwnerOperations.tools());
  }

  /**
   * Returns the version, capabilities and limits of the server.
   *
   * @return the server
   */
  public GetServerInfoResponse info() {
    return info(false);
  }

  /**
   * Returns the version, capabilities and limits of the server.
   *
   * @param totals whether to count sessions and events too, by a scan
   * @return the server
   */
  public GetServerInfoResponse info(boolean totals) {
    return run(OwnerOperations.info(totals));
  }

  /**
   * Lists the records of the audit log of the server that answers, newest first. Needs the role ADMIN. Reasons:
   * AUDIT_LOG_UNAVAILABLE, RATE_LIMITED.
   *
   * @param change changes the request, for example its method, its session_id or its from_time
   * @return the records, page by page
   */
  public Pages<AuditRecord> auditRecords(Consumer<ListAuditRecordsRequest.Builder> change) {
    return new Pages<>(this, OwnerOperations.auditRecords(change));
  }

  /**
   * Returns one page of the audit log, which may be empty and not be the last. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param change changes the request, for example its method, its session_id or its from_time
   * @return the page, and the token of the next one
   */
  public ListAuditRecordsResponse auditRecordsPage(Consumer<ListAuditRecordsRequest.Builder> change) {
    return run(OwnerOperations.auditRecordsPage(change));
  }
}
