package dev.threadkeep.async;

import dev.threadkeep.SessionHandle;
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
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;

/** The calls of an asynchronous session handle that change what its context has, or copy it. */
abstract sealed class AsyncSessionWindow permits AsyncSessionHandle {
  final AsyncThreadkeepClient client;
  final SessionRef ref;

  AsyncSessionWindow(AsyncThreadkeepClient client, SessionRef ref) {
    this.client = client;
    this.ref = ref;
  }

  /**
   * Returns a handle on the state of this session.
   *
   * @return the handle
   */
  public AsyncStateHandle state() {
    return new AsyncStateHandle(client, StateOperations.Scope.session(ref));
  }

  /**
   * Returns a handle on the compaction policy of this session.
   *
   * @return the handle
   */
  public AsyncPolicyHandle policy() {
    return new AsyncPolicyHandle(client, PolicyOperations.ofSession(ref));
  }

  /**
   * Lists the compactions of the session, newest first. Reasons: SESSION_NOT_FOUND.
   *
   * @return the compactions
   */
  public AsyncPages<Compaction> compactions() {
    return compactions(0);
  }

  /**
   * Lists the compactions of the session, newest first. Reasons: SESSION_NOT_FOUND.
   *
   * @param pageSize maximum number of compactions per page; 0 means the server's default
   * @return the compactions
   */
  public AsyncPages<Compaction> compactions(int pageSize) {
    return new AsyncPages<>(client, WindowOperations.compactions(ref, pageSize));
  }

  /**
   * Compacts the session on the server by its policy. See {@link #compact(Consumer)}.
   *
   * @return a future of the result
   */
  public CompletableFuture<CompactSessionResponse> compact() {
    return compact(o -> {});
  }

  /**
   * Compacts the session on the server. Nothing is deleted, and having nothing to compact is not an error. The call is not retried.
   * See {@link SessionHandle#compact(Consumer)}. Reasons: SESSION_NOT_FOUND, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED,
   * VERSION_MISMATCH.
   *
   * @param options sets the options, see {@link CompactOptions}
   * @return a future of the result
   */
  public CompletableFuture<CompactSessionResponse> compact(Consumer<CompactOptions> options) {
    return client.start(() -> WindowOperations.compact(ref, options));
  }

  /**
   * Plans a compaction and changes nothing. Reasons: SESSION_NOT_FOUND.
   *
   * @param options sets the options, see {@link CompactOptions}
   * @return a future of the plan, and of the window version that it is for
   */
  public CompletableFuture<PlanCompactionResponse> planCompaction(Consumer<CompactOptions> options) {
    return client.start(() -> WindowOperations.planCompaction(ref, options));
  }

  /**
   * Applies a compaction. Reasons: SESSION_NOT_FOUND, EVENT_NOT_FOUND, and VERSION_MISMATCH after another compaction: plan again.
   *
   * @param expectedWindowVersion window version that the caller read
   * @param options sets the options, see {@link ApplyOptions}
   * @return a future of the result
   */
  public CompletableFuture<ApplyCompactionResponse> applyCompaction(long expectedWindowVersion, Consumer<ApplyOptions> options) {
    return client.start(() -> WindowOperations.applyCompaction(ref, expectedWindowVersion, options));
  }

  /**
   * Compacts with the caller's model. See {@link #compactWith(Function, Consumer)}.
   *
   * @param summarize returns a future of the summary for a prompt
   * @return a future of the result; empty if there is nothing to compact
   */
  public CompletableFuture<Optional<ApplyCompactionResponse>> compactWith(Function<SummaryPrompt, CompletionStage<String>> summarize) {
    return compactWith(summarize, o -> {});
  }

