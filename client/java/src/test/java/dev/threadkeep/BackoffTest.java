package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Duration;
import com.google.rpc.RetryInfo;
import dev.threadkeep.internal.Backoff;
import dev.threadkeep.internal.Errors;
import io.grpc.Status;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

class BackoffTest {
  private static final ThreadkeepException AWAY = Errors.of(Status.Code.UNAVAILABLE, "away");
  private static final ThreadkeepException FULL =
      ThreadkeepException.from(
          FakeServer.error(
              Status.Code.RESOURCE_EXHAUSTED, "full", RetryInfo.newBuilder().setRetryDelay(Duration.newBuilder().setSeconds(2)).build()));

  /** Returns the largest allowed value. */
  private static final class Highest implements RandomGenerator {
    @Override
    public long nextLong() {
      return Long.MAX_VALUE;
    }

    @Override
    public long nextLong(long bound) {
      return bound - 1;
    }
  }

  private static Backoff backoff(OptionalInt maxRetries) {
    return new Backoff(maxRetries, new Highest());
  }

  @Test
  void boundDoublesUpToFiveSecondsAndIsReset() {
    var backoff = backoff(OptionalInt.empty());
    for (long millis : new long[] {100, 200, 400, 800, 1600, 3200, 5000, 5000}) {
      assertEquals(millis, backoff.pause(AWAY).orElseThrow().toMillis());
    }
    for (int n = 0; n < 100; n++) {
      assertEquals(5000, backoff.pause(AWAY).orElseThrow().toMillis());
    }
    backoff.reset();
    assertEquals(100, backoff.pause(AWAY).orElseThrow().toMillis());
  }

  @Test
  void jitterIsFull() {
    var random = new java.util.SplittableRandom(7);
    long least = Long.MAX_VALUE;
    for (int n = 0; n < 200; n++) {
      long nanos = new Backoff(OptionalInt.empty(), random).pause(AWAY).orElseThrow().toNanos();
      assertTrue(nanos <= 100_000_000);
      least = Math.min(least, nanos);
    }
    assertTrue(least < 10_000_000, "the shortest of 200 pauses: " + least);
  }

  @Test
  void retryDelayIsAdded() {
    assertEquals(2100, backoff(OptionalInt.empty()).pause(FULL).orElseThrow().toMillis());
  }

  @Test
  void otherErrorsAreNotRetried() {
    var lost = Errors.of(Status.Code.OUT_OF_RANGE, "expired");
    assertEquals(Optional.empty(), backoff(OptionalInt.empty()).pause(lost));
  }

  @Test
  void consecutiveFailuresAreLimited() {
    var backoff = backoff(OptionalInt.of(2));
    backoff.pause(AWAY);
    backoff.pause(AWAY);
    assertEquals(Optional.empty(), backoff.pause(AWAY));
    backoff.reset();
    assertTrue(backoff.pause(AWAY).isPresent());
    assertEquals(Optional.empty(), backoff(OptionalInt.of(0)).pause(AWAY));
  }
}
