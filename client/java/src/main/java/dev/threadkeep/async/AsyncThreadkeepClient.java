package dev.threadkeep.async;

import dev.threadkeep.ThreadkeepClient;
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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Consumer;

/**
 * A client of one server that never waits, from {@link dev.threadkeep.ThreadkeepClientBuilder#buildAsync()} or {@link
 * ThreadkeepClient#async()}. It is thread-safe, opens its connection with the first call, and must be closed.
 *
 * <p>Each method does what the method of this name does in {@link ThreadkeepClient}, where its options, defaults, limits and reasons
 * are described; timeouts and retries are the same. It returns a {@link CompletableFuture}, or a publisher of items or changes. A
 * future fails with {@link dev.threadkeep.ThreadkeepException}, with IllegalArgumentException for invalid arguments, and with
 * IllegalStateException if the client is closed; methods that return futures throw nothing. Canceling a future cancels its call: the
 * server may have executed it. Functions on a future run on threads of the connection, which they must not block for long; {@code
 * thenApplyAsync} runs them elsewhere.
 */
public final class AsyncThreadkeepClient extends AsyncCalls {
  /**
   * Creates the asynchronous client of a blocking one, like {@link ThreadkeepClient#async()}.
   *
   * @param client the client, whose connection, app, user and timeout it has
   */
  public AsyncThreadkeepClient(ThreadkeepClient client) {
    super(client);
  }

  /**
   * Returns the blocking client on the same connection. Closing one closes both.
   *
   * @return the client
   */
  public ThreadkeepClient blocking() {
    return client;
  }

  /**
   * Returns this client, on the same connection, with another timeout. Closing one closes both.
   *
   * @param limit timeout of a call, retries included; zero means no limit
   * @return a client
   */
  public AsyncThreadkeepClient withTimeout(Duration limit) {
    return client.withTimeout(limit).async();
  }

  /**
   * Returns a handle on a session of this client's user and app, without a call; the session need not exist.
   *
   * @param sessionId id of the session; empty for one that the server names
   * @return the handle
   */
  public AsyncSessionHandle session(String sessionId) {
    return session(ref(sessionId));
  }

  /**
   * Returns a handle on a session, without a call; the session need not exist.
   *
   * @param session the complete reference, which is used unchanged
   * @return the handle
   */
  public AsyncSessionHandle session(SessionRef session) {
    return new AsyncSessionHandle(this, session, null);
  }

  /**
   * Lists the sessions of this client's user and app, newest first.
   *
   * @return the sessions
   */
  public AsyncPages<Session> sessions() {
    return sessions(o -> {});
  }

  /**
   * Lists sessions, newest first: those of this client's user and app, unless the options say otherwise.
   *
   * @param options sets the options, see {@link SessionsOptions}
   * @return the sessions
   */
  public AsyncPages<Session> sessions(Consumer<SessionsOptions> options) {
    return new AsyncPages<>(this, OwnerOperations.sessions(whose, options));
  }

  /**
   * Returns one page of the sessions. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param options sets the options, see {@link SessionsOptions}
   * @return a future of the page, and of the token of the next one
   */
  public CompletableFuture<ListSessionsResponse> sessionsPage(Consumer<SessionsOptions> options) {
    return start(() -> OwnerOperations.sessionsPage(whose, options));
  }

  /**
   * Lists the users that have sessions, memories or state. See {@link ThreadkeepClient#users}. Reasons: PERMISSION_DENIED.
   *
   * @param options sets the options, see {@link UsersOptions}
   * @return the users
   */
  public AsyncPages<UserRef> users(Consumer<UsersOptions> options) {
    return new AsyncPages<>(this, OwnerOperations.users(whose, options));
  }

  /**
   * Returns one page of the users. Reasons: INVALID_PAGE_TOKEN, PERMISSION_DENIED.
   *
   * @param options sets the options, see {@link UsersOptions}
   * @return a future of the page, and of the token of the next one
   */
  public CompletableFuture<ListUsersResponse> usersPage(Consumer<UsersOptions> options) {
    return start(() -> OwnerOperations.usersPage(whose, options));
  }

