package dev.threadkeep;

import java.util.OptionalInt;

/**
 * Options of a watch: {@code WatchOptions.DEFAULT.withCheckpoints()}.
 *
 * @param checkpoints delivers checkpoints too; the first one is STARTED, which confirms that no change committed later is
 * missed
 * @param maxRetries maximum number of consecutive failures; empty means any number
 */
public record WatchOptions(boolean checkpoints, OptionalInt maxRetries) {
  /** No checkpoints and no limit of failures. */
  public static final WatchOptions DEFAULT = new WatchOptions(false, OptionalInt.empty());

  /**
   * Delivers checkpoints too.
   *
   * @return these options with this one added
   */
  public WatchOptions withCheckpoints() {
    return new WatchOptions(true, maxRetries);
  }

  /**
   * Limits the number of consecutive failures.
   *
   * @param most maximum number of consecutive failures, at least 0
   * @return these options with this one added
   * @throws IllegalArgumentException if it is negative
   */
  public WatchOptions withMaxRetries(int most) {
    if (most < 0) {
      throw new IllegalArgumentException("maxRetries must be at least 0");
    }
    return new WatchOptions(checkpoints, OptionalInt.of(most));
  }
}
