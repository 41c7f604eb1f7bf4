package dev.threadkeep;

import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.random.RandomGenerator;

/** Exponential backoff with full jitter, so that clients that lost one server do not come back all at once. */
final class Backoff {
  /** The upper bound of the first pause, which doubles with every failure in a row. */
  private static final Duration FIRST = Duration.ofMillis(100);

  /** Where the upper bound stays. */
  private static final Duration LONGEST = Duration.ofSeconds(5);

  private static final int DOUBLINGS = 10;

  private final OptionalInt maxRetries;
  private final RandomGenerator random;
  private int failures;

  /** With this many failures in a row that are borne; empty means any number. */
  Backoff(OptionalInt maxRetries, RandomGenerator random) {
    this.maxRetries = maxRetries;
    this.random = random;
  }

  /** The stream is alive: the failures before it no longer count. */
  void reset() {
    failures = 0;
  }

  /** How long to wait after this failure, at least what the server asked for. Empty if no retry can mend it, or was one too many. */
  Optional<Duration> pause(ThreadkeepException error) {
    boolean mendable = error.code() == Status.Code.UNAVAILABLE || error.retryAfter().isPresent();
    if (!mendable || failures >= maxRetries.orElse(Integer.MAX_VALUE)) {
      return Optional.empty();
    }
    long longest = Math.min(LONGEST.toNanos(), FIRST.toNanos() << Math.min(failures, DOUBLINGS));
    failures++;
    return Optional.of(error.retryAfter().orElse(Duration.ZERO).plusNanos(random.nextLong(longest + 1)));
  }
}
