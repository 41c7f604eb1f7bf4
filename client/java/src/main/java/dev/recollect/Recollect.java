package dev.recollect;

import dev.recollect.v1.AppendEventsRequest;
import dev.recollect.v1.AppendEventsResponse;
import dev.recollect.v1.ApplyCompactionResponse;
import dev.recollect.v1.Change;
import dev.recollect.v1.ChangeScope;
import dev.recollect.v1.CompactSessionRequest;
import dev.recollect.v1.CompactSessionResponse;
import dev.recollect.v1.CompactionServiceGrpc;
import dev.recollect.v1.CompactionStrategy;
import dev.recollect.v1.ContextSpec;
import dev.recollect.v1.EventServiceGrpc;
import dev.recollect.v1.GetContextRequest;
import dev.recollect.v1.GetContextResponse;
import dev.recollect.v1.SessionEvent;
import dev.recollect.v1.SessionRef;
import dev.recollect.v1.SubscriptionServiceGrpc;
import dev.recollect.v1.SummaryPrompt;
import dev.recollect.v1.WatchAllResponse;
import dev.recollect.v1.WatchSessionResponse;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Function;

/**
 * A client of one server. Share one instance among threads, and close it.
 *
 * <p>A session is an id, which the client completes with its app and user, or a SessionRef, which is taken as it is. Calls that are
 * safe to repeat are repeated up to four times while the server is unavailable. Methods with {@code Async} return at once; cancelling
 * what they return cancels the call.
 *
 * <p>Every call may fail with a {@link RecollectException}, which is thrown, or completes the future. Arguments that no request could
 * hold are an IllegalArgumentException or a NullPointerException, calls on a closed client an IllegalStateException.
 */
public final class Recollect extends Calls implements AutoCloseable {
  /** The version of this SDK. */
  public static final String VERSION = "0.1.0";

  Recollect(Connection connection, SessionRef whose, Duration timeout) {
    super(connection, whose, timeout);
  }

  /**
   * A client to configure.
   *
   * @return a new builder
   */
  public static RecollectBuilder builder() {
    return new RecollectBuilder();
  }

  /** Closes the connection; calls and watches under way fail with the code CANCELLED. Closing twice does nothing. */
  @Override
  public void close() {
    connection.close();
  }

  /**
   * The same client, on the same connection, with another time limit. Closing one closes both.
   *
   * @param limit how long a call may take, its retries included; ChronoUnit.FOREVER.getDuration() for no limit
   * @return a client
   */
  public Recollect withTimeout(Duration limit) {
    return new Recollect(connection, whose, Objects.requireNonNull(limit, "limit"));
  }

  /**
   * Appends events to a session that exists, all or none. See {@link #append(SessionRef, List, AppendOptions)}.
   *
   * @param session the session's id
   * @param events what to append, in order
   * @return what became of each, and where the session stands
   */
  public AppendEventsResponse append(String session, SessionEvent... events) {
    return append(ref(session), Arrays.asList(events), AppendOptions.NONE);
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
    var limit = options.timeout().orElse(timeout);
    return connection.call(EventServiceGrpc.getAppendEventsMethod(), request(session, events, options), limit);
  }

  /**
   * The same as {@link #append(String, SessionEvent...)} without waiting.
   *
   * @param session the session's id
   * @param events what to append, in order
   * @return what became of each, to come
   */
  public CompletableFuture<AppendEventsResponse> appendAsync(String session, SessionEvent... events) {
    return appendAsync(ref(session), Arrays.asList(events), AppendOptions.NONE);
  }

  /**
   * The same as {@link #append(SessionRef, List, AppendOptions)} without waiting.
   *
   * @param session the session
   * @param events what to append, in order
   * @param options how
   * @return what became of each, to come
   */
  public CompletableFuture<AppendEventsResponse> appendAsync(SessionRef session, List<SessionEvent> events, AppendOptions options) {
    var limit = options.timeout().orElse(timeout);
    return connection.callAsync(EventServiceGrpc.getAppendEventsMethod(), request(session, events, options), limit);
  }

  private static AppendEventsRequest request(SessionRef session, List<SessionEvent> events, AppendOptions options) {
    return options.request().setSession(session).addAllEvents(Events.withIds(events)).build();
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
    return call(EventServiceGrpc.getGetContextMethod(), request(session, spec));
  }

  /**
   * The same as {@link #context(SessionRef, ContextSpec)} without waiting.
   *
   * @param session the session
   * @param spec what to narrow it to
   * @return the events and counts, to come
   */
  public CompletableFuture<GetContextResponse> contextAsync(SessionRef session, ContextSpec spec) {
    return callAsync(EventServiceGrpc.getGetContextMethod(), request(session, spec));
  }

