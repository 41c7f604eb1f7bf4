package dev.threadkeep.history;

import com.google.protobuf.Message;

/**
 * A point in the history of a session. If a compaction or a removal stored the event of a point, all of that change belongs to
 * the point.
 */
public final class Point {
  private final String field;
  private final Object value;

  private Point(String field, Object value) {
    this.field = field;
    this.value = value;
  }

  /**
   * Returns the point of an event.
   *
   * @param seq its seq, at least 1
   * @return the point
   */
  public static Point seq(long seq) {
    return new Point("at_seq", seq);
  }

  /**
   * Returns the point of an event.
   *
   * @param eventId its id
   * @return the point
   */
  public static Point event(String eventId) {
    return new Point("at_event_id", eventId);
  }

  /**
   * Returns the end of an invocation, which is its last event.
   *
   * @param invocationId its invocation id
   * @return the point
   */
  public static Point invocation(String invocationId) {
    return new Point("at_invocation_id", invocationId);
  }

  /**
   * Returns the moment directly after the change that gave the session a log version.
   *
   * @param version the log version; 0 is the empty log
   * @return the point
   */
  public static Point logVersion(long version) {
    return new Point("at_log_version", version);
  }

  /**
   * Sets the point of a request; the SDK calls it.
   *
   * @param request a request of ForkSession or RewindSession
   */
  public void set(Message.Builder request) {
    request.setField(request.getDescriptorForType().findFieldByName(field), value);
  }

  @Override
  public String toString() {
    return field + " " + value;
  }
}
