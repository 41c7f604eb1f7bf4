package dev.threadkeep.options;

import dev.threadkeep.internal.RetryPolicy;
import java.time.Duration;

/** Options of retries: of calls that are safe to repeat, while the server is unavailable. Watches and consumers resume without limit. */
public final class RetryOptions {
  private int attempts = 5;
  private Duration first = Duration.ofMillis(100);
  private Duration longest = Duration.ofSeconds(2);

  /** Creates options without a setting. */
  public RetryOptions() {}

  /**
   * Sets the maximum number of attempts. Default: 5.
   *
   * @param most number of attempts; 1 retries nothing
   * @return these options
   */
  public RetryOptions maxAttempts(int most) {
    if (most < 1) {
      throw new IllegalArgumentException("maxAttempts must be at least 1");
    }
    this.attempts = most;
    return this;
  }

  /**
   * Sets the pauses between two attempts; each is twice as long as the one before it. Default: 0.1 to 2 seconds.
   *
   * @param first the first pause
   * @param longest the longest pause
   * @return these options
   */
  public RetryOptions pauses(Duration first, Duration longest) {
    this.first = first;
    this.longest = longest;
    return this;
  }

  /**
   * Returns the policy; the SDK calls it.
   *
   * @return the policy
   */
  public RetryPolicy policy() {
    return new RetryPolicy(attempts, first, longest);
  }
}
