package dev.threadkeep.options;

import dev.threadkeep.v1.AppendEventsRequest;

/** What the caller expects of the log. An append to another log fails with VERSION_MISMATCH. */
public sealed interface Expect {
  /**
   * Expects the log to be at this version.
   *
   * @param version log_version of the session that the caller last read
   * @return the expectation
   */
  static Expect logVersion(long version) {
    return new LogVersion(version);
  }

  /**
   * Expects the log to end with this event.
   *
   * @param eventId id of the last event that the caller read; empty for an empty log
   * @return the expectation
   */
  static Expect lastEventId(String eventId) {
    return new LastEventId(eventId);
  }

  /**
   * Sets the precondition of a request; the SDK calls it.
   *
   * @param request the request
   */
  void set(AppendEventsRequest.Builder request);

  /**
   * The log is at this version.
   *
   * @param version log_version of the session
   */
  record LogVersion(long version) implements Expect {
    @Override
    public void set(AppendEventsRequest.Builder request) {
      request.setExpectedLogVersion(version);
    }
  }

  /**
   * The log ends with this event.
   *
   * @param eventId id of the event; empty for an empty log
   */
  record LastEventId(String eventId) implements Expect {
    @Override
    public void set(AppendEventsRequest.Builder request) {
      request.setExpectedLastEventId(eventId);
    }
  }
}
