package dev.recollect;

import dev.recollect.v1.ChangeScope;
import dev.recollect.v1.Compaction;
import dev.recollect.v1.CompactionServiceGrpc;
import dev.recollect.v1.EventFilter;
import dev.recollect.v1.EventServiceGrpc;
import dev.recollect.v1.ListCompactionsRequest;
import dev.recollect.v1.ListEventsRequest;
import dev.recollect.v1.ListSessionsRequest;
import dev.recollect.v1.RecallServiceGrpc;
import dev.recollect.v1.SearchEventsRequest;
import dev.recollect.v1.SearchHit;
import dev.recollect.v1.Session;
import dev.recollect.v1.SessionEvent;
import dev.recollect.v1.SessionRef;
import dev.recollect.v1.SessionServiceGrpc;
import dev.recollect.v1.UserScope;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** What every client can do with any method and any list. */
abstract class Calls {
  final Connection connection;
  final SessionRef whose;
  final Duration timeout;

  Calls(Connection connection, SessionRef whose, Duration timeout) {
    this.connection = connection;
    this.whose = whose;
    this.timeout = timeout;
  }

  /**
   * The session of this client's app and user.
   *
   * @param sessionId its id
   * @return the whole reference
   */
  public SessionRef ref(String sessionId) {
    return whose.toBuilder().setSessionId(sessionId).build();
  }

  /**
   * The channel for generated stubs, with this client's credential and retries. Set deadlines yourself, and read errors with
   * {@link RecollectException#from}.
   *
   * @return the channel; it is this client's to close
   */
  public Channel channel() {
    return connection.channel();
  }

  /**
   * Calls any unary method of recollect.v1, for example {@code client.call(SessionServiceGrpc.getGetSessionMethod(), request)}.
   *
   * @param <Q> the request
   * @param <R> the response
   * @param method a method of a generated service class
   * @param request the request, sent as it is
   * @return the response
   */
  public <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
    return connection.call(method, request, timeout);
  }

  /**
   * The same without waiting.
   *
   * @param <Q> the request
   * @param <R> the response
   * @param method a method of a generated service class
   * @param request the request, sent as it is
   * @return the response to come
   */
  public <Q, R> CompletableFuture<R> callAsync(MethodDescriptor<Q, R> method, Q request) {
    return connection.callAsync(method, request, timeout);
  }

  /**
   * All sessions of this client's user and app, newest first; of any user or app if it has none.
   *
   * @return the sessions, page after page
   */
  public Pages<Session> sessions() {
    var request = ListSessionsRequest.newBuilder().setUserId(whose.getUserId());
    return sessions(whose.getApp().isEmpty() ? request.build() : request.setApp(whose.getApp()).build());
  }

  /**
   * All sessions that a request finds.
   *
   * @param request whose sessions, with which labels, how many a page
   * @return the sessions, page after page
   */
  public Pages<Session> sessions(ListSessionsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page = call(SessionServiceGrpc.getListSessionsMethod(), request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getSessionsList(), page.getNextPageToken());
        });
  }

  /**
   * All events of a session, oldest first; an unknown session has none.
   *
   * @param session the session's id
   * @return the events, page after page
   */
  public Pages<SessionEvent> events(String session) {
    return events(ref(session), EventFilter.getDefaultInstance());
  }

  /**
   * The events of a session that match, oldest first; an unknown session has none.
   *
   * @param session the session
   * @param filter which events
   * @return the events, page after page
   */
  public Pages<SessionEvent> events(SessionRef session, EventFilter filter) {
    return events(ListEventsRequest.newBuilder().setSession(session).setFilter(filter).build());
  }

  /**
   * All events that a request finds.
   *
   * @param request of which session, which, in which order, how many a page
   * @return the events, page after page
   */
  public Pages<SessionEvent> events(ListEventsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page = call(EventServiceGrpc.getListEventsMethod(), request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getEventsList(), page.getNextPageToken());
        });
  }

  /**
   * The events of this client's user, in its app or in any if it has none, whose text holds the query, oldest first.
   *
   * @param query a literal text in any case, at most 1,024 characters
   * @return the events and their sessions, page after page
   */
  public Pages<SearchHit> search(String query) {
    var user = UserScope.newBuilder().setUserId(whose.getUserId());
    if (!whose.getApp().isEmpty()) {
      user.setApp(whose.getApp());
    }
    return search(SearchEventsRequest.newBuilder().setUser(user).setQuery(query).build());
  }

  /**
   * All hits that a request finds.
   *
   * @param request where to look, for what, how many a page
   * @return the events and their sessions, page after page
   */
  public Pages<SearchHit> search(SearchEventsRequest request) {
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page = call(RecallServiceGrpc.getSearchEventsMethod(), request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getHitsList(), page.getNextPageToken());
        });
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
    return new Pages<>(
        request.getPageToken(),
        token -> {
          var page = call(CompactionServiceGrpc.getListCompactionsMethod(), request.toBuilder().setPageToken(token).build());
          return new Pages.Page<>(page.getCompactionsList(), page.getNextPageToken());
        });
  }

  /**
   * The sessions of this client's app and user; of any app or user if it has none.
   *
   * @return what to watch
   */
  public ChangeScope scope() {
    var scope = ChangeScope.newBuilder().setUserId(whose.getUserId());
    return whose.getApp().isEmpty() ? scope.build() : scope.setApp(whose.getApp()).build();
  }
}
