package dev.threadkeep.internal;

import dev.threadkeep.ThreadkeepException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.random.RandomGenerator;

/** Exponential backoff with full jitter, so that clients of one server do not reconnect at once. */
public final class Backoff {
  /** The upper bound of the first pause; doubles with each consecutive failure. */
  private static final Duration FIRST = Duration.ofMillis(100);

  /** The maximum of the upper bound. */
  private static final Duration LONGEST = Duration.ofSeconds(5);

  private static final int DOUBLINGS = 10;

  private final OptionalInt maxRetries;
  private final RandomGenerator random;
  private int failures;

  /** Allows this many consecutive failures; empty means any number. */
  public Backoff(OptionalInt maxRetries, RandomGenerator random) {
    this.maxRetries = maxRetries;
    this.random = random;
  }

  /** Resets the count of consecutive failures; called when the stream delivers. */
  public void reset() {
    failures = 0;
  }

  /**
   * Returns the pause after this failure, at least the server's retry delay. Empty if a retry cannot succeed or the maximum is
   * reached.
   */
  public Optional<Duration> pause(ThreadkeepException error) {
    if (!error.isTransient() || failures >= maxRetries.orElse(Integer.MAX_VALUE)) {
      return Optional.empty();
    }
    long longest = Math.min(LONGEST.toNanos(), FIRST.toNanos() << Math.min(failures, DOUBLINGS));
    failures++;
    return Optional.of(error.retryAfter().orElse(Duration.ZERO).plusNanos(random.nextLong(longest + 1)));
  }
}
