package dev.threadkeep;

import dev.threadkeep.v1.AppendEventsResponse;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.CompactSessionRequest;
import dev.threadkeep.v1.CompactSessionResponse;
import dev.threadkeep.v1.Compaction;
import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.CompactionStrategy;
import dev.threadkeep.v1.ContextSpec;
import dev.threadkeep.v1.DeleteExpiredSessionsRequest;
import dev.threadkeep.v1.DeleteExpiredSessionsResponse;
import dev.threadkeep.v1.EventFilter;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.GetContextRequest;
import dev.threadkeep.v1.GetContextResponse;
import dev.threadkeep.v1.ListCompactionsRequest;
import dev.threadkeep.v1.ListCompactionsResponse;
import dev.threadkeep.v1.ListEventsRequest;
import dev.threadkeep.v1.ListEventsResponse;
import dev.threadkeep.v1.ListSessionsRequest;
import dev.threadkeep.v1.ListSessionsResponse;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.SearchServiceGrpc;
import dev.threadkeep.v1.SearchEventsRequest;
import dev.threadkeep.v1.SearchEventsResponse;
import dev.threadkeep.v1.SearchHit;
import dev.threadkeep.v1.Session;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.SessionServiceGrpc;
import dev.threadkeep.v1.SubscriptionServiceGrpc;
import dev.threadkeep.v1.SummaryPrompt;
import dev.threadkeep.v1.WatchAllRequest;
import dev.threadkeep.v1.WatchAllResponse;
import dev.threadkeep.v1.WatchSessionRequest;
import dev.threadkeep.v1.WatchSessionResponse;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;

/**
 * A client of one server. Share one instance among threads, and close it.
 *
 * <p>A session is an id, which the client completes with its app and user, or a complete SessionRef. App and user that a list,
 * a watch or a search leaves empty are the client's, unless {@link All} is specified. Calls that are safe to repeat are retried
 * up to four times while the server is unavailable.
 *
 * <p>Every call may throw {@link ThreadkeepException}. Invalid arguments throw IllegalArgumentException or
 * NullPointerException, calls on a closed client IllegalStateException.
 */
