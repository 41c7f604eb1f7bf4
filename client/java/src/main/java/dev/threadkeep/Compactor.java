package dev.threadkeep;

import dev.threadkeep.internal.Summaries;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.CompactionPlan;
import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.GetContextResponse;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.SummaryPrompt;
import io.grpc.Status;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Compacts with the caller's model: plans, summarizes, applies, and plans again after a lost race. */
final class Compactor {
  private static final int ATTEMPTS = 5;

  /** The user message before a summary, the same as in the server's summaries. */
  private static final String SHADOW_PROMPT = "Summarize the conversation we had so far.";

  private final ThreadkeepClient client;
  private final Function<SummaryPrompt, String> summarize;
  private final Map<String, String> answers = new HashMap<>();

  Compactor(ThreadkeepClient client, Function<SummaryPrompt, String> summarize) {
    this.client = client;
    this.summarize = summarize;
  }

  Optional<ApplyCompactionResponse> run(PlanCompactionRequest request) {
    for (int attempt = 1; ; attempt++) {
      var planned = client.call(CompactionServiceGrpc.getPlanCompactionMethod(), request);
      var plan = planned.getPlan();
      if (plan.getArchiveEventIdsCount() == 0 && plan.getInsertsCount() == 0) {
        return Optional.empty();
      }
      var application =
          ApplyCompactionRequest.newBuilder()
              .setSession(request.getSession())
              .setCompactionId(Events.newEventId())
              .setExpectedWindowVersion(planned.getWindowVersion())
              .addAllInserts((plan.hasSummaryPrompt() ? Summaries.filled(plan, answered(plan)) : plan).getInsertsList())
              .setBranch(plan.getBranch())
              .setStrategy(plan.getStrategy());
      application.getEventIdsBuilder().addAllIds(plan.getArchiveEventIdsList());
      try {
        return Optional.of(client.call(CompactionServiceGrpc.getApplyCompactionMethod(), application.build()));
      } catch (ThreadkeepException error) {
        if (error.reason() != Reason.VERSION_MISMATCH || attempt == ATTEMPTS) {
          throw error;
        }
      }
    }
  }

  /** Returns the model's text. The model is called once per prompt. */
  private String answered(CompactionPlan plan) {
    var prompt = plan.getSummaryPrompt();
    return answers.computeIfAbsent(prompt.getDigest(), digest -> summarize.apply(prompt));
  }

  /** Returns the insert of a summary: a turn of two events, like the server's summaries. */
  static CompactionInsert summary(String text) {
    return CompactionInsert.newBuilder().addEvents(Events.user(SHADOW_PROMPT)).addEvents(Events.assistant(Summaries.checked(text))).build();
  }

  /** Returns the request with a compaction id, so that retries apply it once. */
  static ApplyCompactionRequest identified(ApplyCompactionRequest request) {
    return request.getCompactionId().isEmpty() ? request.toBuilder().setCompactionId(Events.newEventId()).build() : request;
  }

  /** Returns the request that archives exactly the events of a context. */
  static ApplyCompactionRequest ofContext(ApplyCompactionRequest request, GetContextResponse seen) {
    if (seen.getCompactableThroughSeq() == 0) {
      throw ThreadkeepException.of(
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
