package dev.threadkeep.compaction;

import dev.threadkeep.v1.CompactionStrategy;
import dev.threadkeep.v1.ConsumerStrategy;
import dev.threadkeep.v1.RecursiveSummary;
import dev.threadkeep.v1.SlidingWindow;
import dev.threadkeep.v1.StrategyPipeline;
import dev.threadkeep.v1.TokenBudget;
import dev.threadkeep.v1.TrimToolResults;
import dev.threadkeep.v1.TurnWindow;
import dev.threadkeep.v1.WebhookStrategy;
import java.util.Arrays;
import java.util.function.Consumer;

/** Ways to compact. Numbers that are 0 or not set are the server's defaults, in parentheses. */
public final class Strategies {
  private Strategies() {}

  /**
   * Keeps the newest events (20), from a turn start on.
   *
   * @param maxEvents number of events
   * @return the strategy
   */
  public static CompactionStrategy slidingWindow(int maxEvents) {
    return CompactionStrategy.newBuilder().setSlidingWindow(SlidingWindow.newBuilder().setMaxEvents(maxEvents)).build();
  }

  /**
   * Keeps the newest turns (10).
   *
   * @param maxTurns number of turns
   * @return the strategy
   */
  public static CompactionStrategy turnWindow(int maxTurns) {
    return CompactionStrategy.newBuilder().setTurnWindow(TurnWindow.newBuilder().setMaxTurns(maxTurns)).build();
  }

  /**
   * Keeps the newest turns that fit into this number of tokens (4,000).
   *
   * @param maxTokens number of tokens
   * @return the strategy
   */
  public static CompactionStrategy tokenBudget(long maxTokens) {
    return CompactionStrategy.newBuilder().setTokenBudget(TokenBudget.newBuilder().setMaxTokens(maxTokens)).build();
  }

  /**
   * Keeps the newest events (10) and replaces all events before them by a model's summary.
   *
   * @return the strategy
   */
  public static CompactionStrategy recursiveSummary() {
    return recursiveSummary(summary -> {});
  }

  /**
   * Keeps the newest events and replaces all events before them by a model's summary.
   *
   * @param options sets the fields of the strategy
   * @return the strategy
   */
  public static CompactionStrategy recursiveSummary(Consumer<RecursiveSummary.Builder> options) {
    var summary = RecursiveSummary.newBuilder();
    options.accept(summary);
    return CompactionStrategy.newBuilder().setRecursiveSummary(summary).build();
  }

  /**
   * Replaces tool results of 64 tokens or more by stubs, except those of the newest turn.
   *
   * @return the strategy
   */
  public static CompactionStrategy trimToolResults() {
    return CompactionStrategy.newBuilder().setTrimToolResults(TrimToolResults.getDefaultInstance()).build();
  }

  /**
   * Replaces tool results by stubs.
   *
   * @param keepTurns number of newest turns whose results stay
   * @param minTokens smallest size of a result that is replaced (64)
   * @return the strategy
   */
  public static CompactionStrategy trimToolResults(int keepTurns, int minTokens) {
    var trim = TrimToolResults.newBuilder().setKeepTurns(keepTurns).setMinTokens(minTokens);
    return CompactionStrategy.newBuilder().setTrimToolResults(trim).build();
  }

  /**
   * Applies several strategies, each to the result of the one before it; a recursive summary at most once, and last.
   *
   * @param steps the strategies
   * @return the strategy
   */
  public static CompactionStrategy pipeline(CompactionStrategy... steps) {
    return CompactionStrategy.newBuilder().setPipeline(StrategyPipeline.newBuilder().addAllSteps(Arrays.asList(steps))).build();
  }

  /**
   * Has an HTTP endpoint plan.
   *
   * @param name a webhook of the server's configuration
   * @return the strategy
   */
  public static CompactionStrategy webhook(String name) {
    return CompactionStrategy.newBuilder().setWebhook(WebhookStrategy.newBuilder().setName(name)).build();
  }

  /**
   * Has the members of a named consumer compact, in a policy. A change that requests it has {@code getCompactionDue}.
   *
   * @param consumer name of the consumer
   * @return the strategy
   */
  public static CompactionStrategy compactedBy(String consumer) {
    return CompactionStrategy.newBuilder().setConsumer(ConsumerStrategy.newBuilder().setName(consumer)).build();
  }
}
