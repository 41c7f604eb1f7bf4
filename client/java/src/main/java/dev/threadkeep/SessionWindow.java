package dev.threadkeep;

import dev.threadkeep.history.ForkOptions;
import dev.threadkeep.history.Point;
import dev.threadkeep.internal.operations.PolicyOperations;
import dev.threadkeep.internal.operations.StateOperations;
import dev.threadkeep.internal.operations.WindowOperations;
import dev.threadkeep.options.ApplyOptions;
import dev.threadkeep.options.CompactOptions;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.ClearEventsRequest;
import dev.threadkeep.v1.ClearEventsResponse;
import dev.threadkeep.v1.CompactSessionResponse;
import dev.threadkeep.v1.Compaction;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.EraseEventsRequest;
import dev.threadkeep.v1.EraseEventsResponse;
import dev.threadkeep.v1.ForkSessionResponse;
import dev.threadkeep.v1.GetContextResponse;
import dev.threadkeep.v1.PlanCompactionResponse;
import dev.threadkeep.v1.PopEventsRequest;
import dev.threadkeep.v1.PopEventsResponse;
import dev.threadkeep.v1.ReplaceEventsResponse;
import dev.threadkeep.v1.ReplaceSuffixRequest;
import dev.threadkeep.v1.ReplaceSuffixResponse;
import dev.threadkeep.v1.RewindSessionRequest;
import dev.threadkeep.v1.RewindSessionResponse;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.SummaryPrompt;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;

/** The calls of a session handle that change what its context has, or copy it. */
abstract sealed class SessionWindow permits SessionHandle {
  final ThreadkeepClient client;
  final SessionRef ref;

  SessionWindow(ThreadkeepClient client, SessionRef ref) {
    this.client = client;
    this.ref = ref;
  }

  /**
   * Returns a handle on the state of this session.
   *
   * @return the handle
   */
  public StateHandle state() {
    return new StateHandle(client, StateOperations.Scope.session(ref));
  }

  /**
   * Returns a handle on the compaction policy of this session.
   *
   * @return the handle
   */
  public PolicyHandle policy() {
    return new PolicyHandle(client, PolicyOperations.ofSession(ref));
  }

  /**
   * Lists the compactions of the session, newest first. Reasons: SESSION_NOT_FOUND.
   *
   * @return the compactions, page by page
   */
  public Pages<Compaction> compactions() {
    return compactions(0);
  }

  /**
   * Lists the compactions of the session, newest first. Reasons: SESSION_NOT_FOUND.
   *
   * @param pageSize maximum number of compactions per page; 0 means the server's default
   * @return the compactions, page by page
   */
  public Pages<Compaction> compactions(int pageSize) {
    return new Pages<>(client, WindowOperations.compactions(ref, pageSize));
  }

  /**
   * Compacts the session on the server by its policy. See {@link #compact(Consumer)}.
   *
   * @return the result
   */
  public CompactSessionResponse compact() {
    return compact(o -> {});
  }

  /**
   * Compacts the session on the server, which archives events and inserts summaries or stubs. Nothing is deleted, and having
   * nothing to compact is not an error. The call is not retried. A summary takes as long as the server's model; see {@link
   * ThreadkeepClient#withTimeout}. Reasons: SESSION_NOT_FOUND, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, VERSION_MISMATCH.
   *
   * @param options sets the options, see {@link CompactOptions}
   * @return the result
   */
  public CompactSessionResponse compact(Consumer<CompactOptions> options) {
    return client.run(WindowOperations.compact(ref, options));
  }

  /**
   * Plans a compaction and changes nothing. Reasons: SESSION_NOT_FOUND.
   *
   * @param options sets the options, see {@link CompactOptions}
   * @return the plan, and the window version that it is for
   */
  public PlanCompactionResponse planCompaction(Consumer<CompactOptions> options) {
    return client.run(WindowOperations.planCompaction(ref, options));
  }

  /**
   * Applies a compaction. Reasons: SESSION_NOT_FOUND, EVENT_NOT_FOUND, and VERSION_MISMATCH after another compaction: plan again.
   *
   * @param expectedWindowVersion window version that the caller read
   * @param options sets the options, see {@link ApplyOptions}
   * @return the result
   */
  public ApplyCompactionResponse applyCompaction(long expectedWindowVersion, Consumer<ApplyOptions> options) {
    return client.run(WindowOperations.applyCompaction(ref, expectedWindowVersion, options));
  }