  /**
   * Compacts with the caller's model: plans, calls {@code summarize} with the prompt if there is one, and applies the plan. If
   * another compaction is committed first, it plans again, at most 5 times in total, without calling {@code summarize} twice
   * for the same prompt. Canceling the future cancels the call in progress, or the future of the summary. Reasons:
   * SESSION_NOT_FOUND, VERSION_MISMATCH.
   *
   * @param summarize returns a future of the summary for a prompt; its error is the error of the result, a blank summary is an
   *     IllegalArgumentException
   * @param options sets the options, see {@link CompactOptions}
   * @return a future of the result; empty if there is nothing to compact
   */
  public CompletableFuture<Optional<ApplyCompactionResponse>> compactWith(
      Function<SummaryPrompt, CompletionStage<String>> summarize, Consumer<CompactOptions> options) {
    return client.start(() -> WindowOperations.compactWith(ref, summarize, options));
  }

  /**
   * Replaces the events of a context with a summary. See {@link SessionHandle#compactContext(GetContextResponse, String)}. Reasons:
   * SESSION_NOT_FOUND; NOTHING_TO_COMPACT, without a call, if its compactable_through_seq is 0; VERSION_MISMATCH after another
   * compaction: read the context again.
   *
   * @param seen response of {@link AsyncSessionHandle#getContext()}
   * @param summary text of the summary; it becomes a turn of two events; a blank one is an IllegalArgumentException
   * @return a future of the result
   */
  public CompletableFuture<ApplyCompactionResponse> compactContext(GetContextResponse seen, String summary) {
    return client.start(() -> WindowOperations.compactContext(ref, seen, summary));
  }

  /**
   * Replaces the events of a context with inserts, which are marked as synthetic. See {@link #compactContext(GetContextResponse,
   * String)}.
   *
   * @param seen response of {@link AsyncSessionHandle#getContext()}
   * @param inserts the new events
   * @return a future of the result
   */
  public CompletableFuture<ApplyCompactionResponse> compactContext(GetContextResponse seen, List<CompactionInsert> inserts) {
    return client.start(() -> WindowOperations.compactContext(ref, seen, inserts));
  }

  /**
   * Replaces the whole window: archives its events and inserts these. The call is not retried. Reasons: SESSION_NOT_FOUND,
   * VERSION_MISMATCH.
   *
   * @param events the new events
   * @param expectedLogVersion log version that the caller read
   * @return a future of the result
   */
  public CompletableFuture<ReplaceEventsResponse> replaceEvents(List<SessionEvent> events, long expectedLogVersion) {
    return client.start(() -> WindowOperations.replaceEvents(ref, events, expectedLogVersion));
  }

  /**
   * Takes the newest events out of the window. See {@link #pop(int, Consumer)}.
   *
   * @param count number of events, at most 1,000
   * @return a future of the events, the newest last
   */
  public CompletableFuture<PopEventsResponse> pop(int count) {
    return pop(count, request -> {});
  }

  /**
   * Takes the newest events out of the window and returns them: of concurrent calls, each event is returned to one. Reasons:
   * SESSION_NOT_FOUND, OPERATION_CONFLICT.
   *
   * @param count number of events, at most 1,000
   * @param change changes the request, for example its mode, which archives by default, or its operation id
   * @return a future of the events, the newest last
   */
  public CompletableFuture<PopEventsResponse> pop(int count, Consumer<PopEventsRequest.Builder> change) {
    return client.start(() -> WindowOperations.pop(ref, count, change));
  }

  /**
   * Empties the active window. The session stays, with labels, policy and watchers; the log continues with the next seq. Reasons:
   * SESSION_NOT_FOUND, OPERATION_CONFLICT.
   *
   * @param change changes the request, for example its mode, which archives by default, or its operation id
   * @return a future of the result
   */
  public CompletableFuture<ClearEventsResponse> clear(Consumer<ClearEventsRequest.Builder> change) {
    return client.start(() -> WindowOperations.clear(ref, change));
  }

  /**
   * Goes back to a point. See {@link #rewind(Point, Consumer)}.
   *
   * @param to the last thing that stays: {@code trip.rewind(Point.event("m12"))}
   * @return a future of the result
   */
  public CompletableFuture<RewindSessionResponse> rewind(Point to) {
    return rewind(to, request -> {});
  }

