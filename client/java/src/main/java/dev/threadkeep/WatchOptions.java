package dev.threadkeep;

import java.util.OptionalInt;

/**
 * What a watch hands out, and what it bears: {@code WatchOptions.DEFAULT.withCheckpoints()}.
 *
 * @param checkpoints hand out checkpoints too; then the first is STARTED, which says that nothing that is committed later is missed
 * @param maxRetries how many failures in a row are borne; empty is any number
 */
public record WatchOptions(boolean checkpoints, OptionalInt maxRetries) {
  /** Without checkpoints, for ever. */
  public static final WatchOptions DEFAULT = new WatchOptions(false, OptionalInt.empty());

  /**
   * Hands out checkpoints too.
   *
   * @return these options and this
   */
  public WatchOptions withCheckpoints() {
    return new WatchOptions(true, maxRetries);
  }

  /**
   * Ends the watch after so many failures in a row.
   *
   * @param most failures that are borne, at least 0
   * @return these options and this
   * @throws IllegalArgumentException if it is negative
   */
  public WatchOptions withMaxRetries(int most) {
    if (most < 0) {
      throw new IllegalArgumentException("maxRetries must be at least 0");
    }
    return new WatchOptions(checkpoints, OptionalInt.of(most));
  }
}
