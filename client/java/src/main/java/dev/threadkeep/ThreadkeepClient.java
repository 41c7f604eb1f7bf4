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
 * <p>A session is an id, which the client completes with its app and user, or a SessionRef, which is taken as it is. The client's app
 * and user also fill what a list, a watch or a search leaves empty, unless it is called with {@link All}. Calls that are safe to repeat
 * are repeated up to four times while the server is unavailable.
 *
 * <p>Every call may fail with a {@link ThreadkeepException}. Arguments that no request could hold are an IllegalArgumentException or a
 * NullPointerException, calls on a closed client an IllegalStateException.
 */
public final class ThreadkeepClient extends Calls {
  /** The version of this SDK. */
  public static final String VERSION = "0.1.0";

  ThreadkeepClient(Connection connection, SessionRef whose, Duration timeout) {
    super(connection, whose, timeout);
  }

  /**
   * A client to configure.
   *
   * @return a new builder
   */
  public static ThreadkeepClientBuilder builder() {
    return new ThreadkeepClientBuilder(System.getenv());
  }

  /**
   * The same client, on the same connection, with another time limit. Closing one closes both.
   *
   * @param limit how long a call may take, its retries included; zero is no limit
   * @return a client
   */
  public ThreadkeepClient withTimeout(Duration limit) {
    return new ThreadkeepClient(connection, whose, Objects.requireNonNull(limit, "limit"));
  }

  /**
   * Appends events to a session that exists, all or none. See {@link #append(SessionRef, List, AppendOptions)}.
   *
   * @param session the session's id
   * @param events what to append, in order
   * @return what became of each, and where the session stands
   */
  public AppendEventsResponse append(String session, SessionEvent... events) {
    return append(ref(session), List.of(events), AppendOptions.NONE);
  }

  /**
   * Appends events, all or none. See {@link #append(SessionRef, List, AppendOptions)}.
   *
   * @param session the session's id
   * @param events what to append, in order
   * @param options how
   * @return what became of each, and where the session stands
   */
  public AppendEventsResponse append(String session, List<SessionEvent> events, AppendOptions options) {
    return append(ref(session), events, options);
  }

  /**
   * Appends events, all or none; when it returns they are on durable storage. Events without an id get one before they are sent, in a
   * copy, so the client's own retries store nothing twice. To retry across errors yourself, append the same
   * {@link Events#withIds(List)} again. Reasons to fail: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, EVENT_TOO_LARGE,
   * BATCH_TOO_LARGE.
   *
   * @param session the session
   * @param events what to append, in order
   * @param options how
   * @return what became of each, and where the session stands
   */
  public AppendEventsResponse append(SessionRef session, List<SessionEvent> events, AppendOptions options) {
    var request = options.request().setSession(session).addAllEvents(Events.withIds(events));
    return call(EventServiceGrpc.getAppendEventsMethod(), request.build());
  }

  /**
   * What an agent should see now: the SYSTEM event, the summaries, then whole turns of the active window, within the default size.
   *
   * @param session the session's id; an unknown session gives an empty context
   * @return the events and counts
   */
  public GetContextResponse context(String session) {
    return context(ref(session), ContextSpec.getDefaultInstance());
  }

  /**
   * What an agent should see now.
   *
   * @param session the session; an unknown one gives an empty context
   * @param spec what to narrow it to
   * @return the events and counts
   */
  public GetContextResponse context(SessionRef session, ContextSpec spec) {
    return call(EventServiceGrpc.getGetContextMethod(), GetContextRequest.newBuilder().setSession(session).setSpec(spec).build());
  }

  /**
   * All sessions of this client's user and app, newest first. See {@link #sessions(ListSessionsRequest, All...)}.
   *
   * @return the sessions, page after page
   */
  public Pages<Session> sessions() {
    return sessions(ListSessionsRequest.getDefaultInstance());
  }

  /**
   * All sessions that a request finds, newest first. A user or app that it does not set is this client's; an app that is set to "" is the
   * sessions without an app.
   *
   * @param request with which labels, of whom, how many a page
   * @param all {@link All#USERS} for every user, {@link All#APPS} for every app
   * @return the sessions, page after page
   */
  public Pages<Session> sessions(ListSessionsRequest request, All... all) {
    var own = Scopes.narrowed(request, whose, all);
    return Pages.of(this, SessionServiceGrpc.getListSessionsMethod(), own, ListSessionsResponse::getSessionsList);
  }

  /**
   * Deletes sessions that have expired, at most 1,000 a call. A user or app that the request does not set is this client's. The server
   * also deletes them by itself.
   *
   * @param request expired when, of whom
   * @param all {@link All#USERS} for every user, {@link All#APPS} for every app
   * @return how many were deleted, and whether more are left
   */
  public DeleteExpiredSessionsResponse deleteExpiredSessions(DeleteExpiredSessionsRequest request, All... all) {
    return call(SessionServiceGrpc.getDeleteExpiredSessionsMethod(), Scopes.narrowed(request, whose, all));
  }

