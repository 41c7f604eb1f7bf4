package dev.threadkeep.internal;

import com.google.protobuf.Timestamp;
import java.time.Duration;
import java.time.Instant;

/** Conversions to messages. */
public final class Protos {
  private Protos() {}

  /**
   * Converts a duration.
   *
   * @param value the duration
   * @return the message
   */
  public static com.google.protobuf.Duration duration(Duration value) {
    return com.google.protobuf.Duration.newBuilder().setSeconds(value.getSeconds()).setNanos(value.getNano()).build();
  }

  /**
   * Converts a time.
   *
   * @param value the time
   * @return the message
   */
  public static Timestamp timestamp(Instant value) {
    return Timestamp.newBuilder().setSeconds(value.getEpochSecond()).setNanos(value.getNano()).build();
  }
}
