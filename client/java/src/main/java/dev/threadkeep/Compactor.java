package dev.threadkeep;

import dev.threadkeep.v1.ApplyCompactionRequest;
import dev.threadkeep.v1.ApplyCompactionResponse;
import dev.threadkeep.v1.ChatMessage;
import dev.threadkeep.v1.CompactionPlan;
import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.ErrorReason;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.Role;
import dev.threadkeep.v1.SummaryPrompt;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Compacting with a model of the caller's: plan, summarise, apply, and plan anew when another compaction was faster. */
final class Compactor {
  private static final int ATTEMPTS = 5;

  private final Threadkeep client;
  private final Function<SummaryPrompt, String> summarise;
  private final Map<String, String> answers = new HashMap<>();

  Compactor(Threadkeep client, Function<SummaryPrompt, String> summarise) {
    this.client = client;
    this.summarise = summarise;
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
              .setCompactionId(Events.newId())
              .setExpectedWindowVersion(planned.getWindowVersion())
              .addAllInserts((plan.hasSummaryPrompt() ? completed(plan) : plan).getInsertsList())
              .setBranch(plan.getBranch())
              .setStrategy(plan.getStrategy());
      application.getEventIdsBuilder().addAllIds(plan.getArchiveEventIdsList());
      try {
        return Optional.of(client.call(CompactionServiceGrpc.getApplyCompactionMethod(), application.build()));
      } catch (ThreadkeepException error) {
        if (error.reason() != ErrorReason.ERROR_REASON_VERSION_MISMATCH || attempt == ATTEMPTS) {
          throw error;
        }
      }
    }
  }

  /** The plan with the model's text in the event that it leaves empty for it. A prompt that was answered is not asked again. */
  private CompactionPlan completed(CompactionPlan plan) {
    var prompt = plan.getSummaryPrompt();
    String summary = answers.computeIfAbsent(prompt.getDigest(), digest -> summarise.apply(prompt));
    if (summary == null || summary.isBlank()) {
      throw new IllegalArgumentException("the summary is blank; the session is as it was");
    }
    var filled = plan.toBuilder();
    filled.getInsertsBuilderList().stream()
        .flatMap(insert -> insert.getEventsBuilderList().stream())
        .filter(event -> isPending(event.getMessage()))
        .forEach(event -> event.getMessageBuilder().getPartsBuilder(0).getTextBuilder().setText(summary));
    return filled.build();
  }

  private static boolean isPending(ChatMessage message) {
    return message.getRole() == Role.ROLE_ASSISTANT && message.getPartsCount() == 1 && message.getParts(0).getText().getText().isEmpty();
  }
}