  /**
   * The events of a session that match, oldest first; an unknown session has none.
   *
   * @param session the session's id
   * @param filter which events; EventFilter.getDefaultInstance() for all
   * @return the events, page after page
   */
  public Pages<SessionEvent> events(String session, EventFilter filter) {
    return events(ListEventsRequest.newBuilder().setSession(ref(session)).setFilter(filter).build());
  }

  /**
   * All events that a request finds.
   *
   * @param request of which session, which, in which order, how many a page
   * @return the events, page after page
   */
  public Pages<SessionEvent> events(ListEventsRequest request) {
    return Pages.of(this, EventServiceGrpc.getListEventsMethod(), request, ListEventsResponse::getEventsList);
  }

  /**
   * The events of this client's user and app that answer a query. See {@link #search(SearchEventsRequest, All...)}.
   *
   * @param query what to look for, at most 1,024 characters
   * @return the events and their sessions, page after page
   */
  public Pages<SearchHit> search(String query) {
    return search(SearchEventsRequest.newBuilder().setQuery(query).build());
  }

  /**
   * All hits that a request finds. Without a mode the server picks how to search (SEARCH_MODE_AUTO). Best first: take as many as are of
   * use; with SEARCH_MODE_SUBSTRING oldest first. Without a scope it is of this client's user and app, and so is what a scope of a user
   * leaves empty. Reasons to fail: SESSION_NOT_FOUND, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
   *
   * @param request for what, where, how, how many a page
   * @param all {@link All#USERS} for every user of the app, {@link All#APPS} for every app of the user; both are an
   *     IllegalArgumentException
   * @return the events and their sessions, page after page
   */
  public Pages<SearchHit> search(SearchEventsRequest request, All... all) {
    var own = Scopes.narrowed(request, whose, all);
    return Pages.of(this, SearchServiceGrpc.getSearchEventsMethod(), own, SearchEventsResponse::getHitsList);
  }

  /**
   * The long-term memory of this client's user in its app. Makes no call.
   *
   * @return what is remembered across sessions
   */
  public UserMemory memory() {
    return memory(whose.getUserId());
  }

  /**
   * The long-term memory of a user in this client's app. Makes no call.
   *
   * @param userId the user
   * @return what is remembered across sessions
   */
  public UserMemory memory(String userId) {
    return new UserMemory(this, MemoryScope.newBuilder().setApp(whose.getApp()).setUserId(userId).build());
  }

  /**
   * All compactions of a session, newest first.
   *
   * @param session the session's id
   * @return the records, page after page
   */
  public Pages<Compaction> compactions(String session) {
    return compactions(ListCompactionsRequest.newBuilder().setSession(ref(session)).build());
  }

  /**
   * All compactions that a request finds.
   *
   * @param request of which session, how many a page
   * @return the records, page after page
   */
  public Pages<Compaction> compactions(ListCompactionsRequest request) {
    return Pages.of(this, CompactionServiceGrpc.getListCompactionsMethod(), request, ListCompactionsResponse::getCompactionsList);
  }

  /**
   * Has the server compact a session as its policy says. See {@link #compact(SessionRef, CompactionStrategy)}.
   *
   * @param session the session's id
   * @return what was done
   */
  public CompactSessionResponse compact(String session) {
    return compact(ref(session), null);
  }

  /**
   * Has the server compact a session: archive events, and insert summaries or stubs. Nothing is deleted, and nothing to do is no error.
   * It is not repeated by itself. A summary takes as long as the server's model does: see {@link #withTimeout}. Reasons to fail:
   * SESSION_NOT_FOUND, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, VERSION_MISMATCH.
   *
   * @param session the session
   * @param strategy how; null is as the session's policy says
   * @return what was done
   */
  public CompactSessionResponse compact(SessionRef session, CompactionStrategy strategy) {
    var request = CompactSessionRequest.newBuilder().setSession(session);
    Optional.ofNullable(strategy).ifPresent(request::setStrategy);
    return call(CompactionServiceGrpc.getCompactSessionMethod(), request.build());
  }

  /**
   * Replaces what a context held by a summary of it. See {@link #compactContext(ApplyCompactionRequest, GetContextResponse)}.
   *
   * @param session the session's id
   * @param seen what {@link #context(String)} returned
   * @param summary the text of the summary, which becomes a turn of two events, as the server's summaries are
   * @return what was applied
   * @throws IllegalArgumentException if the summary is blank
   */
  public ApplyCompactionResponse compactContext(String session, GetContextResponse seen, String summary) {
    return compactContext(ApplyCompactionRequest.newBuilder().setSession(ref(session)).addInserts(Compactor.summary(summary)).build(), seen);
  }