  /**
   * Compacts with the caller's model. See {@link #compactWith(Function, Consumer)}.
   *
   * @param summarize returns the summary for a prompt
   * @return the result; empty if there is nothing to compact
   */
  public Optional<ApplyCompactionResponse> compactWith(Function<SummaryPrompt, String> summarize) {
    return compactWith(summarize, o -> {});
  }

  /**
   * Compacts with the caller's model: plans, calls {@code summarize} with the prompt if there is one, and applies the plan. If
   * another compaction is committed first, it plans again, at most 5 times in total, without calling {@code summarize} twice
   * for the same prompt. Interruption cancels it between two calls. Reasons: SESSION_NOT_FOUND, VERSION_MISMATCH.
   *
   * @param summarize returns the summary for a prompt; its exceptions are rethrown, a blank summary throws
   *     IllegalArgumentException
   * @param options sets the options, see {@link CompactOptions}
   * @return the result; empty if there is nothing to compact
   */
  public Optional<ApplyCompactionResponse> compactWith(Function<SummaryPrompt, String> summarize, Consumer<CompactOptions> options) {
    return client.run(WindowOperations.compactWith(ref, prompt -> CompletableFuture.completedFuture(summarize.apply(prompt)), options));
  }

  /**
   * Replaces the events of a context with a summary. Only events of {@code seen} are archived; events that its size or filters
   * left out and events appended since stay in the window. Nothing is deleted. Reasons: SESSION_NOT_FOUND; NOTHING_TO_COMPACT,
   * before a call, if its compactable_through_seq is 0; VERSION_MISMATCH after another compaction: read the context again.
   *
   * @param seen response of {@link SessionHandle#getContext()}
   * @param summary text of the summary; it becomes a turn of two events, like the server's summaries; a blank one throws
   *     IllegalArgumentException
   * @return the result
   */
  public ApplyCompactionResponse compactContext(GetContextResponse seen, String summary) {
    return client.run(WindowOperations.compactContext(ref, seen, summary));
  }

  /**
   * Replaces the events of a context with inserts, which are marked as synthetic. See {@link #compactContext(GetContextResponse,
   * String)}.
   *
   * @param seen response of {@link SessionHandle#getContext()}
   * @param inserts the new events
   * @return the result
   */
  public ApplyCompactionResponse compactContext(GetContextResponse seen, List<CompactionInsert> inserts) {
    return client.run(WindowOperations.compactContext(ref, seen, inserts));
  }

  /**
   * Replaces the whole window: archives its events and inserts these. The call is not retried. Reasons: SESSION_NOT_FOUND,
   * VERSION_MISMATCH.
   *
   * @param events the new events
   * @param expectedLogVersion log version that the caller read
   * @return the result
   */
  public ReplaceEventsResponse replaceEvents(List<SessionEvent> events, long expectedLogVersion) {
    return client.run(WindowOperations.replaceEvents(ref, events, expectedLogVersion));
  }

  /**
   * Takes the newest events out of the window. See {@link #pop(int, Consumer)}.
   *
   * @param count number of events, at most 1,000
   * @return the events, the newest last
   */
  public PopEventsResponse pop(int count) {
    return pop(count, request -> {});
  }

  /**
   * Takes the newest events out of the window and returns them: of concurrent calls, each event is returned to one. Reasons:
   * SESSION_NOT_FOUND, OPERATION_CONFLICT.
   *
   * @param count number of events, at most 1,000
   * @param change changes the request, for example its mode, which archives by default, or its operation id
   * @return the events, the newest last
   */
  public PopEventsResponse pop(int count, Consumer<PopEventsRequest.Builder> change) {
    return client.run(WindowOperations.pop(ref, count, change));
  }

  /**
   * Empties the active window. The session stays, with labels, policy and watchers; the log continues with the next seq. Reasons:
   * SESSION_NOT_FOUND, OPERATION_CONFLICT.
   *
   * @param change changes the request, for example its mode, which archives by default, or its operation id
   * @return the result
   */
  public ClearEventsResponse clear(Consumer<ClearEventsRequest.Builder> change) {
    return client.run(WindowOperations.clear(ref, change));
  }

  /**
   * Goes back to a point. See {@link #rewind(Point, Consumer)}.
   *
   * @param to the last thing that stays: {@code trip.rewind(Point.event("m12"))}
   * @return the result
   */
  public RewindSessionResponse rewind(Point to) {
    return rewind(to, request -> {});
  }

