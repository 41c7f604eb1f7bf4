package dev.threadkeep.internal.operations;

import dev.threadkeep.Events;
import dev.threadkeep.Reason;
import dev.threadkeep.internal.Summaries;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.CompactionPlan;
import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.PlanCompactionResponse;
import dev.threadkeep.v1.SummaryPrompt;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** Compacts with the caller's model: plans, summarizes, applies, and plans again after a lost race. */
final class Compactor {
  private static final int ATTEMPTS = 5;

  /** The user message before a summary, the same as in the server's summaries. */
  private static final String SHADOW_PROMPT = "Summarize the conversation we had so far.";

  private final PlanCompactionRequest request;
  private final Function<SummaryPrompt, CompletionStage<String>> summarize;

  /** The model's answers by the digest of their prompt. */
  private final Map<String, CompletionStage<String>> answers = new HashMap<>();

  Compactor(PlanCompactionRequest request, Function<SummaryPrompt, CompletionStage<String>> summarize) {
    this.request = request;
    this.summarize = summarize;
  }

  /** Returns the operation, which is empty if there is nothing to compact. It runs once. */
  Operation<Optional<ApplyCompactionResponse>> operation() {
    return attempt(1);
  }

  private Operation<Optional<ApplyCompactionResponse>> attempt(int number) {
    return Operation.call(
        CompactionServiceGrpc.getPlanCompactionMethod(),
        request,
        planned -> {
          var plan = planned.getPlan();
          if (plan.getArchiveEventIdsCount() == 0 && plan.getInsertsCount() == 0) {
            return new Operation.Result<>(Optional.empty());
          }
          if (!plan.hasSummaryPrompt()) {
            return applied(planned, plan, number);
          }
          var answer = answered(plan.getSummaryPrompt());
          return new Operation.Answer<>(answer, summary -> applied(planned, Summaries.filled(plan, summary), number));
        });
  }

  private Operation<Optional<ApplyCompactionResponse>> applied(PlanCompactionResponse planned, CompactionPlan plan, int number) {
    var application =
        ApplyCompactionRequest.newBuilder()
            .setSession(request.getSession())
            .setCompactionId(Events.newEventId())
            .setExpectedWindowVersion(planned.getWindowVersion())
            .addAllInserts(plan.getInsertsList())
            .setBranch(plan.getBranch())
            .setStrategy(plan.getStrategy());
    application.getEventIdsBuilder().addAllIds(plan.getArchiveEventIdsList());
    return new Operation.Call<>(
        CompactionServiceGrpc.getApplyCompactionMethod(),
        application.build(),
        response -> new Operation.Result<>(Optional.of(response)),
        error -> {
          if (error.reason() != Reason.VERSION_MISMATCH || number == ATTEMPTS) {
            throw error;
          }
          return attempt(number + 1);
        });
  }

  /** Returns the model's text. The model is called once per prompt. */
  private CompletionStage<String> answered(SummaryPrompt prompt) {
    return answers.computeIfAbsent(prompt.getDigest(), digest -> summarize.apply(prompt));
  }

  /** Returns the insert of a summary: a turn of two events, like the server's summaries. */
  static CompactionInsert summary(String text) {
    return CompactionInsert.newBuilder().addEvents(Events.user(SHADOW_PROMPT)).addEvents(Events.assistant(Summaries.checked(text))).build();
  }
}
