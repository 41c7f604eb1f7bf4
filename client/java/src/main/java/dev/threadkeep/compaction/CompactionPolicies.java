package dev.threadkeep.compaction;

import dev.threadkeep.v1.CompactionPolicy;
import dev.threadkeep.v1.CompactionStrategy;
import dev.threadkeep.v1.CompactionTrigger;

/** Policies: {@code CompactionPolicies.when(Triggers.turnsOver(50), Strategies.recursiveSummary())}. */
public final class CompactionPolicies {
  private CompactionPolicies() {}

  /**
   * Compacts by the strategy when an append makes the trigger fire.
   *
   * @param trigger the condition
   * @param strategy the way
   * @return the policy
   */
  public static CompactionPolicy when(CompactionTrigger trigger, CompactionStrategy strategy) {
    return CompactionPolicy.newBuilder().setTrigger(trigger).setStrategy(strategy).build();
  }

  /**
   * Never compacts, even if a wider policy would.
   *
   * @return the policy
   */
  public static CompactionPolicy disabled() {
    return CompactionPolicy.newBuilder().setDisabled(true).build();
  }
}