  /**
   * Goes back to a point: what came after it leaves the window, what left the window since is active again unless it was erased,
   * and the session's state has the values of then. At most 10,000 events leave or come back. Reasons: SESSION_NOT_FOUND,
   * EVENT_NOT_FOUND, VERSION_MISMATCH, HISTORY_UNKNOWN, OPERATION_CONFLICT.
   *
   * @param to the last thing that stays
   * @param change changes the request, for example its mode, which archives by default, or its operation id
   * @return the result
   */
  public RewindSessionResponse rewind(Point to, Consumer<RewindSessionRequest.Builder> change) {
    return client.run(WindowOperations.rewind(ref, to, change));
  }

  /**
   * Creates a session that is a copy of this one as it is. See {@link #fork(String, Consumer)}.
   *
   * @param newSessionId id of the fork; empty for one that the server generates
   * @return the fork
   */
  public ForkSessionResponse fork(String newSessionId) {
    return fork(newSessionId, o -> {});
  }

  /**
   * Creates a session that is a copy of this one, of the same user, as it is or as of a point: {@code trip.fork("again", o ->
   * o.at(Point.seq(12)))}. It has the events up to there, archived ones included, with their ids, seqs and times, and the window,
   * the compactions and the session's state of then; its parent names this session. Writers continue while it is copied. Reasons:
   * SESSION_NOT_FOUND, EVENT_NOT_FOUND, SESSION_ALREADY_EXISTS, HISTORY_UNKNOWN, OPERATION_CONFLICT, QUOTA_EXCEEDED.
   *
   * @param newSessionId id of the fork; empty for one that the server generates
   * @param options sets the options, see {@link ForkOptions}
   * @return the fork
   */
  public ForkSessionResponse fork(String newSessionId, Consumer<ForkOptions> options) {
    return client.run(WindowOperations.fork(ref, newSessionId, options));
  }

  /**
   * Erases the content of events, active or archived, in all their versions. Reasons: EVENT_NOT_FOUND, PERMISSION_DENIED.
   *
   * @param eventIds at most 1,000 ids
   * @return the result, with a receipt
   */
  public EraseEventsResponse eraseEvents(List<String> eventIds) {
    return eraseEvents(eventIds, request -> {});
  }

  /**
   * Erases the content of events. See {@link #eraseEvents(List)}. Reasons: OPERATION_CONFLICT, VERSION_MISMATCH.
   *
   * @param eventIds at most 1,000 ids
   * @param change changes the request, for example its operation id
   * @return the result, with a receipt
   */
  public EraseEventsResponse eraseEvents(List<String> eventIds, Consumer<EraseEventsRequest.Builder> change) {
    return client.run(WindowOperations.eraseEvents(ref, eventIds, change));
  }

  /**
   * Erases the content of the events of invocations, at most 1,000: while the result has more, call again. See {@link
   * #eraseEvents(List)}.
   *
   * @param invocationIds at most 64 ids
   * @param change changes the request, for example its operation id
   * @return the result, with a receipt
   */
  public EraseEventsResponse eraseInvocations(List<String> invocationIds, Consumer<EraseEventsRequest.Builder> change) {
    return client.run(WindowOperations.eraseInvocations(ref, invocationIds, change));
  }

  /**
   * Erases the content of the events of exactly one branch, at most 1,000: while the result has more, call again. See {@link
   * #eraseEvents(List)}.
   *
   * @param branch the branch, not the root
   * @param change changes the request, for example its operation id
   * @return the result, with a receipt
   */
  public EraseEventsResponse eraseBranch(String branch, Consumer<EraseEventsRequest.Builder> change) {
    return client.run(WindowOperations.eraseBranch(ref, branch, change));
  }

  /**
   * Replaces the newest events of the window, if their ids are exactly these. Reasons: VERSION_MISMATCH for another suffix,
   * EVENT_ID_CONFLICT.
   *
   * @param expectedEventIds their ids, oldest first; without any, the events are appended
   * @param events the new events
   * @param change changes the request, for example its mode, which archives by default, or its operation id
   * @return the result
   */
  public ReplaceSuffixResponse replaceSuffix(List<String> expectedEventIds, List<SessionEvent> events, Consumer<ReplaceSuffixRequest.Builder> change) {
    return client.run(WindowOperations.replaceSuffix(ref, expectedEventIds, events, change));
  }
}
