package dev.threadkeep;

import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.AppendEventsRequest.PreconditionCase;
import dev.threadkeep.v1.CreateIfMissing;
import dev.threadkeep.v1.IfExists;

/** Options of an append: {@code AppendOptions.NONE.create().ignoreExisting()}. Immutable. */
public final class AppendOptions {
  /** No options: the session must exist, and there is no precondition. */
  public static final AppendOptions NONE = new AppendOptions(AppendEventsRequest.newBuilder());

  private final AppendEventsRequest request;

  private AppendOptions(AppendEventsRequest.Builder request) {
    this.request = request.build();
  }

  /** The request to complete. */
  AppendEventsRequest.Builder request() {
    return request.toBuilder();
  }

  /**
   * Creates the session in the same commit if it does not exist.
   *
   * @return these options with this one added
   */
  public AppendOptions create() {
    return create(CreateIfMissing.getDefaultInstance());
  }

  /**
   * Creates the session with these properties in the same commit if it does not exist.
   *
   * @param how expiry, metadata and labels; the server's defaults apply to those that are not set
   * @return these options with this one added
   */
  public AppendOptions create(CreateIfMissing how) {
    return new AppendOptions(request().setCreateIfMissing(how));
  }

  /**
   * Requires the log to be at this version; otherwise the append fails with VERSION_MISMATCH.
   *
   * @param logVersion log_version of the session that the caller last read
   * @return these options with this one added
   * @throws IllegalArgumentException if expectedLastEventId is also set
   */
  public AppendOptions expectedLogVersion(long logVersion) {
    return new AppendOptions(unless(PreconditionCase.EXPECTED_LAST_EVENT_ID).setExpectedLogVersion(logVersion));
  }

  /**
   * Requires the log to end with this event; otherwise the append fails with VERSION_MISMATCH.
   *
   * @param eventId id of the last event that the caller read; empty for an empty log
   * @return these options with this one added
   * @throws IllegalArgumentException if expectedLogVersion is also set
   */
  public AppendOptions expectedLastEventId(String eventId) {
    return new AppendOptions(unless(PreconditionCase.EXPECTED_LOG_VERSION).setExpectedLastEventId(eventId));
  }

  /**
   * Accepts event ids that are already stored, regardless of the content; by default different content is EVENT_ID_CONFLICT.
   *
   * @return these options with this one added
   */
  public AppendOptions ignoreExisting() {
    return new AppendOptions(request().setIfExists(IfExists.IF_EXISTS_IGNORE));
  }

  private AppendEventsRequest.Builder unless(PreconditionCase other) {
    if (request.getPreconditionCase() == other) {
      throw new IllegalArgumentException("set at most one of expectedLogVersion and expectedLastEventId");
    }
    return request();
  }
}