  /**
   * Replaces what a context held by the inserts of a request. Only what {@code seen} held is archived: what its size or filters left out
   * and what was appended since stay in the window. Nothing is deleted. The context sets the request's expected_window_version, from_seq
   * and through_seq. Reasons to fail: SESSION_NOT_FOUND, NOTHING_TO_COMPACT, and VERSION_MISMATCH after another compaction: read the
   * context again.
   *
   * @param request the session, what takes the place, and the strategy for the record; inserted events are marked as synthetic
   * @param seen what {@link #context(SessionRef, ContextSpec)} returned
   * @return what was applied
   * @throws ThreadkeepException NOTHING_TO_COMPACT, before anything is sent, if nothing of the context may be archived (its
   *     compactable_through_seq is 0)
   */
  public ApplyCompactionResponse compactContext(ApplyCompactionRequest request, GetContextResponse seen) {
    return call(CompactionServiceGrpc.getApplyCompactionMethod(), Compactor.ofContext(request, seen));
  }

  /**
   * Compacts with a model of the caller's. See {@link #compactWith(SessionRef, Function, CompactionStrategy)}.
   *
   * @param session the session's id
   * @param summarize gives the summary
   * @return what was applied; empty if there was nothing to do
   */
  public Optional<ApplyCompactionResponse> compactWith(String session, Function<SummaryPrompt, String> summarize) {
    return compactWith(ref(session), summarize, null);
  }

  /**
   * Compacts with a model of the caller's: plans, has {@code summarize} answer the prompt if there is one, applies. When another
   * compaction was faster it plans anew, at most 5 times in all, and does not ask again for the same prompt. Reasons to fail:
   * SESSION_NOT_FOUND, VERSION_MISMATCH.
   *
   * @param session the session
   * @param summarize gives the summary; what it throws is thrown, a blank answer is an IllegalArgumentException
   * @param strategy how; null is as the session's policy says
   * @return what was applied; empty if there was nothing to do
   */
  public Optional<ApplyCompactionResponse> compactWith(
      SessionRef session, Function<SummaryPrompt, String> summarize, CompactionStrategy strategy) {
    var request = PlanCompactionRequest.newBuilder().setSession(session);
    Optional.ofNullable(strategy).ifPresent(request::setStrategy);
    return new Compactor(this, summarize).run(request.build());
  }

  /**
   * Follows a session of this client's app and user from now on. See {@link #watch(WatchSessionRequest, WatchOptions)}.
   *
   * @param session the session's id
   * @return the changes; close them
   */
  public Changes watch(String session) {
    return watch(WatchSessionRequest.newBuilder().setSession(ref(session)).build(), WatchOptions.DEFAULT);
  }

  /**
   * Follows every change of one session, which need not exist yet: in order, each once, an append as a whole.
   *
   * <p>It has no deadline. When the server is unavailable or silent for 30 seconds it opens the stream again where it stood, after a
   * pause of up to 0.1 seconds that doubles up to 5 (and as long as the server asks for), by default for ever; any message begins a new
   * row. Keep a change's resume_token once it is handled: a watch with it and the same scope and filter goes on after it.
   *
   * <p>Reasons to fail: SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session without user, INVALID_RESUME_TOKEN, QUOTA_EXCEEDED; and
   * RESUME_POSITION_EXPIRED when the feed no longer holds what comes next: then changes were missed, so read the sessions again before
   * you start at the {@code oldest_resume_token} in its metadata.
   *
   * @param request the session (see {@link #ref(String)}); where to start, by default with what is committed from now on; which events
   * @param options what to hand out, and what to bear
   * @return the changes; close them
   */
  public Changes watch(WatchSessionRequest request, WatchOptions options) {
    var method = SubscriptionServiceGrpc.getWatchSessionMethod();
    var source = new Changes.Source<>(method, request, WatchSessionResponse::getChangesList);
    return new Changes(connection, source, options, Changes.SILENCE);
  }

  /**
   * Follows every change of all sessions of a scope. A user or app that the request's scope does not set is this client's. See {@link
   * #watch(WatchSessionRequest, WatchOptions)}.
   *
   * @param request whose changes; where to start, by default with what is committed from now on; which events
   * @param options what to hand out, and what to bear
   * @param all {@link All#USERS} for every user, {@link All#APPS} for every app
   * @return the changes; close them
   */
  public Changes watch(WatchAllRequest request, WatchOptions options, All... all) {
    var own = request.toBuilder().setScope(Scopes.narrowed(request.getScope(), whose, all)).build();
    var source = new Changes.Source<>(SubscriptionServiceGrpc.getWatchAllMethod(), own, WatchAllResponse::getChangesList);
    return new Changes(connection, source, options, Changes.SILENCE);
  }
}
