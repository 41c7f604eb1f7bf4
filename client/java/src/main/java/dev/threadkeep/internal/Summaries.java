package dev.threadkeep.internal;

import dev.threadkeep.v1.ChatMessage;
import dev.threadkeep.v1.CompactionPlan;
import dev.threadkeep.v1.Role;

/** Summaries of the caller's model. */
public final class Summaries {
  private Summaries() {}

  /**
   * Returns the plan with a summary in its empty event.
   *
   * @param plan a plan with a summary prompt
   * @param summary text of the summary
   * @return the complete plan
   */
  public static CompactionPlan filled(CompactionPlan plan, String summary) {
    String text = checked(summary);
    var filled = plan.toBuilder();
    filled.getInsertsBuilderList().stream()
        .flatMap(insert -> insert.getEventsBuilderList().stream())
        .filter(event -> isPending(event.getMessage()))
        .forEach(event -> event.getMessageBuilder().getPartsBuilder(0).setText(text));
    return filled.build();
  }

  /**
   * Returns the summary.
   *
   * @param summary text of the summary
   * @return the same text
   * @throws IllegalArgumentException if it is blank
   */
  public static String checked(String summary) {
    if (summary == null || summary.isBlank()) {
      throw new IllegalArgumentException("the summary is blank; the session is unchanged");
    }
    return summary;
  }

  private static boolean isPending(ChatMessage message) {
    if (message.getRole() != Role.ROLE_ASSISTANT || message.getPartsCount() != 1) {
      return false;
    }
    return message.getParts(0).hasText() && message.getParts(0).getText().isEmpty();
  }
}