  private static GetContextRequest request(SessionRef session, ContextSpec spec) {
    return GetContextRequest.newBuilder().setSession(session).setSpec(spec).build();
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
    return call(CompactionServiceGrpc.getCompactSessionMethod(), request(session, strategy));
  }

  /**
   * The same as {@link #compact(SessionRef, CompactionStrategy)} without waiting.
   *
   * @param session the session
   * @param strategy how; null is as the session's policy says
   * @return what was done, to come
   */
  public CompletableFuture<CompactSessionResponse> compactAsync(SessionRef session, CompactionStrategy strategy) {
    return callAsync(CompactionServiceGrpc.getCompactSessionMethod(), request(session, strategy));
  }

  private static CompactSessionRequest request(SessionRef session, CompactionStrategy strategy) {
    var request = CompactSessionRequest.newBuilder().setSession(session);
    return strategy == null ? request.build() : request.setStrategy(strategy).build();
  }

  /**
   * Compacts with a model of the caller's: plans, has {@code summarise} answer the prompt if there is one, applies. When another
   * compaction was faster it plans anew, at most 5 times in all, and does not ask again for the same prompt. Reasons to fail:
   * SESSION_NOT_FOUND, VERSION_MISMATCH.
   *
   * @param session the session
   * @param summarise gives the summary; what it throws is thrown, a blank answer is an IllegalArgumentException
   * @param strategy how; null is as the session's policy says
   * @return what was applied; empty if there was nothing to do
   */
  public Optional<ApplyCompactionResponse> compactWith(
      SessionRef session, Function<SummaryPrompt, String> summarise, CompactionStrategy strategy) {
    return new Compactor(this, session, summarise).run(strategy);
  }

  /**
   * Follows a session of this client's app and user. See {@link #watch(SessionRef, WatchOptions)}.
   *
   * @param session the session's id
   * @param options where to start, and what to hand out
   * @return the changes; close them
   */
  public Changes watch(String session, WatchOptions options) {
    return watch(ref(session), options);
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
   * @param session the session
   * @param options where to start, and what to hand out
   * @return the changes; close them
   */
  public Changes watch(SessionRef session, WatchOptions options) {
    return new Changes(feed(session, options));
  }

  /**
   * Follows every change of all sessions of a scope. See {@link #watch(SessionRef, WatchOptions)}.
   *
   * @param scope whose changes; see {@link #scope()} for those of this client's app and user
   * @param options where to start, and what to hand out
   * @return the changes; close them
   */
  public Changes watch(ChangeScope scope, WatchOptions options) {
    return new Changes(feed(scope, options));
  }

  /**
   * The same as {@link #watch(SessionRef, WatchOptions)} for subscribers. Each has a call of its own, which it opens with its first
   * request; nothing is read from the server for which there is no demand. Subscribers run on gRPC's threads.
   *
   * @param session the session
   * @param options where to start, and what to hand out
   * @return a publisher that never completes; it may end with a RecollectException
   */
  public Flow.Publisher<Change> watchAsync(SessionRef session, WatchOptions options) {
    return new ChangePublisher(() -> feed(session, options));
  }

  /**
   * The same as {@link #watch(ChangeScope, WatchOptions)} for subscribers. See {@link #watchAsync(SessionRef, WatchOptions)}.
   *
   * @param scope whose changes
   * @param options where to start, and what to hand out
   * @return a publisher that never completes; it may end with a RecollectException
   */
  public Flow.Publisher<Change> watchAsync(ChangeScope scope, WatchOptions options) {
    return new ChangePublisher(() -> feed(scope, options));
  }

  private Feed<?, ?> feed(SessionRef session, WatchOptions options) {
    var method = SubscriptionServiceGrpc.getWatchSessionMethod();
    return feed(method, options, token -> options.request(session, token), WatchSessionResponse::getChangesList);
  }

  private Feed<?, ?> feed(ChangeScope scope, WatchOptions options) {
    var method = SubscriptionServiceGrpc.getWatchAllMethod();
    return feed(method, options, token -> options.request(scope, token), WatchAllResponse::getChangesList);
  }

  private <Q, R> Feed<Q, R> feed(
      MethodDescriptor<Q, R> method, WatchOptions options, Function<String, Q> request, Function<R, List<Change>> changes) {
    request.apply(""); // what it cannot say is the caller's to hear, not the stream's
    return new Feed<>(connection, new Feed.Source<>(method, request, changes), options, Feed.SILENCE);
  }
}
