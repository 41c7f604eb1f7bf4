package dev.threadkeep.internal;

import com.google.protobuf.Message;
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

  /**
   * Returns a request that continues where a token says.
   *
   * @param <Q> type of the request
   * @param request the request
   * @param field name of the field of the token
   * @param token resume token or page token
   * @return the request with the token; unchanged for an empty token
   */
  @SuppressWarnings("unchecked") // build() returns the type of the message
  public static <Q extends Message> Q from(Q request, String field, String token) {
    var name = request.getDescriptorForType().findFieldByName(field);
    return token.isEmpty() ? request : (Q) request.toBuilder().setField(name, token).build();
  }
}
