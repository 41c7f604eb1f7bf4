package dev.threadkeep.internal.operations;

import static dev.threadkeep.internal.operations.Operation.chosen;

import dev.threadkeep.Events;
import dev.threadkeep.Reason;
import dev.threadkeep.history.ForkOptions;
import dev.threadkeep.history.Point;
import dev.threadkeep.internal.Errors;
import dev.threadkeep.options.ApplyOptions;
import dev.threadkeep.options.CompactOptions;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.ClearEventsRequest;
import dev.threadkeep.v1.ClearEventsResponse;
import dev.threadkeep.v1.CompactSessionResponse;
import dev.threadkeep.v1.Compaction;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.EraseEventsRequest;
import dev.threadkeep.v1.EraseEventsResponse;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.ForkSessionResponse;
import dev.threadkeep.v1.GetContextResponse;
import dev.threadkeep.v1.ListCompactionsRequest;
import dev.threadkeep.v1.ListCompactionsResponse;
import dev.threadkeep.v1.PlanCompactionResponse;
import dev.threadkeep.v1.PopEventsRequest;
import dev.threadkeep.v1.PopEventsResponse;
import dev.threadkeep.v1.ReplaceEventsRequest;
import dev.threadkeep.v1.ReplaceEventsResponse;
import dev.threadkeep.v1.ReplaceSuffixRequest;
import dev.threadkeep.v1.ReplaceSuffixResponse;
import dev.threadkeep.v1.RewindSessionRequest;
import dev.threadkeep.v1.RewindSessionResponse;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.SessionServiceGrpc;
import dev.threadkeep.v1.SummaryPrompt;
import io.grpc.Status;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;

/** The operations that change what the context of a session has, or copy it. */
public final class WindowOperations {
  private WindowOperations() {}

  public static Listing<Compaction> compactions(SessionRef ref, int pageSize) {
    var request = ListCompactionsRequest.newBuilder().setSession(ref).setPageSize(pageSize).build();
    return Listing.of(CompactionServiceGrpc.getListCompactionsMethod(), request, ListCompactionsResponse::getCompactionsList);
  }

  public static Operation<CompactSessionResponse> compact(SessionRef ref, Consumer<CompactOptions> options) {
    return Operation.of(CompactionServiceGrpc.getCompactSessionMethod(), chosen(new CompactOptions(), options).request(ref));
  }

  public static Operation<PlanCompactionResponse> planCompaction(SessionRef ref, Consumer<CompactOptions> options) {
    return Operation.of(CompactionServiceGrpc.getPlanCompactionMethod(), chosen(new CompactOptions(), options).plan(ref));
  }

  public static Operation<ApplyCompactionResponse> applyCompaction(
      SessionRef ref, long expectedWindowVersion, Consumer<ApplyOptions> options) {
    var request = chosen(new ApplyOptions(), options).request(ref, expectedWindowVersion);
    return Operation.of(CompactionServiceGrpc.getApplyCompactionMethod(), identified(request));
  }

  public static Operation<Optional<ApplyCompactionResponse>> compactWith(
      SessionRef ref, Function<SummaryPrompt, CompletionStage<String>> summarize, Consumer<CompactOptions> options) {
    return new Compactor(chosen(new CompactOptions(), options).plan(ref), summarize).operation();
  }

  /** Replaces the events of a context with a summary, as a turn of two events. */
  public static Operation<ApplyCompactionResponse> compactContext(SessionRef ref, GetContextResponse seen, String summary) {
    return compactContext(ref, seen, List.of(Compactor.summary(summary)));
  }

  public static Operation<ApplyCompactionResponse> compactContext(SessionRef ref, GetContextResponse seen, List<CompactionInsert> inserts) {
    var request = ApplyCompactionRequest.newBuilder().setSession(ref).addAllInserts(inserts).build();
    return Operation.of(CompactionServiceGrpc.getApplyCompactionMethod(), ofContext(request, seen));
  }

  public static Operation<ReplaceEventsResponse> replaceEvents(SessionRef ref, List<SessionEvent> events, long expectedLogVersion) {
    var request = ReplaceEventsRequest.newBuilder().setSession(ref).addAllEvents(Events.withIds(events));
    return Operation.of(CompactionServiceGrpc.getReplaceEventsMethod(), request.setExpectedLogVersion(expectedLogVersion).build());
  }

