package dev.threadkeep.internal;

import dev.threadkeep.Events;
import dev.threadkeep.Reason;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.CompactionInsert;
import dev.threadkeep.v1.CompactionPlan;
import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.SummaryPrompt;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Compacts with the caller's model: plans, summarizes, applies, and plans again after a lost race. */
public final class Compactor {
  private static final int ATTEMPTS = 5;

  /** The user message before a summary, the same as in the server's summaries. */
  private static final String SHADOW_PROMPT = "Summarize the conversation we had so far.";

  private final ThreadkeepClient client;
  private final Function<SummaryPrompt, String> summarize;
  private final Map<String, String> answers = new HashMap<>();

  /**
   * Creates a compactor.
   *
   * @param client the client
   * @param summarize returns the summary for a prompt
   */
  public Compactor(ThreadkeepClient client, Function<SummaryPrompt, String> summarize) {
    this.client = client;
    this.summarize = summarize;
  }

  /**
   * Compacts.
   *
   * @param request request of the plan
   * @return the result; empty if there is nothing to compact
   */
  public Optional<ApplyCompactionResponse> run(PlanCompactionRequest request) {
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

  /**
   * Returns the insert of a summary: a turn of two events, like the server's summaries.
   *
   * @param text text of the summary
   * @return the insert
   */
  public static CompactionInsert summary(String text) {
    return CompactionInsert.newBuilder().addEvents(Events.user(SHADOW_PROMPT)).addEvents(Events.assistant(Summaries.checked(text))).build();
  }
}
