package dev.recollect;

import dev.recollect.v1.ApplyCompactionRequest;
import dev.recollect.v1.ApplyCompactionResponse;
import dev.recollect.v1.CompactionPlan;
import dev.recollect.v1.CompactionServiceGrpc;
import dev.recollect.v1.CompactionStrategy;
import dev.recollect.v1.ErrorReason;
import dev.recollect.v1.EventIds;
import dev.recollect.v1.PlanCompactionRequest;
import dev.recollect.v1.PlanCompactionResponse;
import dev.recollect.v1.Role;
import dev.recollect.v1.SessionEvent;
import dev.recollect.v1.SessionRef;
import dev.recollect.v1.SummaryPrompt;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Compacting with a model of the caller's: plan, summarise, apply, and plan anew when another compaction was faster. */
final class Compactor {
  private static final int ATTEMPTS = 5;

  private final Recollect client;
  private final SessionRef session;
  private final Function<SummaryPrompt, String> summarise;
  private final Map<String, String> answers = new HashMap<>();

  Compactor(Recollect client, SessionRef session, Function<SummaryPrompt, String> summarise) {
    this.client = client;
    this.session = session;
    this.summarise = summarise;
  }

  Optional<ApplyCompactionResponse> run(CompactionStrategy strategy) {
    for (int attempt = 1; ; attempt++) {
      var planned = plan(strategy);
      if (planned.getPlan().getArchiveEventIdsCount() == 0 && planned.getPlan().getInsertsCount() == 0) {
        return Optional.empty();
      }
      try {
        return Optional.of(client.call(CompactionServiceGrpc.getApplyCompactionMethod(), application(planned)));
      } catch (RecollectException error) {
        if (error.reason() != ErrorReason.ERROR_REASON_VERSION_MISMATCH || attempt == ATTEMPTS) {
          throw error;
        }
      }
    }
  }

  private PlanCompactionResponse plan(CompactionStrategy strategy) {
    var request = PlanCompactionRequest.newBuilder().setSession(session);
    if (strategy != null) {
      request.setStrategy(strategy);
    }
    return client.call(CompactionServiceGrpc.getPlanCompactionMethod(), request.build());
  }

  private ApplyCompactionRequest application(PlanCompactionResponse planned) {
    CompactionPlan plan = planned.getPlan();
    if (plan.hasSummaryPrompt()) {
      plan = completed(plan, answer(plan.getSummaryPrompt()));
    }
    return ApplyCompactionRequest.newBuilder()
        .setSession(session)
        .setCompactionId(Events.newId())
        .setExpectedWindowVersion(planned.getWindowVersion())
        .setEventIds(EventIds.newBuilder().addAllIds(plan.getArchiveEventIdsList()))
        .addAllInserts(plan.getInsertsList())
        .setBranch(plan.getBranch())
        .setStrategy(plan.getStrategy())
        .build();
  }

  /** A prompt that was answered in a race that was lost is not asked again. */
  private String answer(SummaryPrompt prompt) {
    String summary = answers.computeIfAbsent(prompt.getDigest(), digest -> summarise.apply(prompt));
    if (summary == null || summary.isBlank()) {
      throw new IllegalArgumentException("the summary is blank; the session is as it was");
    }
    return summary;
  }

  /** The plan with the model's text in the event that it leaves empty for it. */
  static CompactionPlan completed(CompactionPlan plan, String summary) {
    var filled = plan.toBuilder();
    for (var insert : filled.getInsertsBuilderList()) {
      for (var event : insert.getEventsBuilderList()) {
        if (isPending(event.build())) {
          event.getMessageBuilder().getPartsBuilder(0).getTextBuilder().setText(summary);
        }
      }
    }
    return filled.build();
  }

  private static boolean isPending(SessionEvent event) {
    var message = event.getMessage();
    return message.getRole() == Role.ROLE_ASSISTANT && message.getPartsCount() == 1 && message.getParts(0).getText().getText().isEmpty();
  }
}