public final class ThreadkeepClient extends Calls {
  /** The version of this SDK. */
  public static final String VERSION = "0.1.0";

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
   * Appends events to an existing session, all or none. See {@link #append(SessionRef, List, AppendOptions)}.
   *
   * @param session id of the session
   * @param events events to append, in order
   * @return the result for each event, and the versions of the session
   */
  public AppendEventsResponse append(String session, SessionEvent... events) {
    return append(ref(session), List.of(events), AppendOptions.NONE);
  }

  /**
   * Appends events, all or none. See {@link #append(SessionRef, List, AppendOptions)}.
   *
   * @param session id of the session
   * @param events events to append, in order
   * @param options options of the append
   * @return the result for each event, and the versions of the session
   */
  public AppendEventsResponse append(String session, List<SessionEvent> events, AppendOptions options) {
    return append(ref(session), events, options);
  }

  /**
   * Appends events, all or none. When it returns, they are on durable storage. Events without an id get one in a copy before
   * they are sent, so that the client's retries store nothing twice. To retry after errors yourself, append the same {@link
   * Events#withIds(List)} again. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, EVENT_TOO_LARGE,
   * BATCH_TOO_LARGE.
   *
   * @param session the session
   * @param events events to append, in order
   * @param options options of the append
   * @return the result for each event, and the versions of the session
   */
  public AppendEventsResponse append(SessionRef session, List<SessionEvent> events, AppendOptions options) {
    var request = options.request().setSession(session).addAllEvents(Events.withIds(events));
    return call(EventServiceGrpc.getAppendEventsMethod(), request.build());
  }

  /**
   * Returns the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window, within the default
   * size.
   *
   * @param session id of the session; an unknown session returns an empty context
   * @return the events and counters
   */
  public GetContextResponse context(String session) {
    return context(ref(session), ContextSpec.getDefaultInstance());
  }

  /**
   * Returns the context of an agent.
   *
   * @param session the session; an unknown session returns an empty context
   * @param spec specification of the context
   * @return the events and counters
   */
  public GetContextResponse context(SessionRef session, ContextSpec spec) {
    return call(EventServiceGrpc.getGetContextMethod(), GetContextRequest.newBuilder().setSession(session).setSpec(spec).build());
  }

  /**
   * Lists the sessions of this client's user and app, newest first. See {@link #sessions(ListSessionsRequest, All...)}.
   *
   * @return the sessions, page by page
   */
  public Pages<Session> sessions() {
    return sessions(ListSessionsRequest.getDefaultInstance());
  }

  /**
   * Lists sessions, newest first. A user or app that the request does not set is this client's; an app of "" means sessions
   * without an app.
   *
   * @param request labels, user, app and page size
   * @param all {@link All#USERS} for every user, {@link All#APPS} for every app
   * @return the sessions, page by page
   */
  public Pages<Session> sessions(ListSessionsRequest request, All... all) {
    var own = Scopes.narrowed(request, whose, all);
    return Pages.of(this, SessionServiceGrpc.getListSessionsMethod(), own, ListSessionsResponse::getSessionsList);
  }

  /**
   * Deletes expired sessions, at most 1,000 per call. A user or app that the request does not set is this client's. The server
   * also deletes them automatically.
   *
   * @param request latest expiry, user and app
   * @param all {@link All#USERS} for every user, {@link All#APPS} for every app
   * @return the number of deleted sessions, and whether more remain
   */
  public DeleteExpiredSessionsResponse deleteExpiredSessions(DeleteExpiredSessionsRequest request, All... all) {
    return call(SessionServiceGrpc.getDeleteExpiredSessionsMethod(), Scopes.narrowed(request, whose, all));
  }

  /**
   * Lists the matching events of a session, oldest first. An unknown session has none.
   *
   * @param session id of the session
   * @param filter filter of the events; EventFilter.getDefaultInstance() for all
   * @return the events, page by page
   */
  public Pages<SessionEvent> events(String session, EventFilter filter) {
    return events(ListEventsRequest.newBuilder().setSession(ref(session)).setFilter(filter).build());
  }

  /**
   * Lists events.
   *
   * @param request session, filter, order and page size
   * @return the events, page by page
   */
  public Pages<SessionEvent> events(ListEventsRequest request) {
    return Pages.of(this, EventServiceGrpc.getListEventsMethod(), request, ListEventsResponse::getEventsList);
  }

  /**
   * Searches the events of this client's user and app. See {@link #search(SearchEventsRequest, All...)}.
   *
   * @param query query, at most 1,024 characters
   * @return the hits, page by page
   */
  public Pages<SearchHit> search(String query) {
    return search(SearchEventsRequest.newBuilder().setQuery(query).build());
  }

  /**
   * Searches events. Without a mode, the server chooses how to search (SEARCH_MODE_AUTO). Hits come best first, take as many as
   * you need; with SEARCH_MODE_SUBSTRING oldest first. App and user that the scope leaves empty are this client's. Reasons:
   * SESSION_NOT_FOUND, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   *
   * @param request query, scope, mode and page size
   * @param all {@link All#USERS} for every user of the app, {@link All#APPS} for every app of the user; both throw
   *     IllegalArgumentException
   * @return the hits, page by page
   */
  public Pages<SearchHit> search(SearchEventsRequest request, All... all) {
    var own = Scopes.narrowed(request, whose, all);
    return Pages.of(this, SearchServiceGrpc.getSearchEventsMethod(), own, SearchEventsResponse::getHitsList);
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
    return new UserMemory(this, MemoryScope.newBuilder().setApp(whose.getApp()).setUserId(userId).build());
  }

  /**
   * Lists the compactions of a session, newest first.
   *
   * @param session id of the session
   * @return the compactions, page by page
   */
  public Pages<Compaction> compactions(String session) {
    return compactions(ListCompactionsRequest.newBuilder().setSession(ref(session)).build());
  }

  /**
   * Lists compactions, newest first.
   *
   * @param request session and page size
   * @return the compactions, page by page
   */
  public Pages<Compaction> compactions(ListCompactionsRequest request) {
    return Pages.of(this, CompactionServiceGrpc.getListCompactionsMethod(), request, ListCompactionsResponse::getCompactionsList);
  }

  /**
   * Compacts a session on the server by its policy. See {@link #compact(SessionRef, CompactionStrategy)}.
   *
   * @param session id of the session
   * @return the result of the compaction
   */
  public CompactSessionResponse compact(String session) {
    return compact(ref(session), null);
  }

  /**
   * Compacts a session on the server, which archives events and inserts summaries or stubs. Nothing is deleted, and having
   * nothing to compact is not an error. The call is not retried. A summary takes as long as the server's model; see {@link
   * #withTimeout}. Reasons: SESSION_NOT_FOUND, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, VERSION_MISMATCH.
   *
   * @param session the session
   * @param strategy strategy to run; null means that of the session's policy
   * @return the result of the compaction
   */
  public CompactSessionResponse compact(SessionRef session, CompactionStrategy strategy) {
    var request = CompactSessionRequest.newBuilder().setSession(session);
    Optional.ofNullable(strategy).ifPresent(request::setStrategy);
    return call(CompactionServiceGrpc.getCompactSessionMethod(), request.build());
  }

  /**
   * Replaces the events of a context with a summary. See {@link #compactContext(ApplyCompactionRequest, GetContextResponse)}.
   *
   * @param session id of the session
   * @param seen response of {@link #context(String)}
   * @param summary text of the summary; it becomes a turn of two events, like the server's summaries
   * @return the result of the compaction
   * @throws IllegalArgumentException if the summary is blank
   */
  public ApplyCompactionResponse compactContext(String session, GetContextResponse seen, String summary) {
    return compactContext(ApplyCompactionRequest.newBuilder().setSession(ref(session)).addInserts(Compactor.summary(summary)).build(), seen);
  }

  /**
   * Replaces the events of a context with the inserts of a request. Only events of {@code seen} are archived; events that its
   * size or filters left out and events appended since stay in the window. Nothing is deleted. The context sets
   * expected_window_version, from_seq and through_seq of the request. Reasons: SESSION_NOT_FOUND, NOTHING_TO_COMPACT, and
   * VERSION_MISMATCH after another compaction: read the context again.
   *
   * @param request session, inserts, and strategy for the record; inserted events are marked as synthetic
   * @param seen response of {@link #context(SessionRef, ContextSpec)}
   * @return the result of the compaction
   * @throws ThreadkeepException NOTHING_TO_COMPACT, before a call, if no event of the context may be archived (its
   *     compactable_through_seq is 0)
   */
  public ApplyCompactionResponse compactContext(ApplyCompactionRequest request, GetContextResponse seen) {
    return call(CompactionServiceGrpc.getApplyCompactionMethod(), Compactor.ofContext(request, seen));
  }

  /**
   * Compacts with the caller's model. See {@link #compactWith(SessionRef, Function, CompactionStrategy)}.
   *
   * @param session id of the session
   * @param summarize returns the summary for a prompt
   * @return the result of the compaction; empty if there is nothing to compact
   */
  public Optional<ApplyCompactionResponse> compactWith(String session, Function<SummaryPrompt, String> summarize) {
    return compactWith(ref(session), summarize, null);
  }

  /**
   * Compacts with the caller's model: plans, calls {@code summarize} with the prompt if there is one, and applies the plan. If
   * another compaction is committed first, it plans again, at most 5 times in total, without calling {@code summarize} twice
   * for the same prompt. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH.
   *
   * @param session the session
   * @param summarize returns the summary for a prompt; its exceptions are rethrown, a blank summary throws
   * IllegalArgumentException
   * @param strategy strategy to run; null means that of the session's policy
   * @return the result of the compaction; empty if there is nothing to compact
   */
  public Optional<ApplyCompactionResponse> compactWith(
      SessionRef session, Function<SummaryPrompt, String> summarize, CompactionStrategy strategy) {
    var request = PlanCompactionRequest.newBuilder().setSession(session);
    Optional.ofNullable(strategy).ifPresent(request::setStrategy);
    return new Compactor(this, summarize).run(request.build());
  }

  /**
   * Watches a session of this client's app and user from now on. See {@link #watch(WatchSessionRequest, WatchOptions)}.
   *
   * @param session id of the session
   * @return the changes; close them
   */
  public Changes watch(String session) {
    return watch(WatchSessionRequest.newBuilder().setSession(ref(session)).build(), WatchOptions.DEFAULT);
  }

  /**
   * Watches the changes of one session, which need not exist yet. Each change is delivered once, in order; an append is one
   * change.
   *
   * <p>A watch has no deadline. If the server is unavailable or silent for 30 seconds, the stream is reopened where it stopped,
   * after a pause of up to 0.1 seconds that doubles up to 5 seconds (and at least the server's retry delay), by default without
   * limit; any message resets the count. Store the resume_token of a change after handling it; a watch with that token and the
   * same scope and filter resumes after it.
   *
   * <p>Reasons: SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session without a user, INVALID_RESUME_TOKEN, QUOTA_EXCEEDED, and
   * RESUME_POSITION_EXPIRED if the feed no longer has the next changes; changes were then missed, so read the sessions again
   * before starting at the {@code oldest_resume_token} in its metadata.
   *
   * @param request session (see {@link #ref(String)}); start, by default with changes committed from now on; filter
   * @param options options of the watch
   * @return the changes; close them
   */
  public Changes watch(WatchSessionRequest request, WatchOptions options) {
    var method = SubscriptionServiceGrpc.getWatchSessionMethod();
    var source = new Changes.Source<>(method, request, WatchSessionResponse::getChangesList);
    return new Changes(connection, source, options, Changes.SILENCE);
  }

  /**
   * Watches the changes of all sessions of a scope. A user or app that the scope does not set is this client's. See {@link
   * #watch(WatchSessionRequest, WatchOptions)}.
   *
   * @param request scope; start, by default with changes committed from now on; filter
   * @param options options of the watch
   * @param all {@link All#USERS} for every user, {@link All#APPS} for every app
   * @return the changes; close them
   */
  public Changes watch(WatchAllRequest request, WatchOptions options, All... all) {
    var own = request.toBuilder().setScope(Scopes.narrowed(request.getScope(), whose, all)).build();
    var source = new Changes.Source<>(SubscriptionServiceGrpc.getWatchAllMethod(), own, WatchAllResponse::getChangesList);
    return new Changes(connection, source, options, Changes.SILENCE);
  }
}
