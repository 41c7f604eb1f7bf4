package dev.threadkeep;

import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.AppendEventsRequest.PreconditionCase;
import dev.threadkeep.v1.CreateIfMissing;
import dev.threadkeep.v1.IfExists;

/** What an append may be told beside its events: {@code AppendOptions.NONE.create().ignoreExisting()}. Immutable. */
public final class AppendOptions {
  /** Nothing: the session must exist, no precondition. */
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
   * Creates the session, in the same commit, if it does not exist.
   *
   * @return these options and this
   */
  public AppendOptions create() {
    return create(CreateIfMissing.getDefaultInstance());
  }

  /**
   * Creates the session like this, in the same commit, if it does not exist.
   *
   * @param how its expiry, metadata and labels; what is not set is the server's default
   * @return these options and this
   */
  public AppendOptions create(CreateIfMissing how) {
    return new AppendOptions(request().setCreateIfMissing(how));
  }

  /**
   * Appends only if nothing happened since; else VERSION_MISMATCH.
   *
   * @param logVersion the session's log_version that the caller last saw
   * @return these options and this
   * @throws IllegalArgumentException if expectedLastEventId is given too
   */
  public AppendOptions expectedLogVersion(long logVersion) {
    return new AppendOptions(unless(PreconditionCase.EXPECTED_LAST_EVENT_ID).setExpectedLogVersion(logVersion));
  }

  /**
   * Appends only if the log still ends with this event; else VERSION_MISMATCH.
   *
   * @param eventId the id of the last event that the caller saw; empty for an empty log
   * @return these options and this
   * @throws IllegalArgumentException if expectedLogVersion is given too
   */
  public AppendOptions expectedLastEventId(String eventId) {
    return new AppendOptions(unless(PreconditionCase.EXPECTED_LOG_VERSION).setExpectedLastEventId(eventId));
  }

  /**
   * An id that is stored already is no error, whatever its content; by default other content is EVENT_ID_CONFLICT.
   *
   * @return these options and this
   */
  public AppendOptions ignoreExisting() {
    return new AppendOptions(request().setIfExists(IfExists.IF_EXISTS_IGNORE));
  }

  private AppendEventsRequest.Builder unless(PreconditionCase other) {
    if (request.getPreconditionCase() == other) {
      throw new IllegalArgumentException("give at most one of expectedLogVersion and expectedLastEventId");
    }
    return request();
  }
}