  public static Operation<PopEventsResponse> pop(SessionRef ref, int count, Consumer<PopEventsRequest.Builder> change) {
    var request = PopEventsRequest.newBuilder().setSession(ref).setCount(count).setOperationId(Events.newEventId());
    return Operation.of(EventServiceGrpc.getPopEventsMethod(), chosen(request, change).build());
  }

  public static Operation<ClearEventsResponse> clear(SessionRef ref, Consumer<ClearEventsRequest.Builder> change) {
    var request = ClearEventsRequest.newBuilder().setSession(ref).setOperationId(Events.newEventId());
    return Operation.of(EventServiceGrpc.getClearEventsMethod(), chosen(request, change).build());
  }

  public static Operation<RewindSessionResponse> rewind(SessionRef ref, Point to, Consumer<RewindSessionRequest.Builder> change) {
    var request = RewindSessionRequest.newBuilder().setSession(ref).setOperationId(Events.newEventId());
    to.set(request);
    return Operation.of(EventServiceGrpc.getRewindSessionMethod(), chosen(request, change).build());
  }

  public static Operation<ForkSessionResponse> fork(SessionRef ref, String newSessionId, Consumer<ForkOptions> options) {
    return Operation.of(SessionServiceGrpc.getForkSessionMethod(), chosen(new ForkOptions(), options).request(ref, newSessionId));
  }

  public static Operation<EraseEventsResponse> eraseEvents(SessionRef ref, List<String> eventIds, Consumer<EraseEventsRequest.Builder> change) {
    var request = EraseEventsRequest.newBuilder().setSession(ref).addAllEventIds(eventIds).setOperationId(Events.newEventId());
    return Operation.of(EventServiceGrpc.getEraseEventsMethod(), chosen(request, change).build());
  }

  public static Operation<EraseEventsResponse> eraseInvocations(
      SessionRef ref, List<String> invocationIds, Consumer<EraseEventsRequest.Builder> change) {
    return eraseEvents(ref, List.of(), request -> change.accept(request.addAllInvocationIds(invocationIds)));
  }

  public static Operation<EraseEventsResponse> eraseBranch(SessionRef ref, String branch, Consumer<EraseEventsRequest.Builder> change) {
    return eraseEvents(ref, List.of(), request -> change.accept(request.setBranch(branch)));
  }

  public static Operation<ReplaceSuffixResponse> replaceSuffix(
      SessionRef ref, List<String> expectedEventIds, List<SessionEvent> events, Consumer<ReplaceSuffixRequest.Builder> change) {
    var request = ReplaceSuffixRequest.newBuilder().setSession(ref).addAllExpectedEventIds(expectedEventIds);
    request.addAllEvents(Events.withIds(events)).setOperationId(Events.newEventId());
    return Operation.of(EventServiceGrpc.getReplaceSuffixMethod(), chosen(request, change).build());
  }

  /** Returns the request with a compaction id, so that retries apply it once. */
  private static ApplyCompactionRequest identified(ApplyCompactionRequest request) {
    return request.getCompactionId().isEmpty() ? request.toBuilder().setCompactionId(Events.newEventId()).build() : request;
  }

  /** Returns the request that archives exactly the events of a context. */
  private static ApplyCompactionRequest ofContext(ApplyCompactionRequest request, GetContextResponse seen) {
    if (seen.getCompactableThroughSeq() == 0) {
      throw Errors.of(
          Status.Code.FAILED_PRECONDITION,
          Reason.NOTHING_TO_COMPACT,
          "no event of this context may be archived: it is empty, or its spec left out the first events");
    }
    var application = identified(request).toBuilder();
    application.getInsertsBuilderList().stream()
        .flatMap(insert -> insert.getEventsBuilderList().stream())
        .map(event -> event.setSynthetic(true))
        .filter(event -> event.getCompactionSource().isEmpty())
        .forEach(event -> event.setCompactionSource("summary"));
    return application
        .setExpectedWindowVersion(seen.getWindowVersion())
        .setFromSeq(seen.getFirstSeq())
        .setThroughSeq(seen.getCompactableThroughSeq())
        .build();
  }
}