  /**
   * Deletes expired sessions, at most 1,000 per call. See {@link ThreadkeepClient#deleteExpiredSessions}.
   *
   * @param options sets the options, see {@link ExpiredOptions}
   * @return a future of the number of deleted sessions, and whether more remain
   */
  public CompletableFuture<DeleteExpiredSessionsResponse> deleteExpiredSessions(Consumer<ExpiredOptions> options) {
    return start(() -> OwnerOperations.deleteExpiredSessions(whose, options));
  }

  /**
   * Deletes everything of a user, in as many calls as it needs. See {@link ThreadkeepClient#deleteUser}. Reasons: INVALID_FIELD,
   * PERMISSION_DENIED.
   *
   * @param userId the user
   * @param options sets the options, see {@link ErasureOptions}; its progress is called by a thread of the connection
   * @return a future of the receipt
   */
  public CompletableFuture<ErasureReceipt> deleteUser(String userId, Consumer<ErasureOptions> options) {
    return start(() -> OwnerOperations.deleteUser(whose, userId, options));
  }

  /**
   * Deletes everything of an app, in as many calls as it needs. See {@link ThreadkeepClient#deleteApp}. Reasons: INVALID_FIELD,
   * PERMISSION_DENIED.
   *
   * @param app the app; empty is what has no app
   * @param options sets the options, see {@link ErasureOptions}; its progress is called by a thread of the connection
   * @return a future of the receipt
   */
  public CompletableFuture<ErasureReceipt> deleteApp(String app, Consumer<ErasureOptions> options) {
    return start(() -> OwnerOperations.deleteApp(app, options));
  }

  /**
   * Deletes the sessions that have all of these labels, in as many calls as it needs. See {@link ThreadkeepClient#deleteByLabel}.
   * Reasons: INVALID_FIELD, PERMISSION_DENIED.
   *
   * @param labels at least one label
   * @param options sets the options, see {@link ErasureOptions}; its progress is called by a thread of the connection
   * @return a future of the receipt
   */
  public CompletableFuture<ErasureReceipt> deleteByLabel(Map<String, String> labels, Consumer<ErasureOptions> options) {
    return start(() -> OwnerOperations.deleteByLabel(whose, labels, options));
  }

  /**
   * Searches the events of this client's user and app. See {@link #search(String, Consumer)}.
   *
   * @param query at most 1,024 characters
   * @return the hits, best first
   */
  public AsyncPages<SearchHit> search(String query) {
    return search(query, o -> {});
  }

  /**
   * Searches the events of this client's user and app, unless the options say otherwise. See {@link ThreadkeepClient#search(String,
   * Consumer)}. Reasons: EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   *
   * @param query at most 1,024 characters
   * @param options sets the options, see {@link SearchOptions}
   * @return the hits, best first
   */
  public AsyncPages<SearchHit> search(String query, Consumer<SearchOptions> options) {
    return new AsyncPages<>(this, OwnerOperations.search(whose, query, options));
  }

  /**
   * Returns one page of the hits, and how the server searched. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param query at most 1,024 characters
   * @param options sets the options, see {@link SearchOptions}
   * @return a future of the page
   */
  public CompletableFuture<SearchEventsResponse> searchPage(String query, Consumer<SearchOptions> options) {
    return start(() -> OwnerOperations.searchPage(whose, query, options));
  }

  /**
   * Watches the changes of all sessions of this client's user and app, unless the options say otherwise. See {@link
   * AsyncSessionHandle#watch(Consumer)}.
   *
   * @param options sets the options, see {@link WatchOptions}
   * @return a publisher of the changes
   */
  public Flow.Publisher<Change> watchAll(Consumer<WatchOptions> options) {
    return client.watchAllPublisher(options);
  }

  /**
   * Lists the events of this client's user over all sessions of its app. See {@link ThreadkeepClient#userEvents}.
   *
   * @param options sets the options, see {@link UserEventsOptions}
   * @return the events
   */
  public AsyncPages<UserEvent> userEvents(Consumer<UserEventsOptions> options) {
    return new AsyncPages<>(this, OwnerOperations.userEvents(whose, options));
  }