  /**
   * Goes back to a point, with the window and the state of then. At most 10,000 events leave or come back. See {@link
   * SessionHandle#rewind(Point, Consumer)}. Reasons: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, HISTORY_UNKNOWN,
   * OPERATION_CONFLICT.
   *
   * @param to the last thing that stays
   * @param change changes the request, for example its mode, which archives by default, or its operation id
   * @return a future of the result
   */
  public CompletableFuture<RewindSessionResponse> rewind(Point to, Consumer<RewindSessionRequest.Builder> change) {
    return client.start(() -> WindowOperations.rewind(ref, to, change));
  }

  /**
   * Creates a session that is a copy of this one as it is. See {@link #fork(String, Consumer)}.
   *
   * @param newSessionId id of the fork; empty for one that the server generates
   * @return a future of the fork
   */
  public CompletableFuture<ForkSessionResponse> fork(String newSessionId) {
    return fork(newSessionId, o -> {});
  }

  /**
   * Creates a session that is a copy of this one, of the same user, as it is or as of a point. See {@link
   * SessionHandle#fork(String, Consumer)}. Reasons: SESSION_NOT_FOUND, EVENT_NOT_FOUND, SESSION_ALREADY_EXISTS, HISTORY_UNKNOWN,
   * OPERATION_CONFLICT, QUOTA_EXCEEDED.
   *
   * @param newSessionId id of the fork; empty for one that the server generates
   * @param options sets the options, see {@link ForkOptions}
   * @return a future of the fork
   */
  public CompletableFuture<ForkSessionResponse> fork(String newSessionId, Consumer<ForkOptions> options) {
    return client.start(() -> WindowOperations.fork(ref, newSessionId, options));
  }

  /**
   * Erases the content of events, active or archived, in all their versions. Reasons: EVENT_NOT_FOUND, PERMISSION_DENIED.
   *
   * @param eventIds at most 1,000 ids
   * @return a future of the result, with a receipt
   */
  public CompletableFuture<EraseEventsResponse> eraseEvents(List<String> eventIds) {
    return eraseEvents(eventIds, request -> {});
  }

  /**
   * Erases the content of events. See {@link #eraseEvents(List)}. Reasons: OPERATION_CONFLICT, VERSION_MISMATCH.
   *
   * @param eventIds at most 1,000 ids
   * @param change changes the request, for example its operation id
   * @return a future of the result, with a receipt
   */
  public CompletableFuture<EraseEventsResponse> eraseEvents(List<String> eventIds, Consumer<EraseEventsRequest.Builder> change) {
    return client.start(() -> WindowOperations.eraseEvents(ref, eventIds, change));
  }

  /**
   * Erases the content of the events of invocations, at most 1,000: while the result has more, call again. See {@link
   * #eraseEvents(List)}.
   *
   * @param invocationIds at most 64 ids
   * @param change changes the request, for example its operation id
   * @return a future of the result, with a receipt
   */
  public CompletableFuture<EraseEventsResponse> eraseInvocations(List<String> invocationIds, Consumer<EraseEventsRequest.Builder> change) {
    return client.start(() -> WindowOperations.eraseInvocations(ref, invocationIds, change));
  }

  /**
   * Erases the content of the events of exactly one branch, at most 1,000: while the result has more, call again. See {@link
   * #eraseEvents(List)}.
   *
   * @param branch the branch, not the root
   * @param change changes the request, for example its operation id
   * @return a future of the result, with a receipt
   */
  public CompletableFuture<EraseEventsResponse> eraseBranch(String branch, Consumer<EraseEventsRequest.Builder> change) {
    return client.start(() -> WindowOperations.eraseBranch(ref, branch, change));
  }

  /**
   * Replaces the newest events of the window, if their ids are exactly these. Reasons: VERSION_MISMATCH for another suffix,
   * EVENT_ID_CONFLICT.
   *
   * @param expectedEventIds their ids, oldest first; without any, the events are appended
   * @param events the new events
   * @param change changes the request, for example its mode, which archives by default, or its operation id
   * @return a future of the result
   */
  public CompletableFuture<ReplaceSuffixResponse> replaceSuffix(
      List<String> expectedEventIds, List<SessionEvent> events, Consumer<ReplaceSuffixRequest.Builder> change) {
    return client.start(() -> WindowOperations.replaceSuffix(ref, expectedEventIds, events, change));
  }
}