  /**
   * Returns a handle on a named consumer, without a call.
   *
   * @param name name of the consumer
   * @return the handle
   */
  public AsyncConsumerHandle consumer(String name) {
    return new AsyncConsumerHandle(this, name);
  }

  /**
   * Lists the consumers, by name.
   *
   * @return the consumers
   */
  public AsyncPages<dev.threadkeep.v1.Consumer> consumers() {
    return new AsyncPages<>(this, OwnerOperations.consumers());
  }

  /**
   * Returns the long-term memory of this client's user in its app, without a call.
   *
   * @return a handle on the memory
   */
  public AsyncUserMemory memory() {
    return memory(whose.getUserId());
  }

  /**
   * Returns the long-term memory of a user in this client's app, without a call.
   *
   * @param userId the user
   * @return a handle on the memory
   */
  public AsyncUserMemory memory(String userId) {
    return memory(MemoryOperations.scope(whose, userId));
  }

  /**
   * Returns the long-term memory of a scope, without a call.
   *
   * @param scope owner of the memory, which is used unchanged
   * @return a handle on the memory
   */
  public AsyncUserMemory memory(MemoryScope scope) {
    return new AsyncUserMemory(this, scope);
  }

  /**
   * Returns a handle on the compaction policy of this client's user: in its app or, without one, in every app.
   *
   * @return the handle
   */
  public AsyncPolicyHandle userPolicy() {
    return new AsyncPolicyHandle(this, PolicyOperations.ofUser(whose));
  }

  /**
   * Returns a handle on the compaction policy of this client's app.
   *
   * @return the handle
   */
  public AsyncPolicyHandle appPolicy() {
    return new AsyncPolicyHandle(this, PolicyOperations.ofApp(whose.getApp()));
  }

  /**
   * Returns a handle on the compaction policy of the server.
   *
   * @return the handle
   */
  public AsyncPolicyHandle serverPolicy() {
    return new AsyncPolicyHandle(this, PolicyOperations.ofServer());
  }

  /**
   * Returns the retention of the server: policies that archive and delete old sessions.
   *
   * @return the handle
   */
  public AsyncRetentionHandle retention() {
    return new AsyncRetentionHandle(this);
  }

  /**
   * Returns the recall tools for models, which the server runs; see {@link AsyncSessionHandle#callTool}.
   *
   * @return a future of the tools
   */
  public CompletableFuture<List<ToolDefinition>> tools() {
    return start(OwnerOperations::tools);
  }

  /**
   * Returns the version, capabilities and limits of the server.
   *
   * @return a future of the server
   */
  public CompletableFuture<GetServerInfoResponse> info() {
    return info(false);
  }

  /**
   * Returns the version, capabilities and limits of the server.
   *
   * @param totals whether to count sessions and events too, by a scan
   * @return a future of the server
   */
  public CompletableFuture<GetServerInfoResponse> info(boolean totals) {
    return start(() -> OwnerOperations.info(totals));
  }

  /**
   * Lists the records of the audit log of the server that answers, newest first. Needs the role ADMIN. Reasons:
   * AUDIT_LOG_UNAVAILABLE, RATE_LIMITED.
   *
   * @param change changes the request, for example its method, its session_id or its from_time
   * @return the records
   */
  public AsyncPages<AuditRecord> auditRecords(Consumer<ListAuditRecordsRequest.Builder> change) {
    return new AsyncPages<>(this, OwnerOperations.auditRecords(change));
  }

  /**
   * Returns one page of the audit log, which may be empty and not be the last. Reasons: INVALID_PAGE_TOKEN.
   *
   * @param change changes the request, for example its method, its session_id or its from_time
   * @return a future of the page, and the token of the next one
   */
  public CompletableFuture<ListAuditRecordsResponse> auditRecordsPage(Consumer<ListAuditRecordsRequest.Builder> change) {
    return start(() -> OwnerOperations.auditRecordsPage(change));
  }
}
