package dev.recollect;

import dev.recollect.v1.AppendEventsRequest;
import dev.recollect.v1.AppendEventsRequest.PreconditionCase;
import dev.recollect.v1.CreateIfMissing;
import dev.recollect.v1.IfExists;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;

/** What an append may be told beside its events. Immutable. */
public final class AppendOptions {
  /** Nothing: the session must exist, no precondition, the client's timeout. */
  public static final AppendOptions NONE = builder().build();

  private final AppendEventsRequest request;
  private final Duration timeout;

  private AppendOptions(Builder builder) {
    this.request = builder.request.build();
    this.timeout = builder.timeout;
  }

  /**
   * Options to set.
   *
   * @return a new builder, with nothing set
   */
  public static Builder builder() {
    return new Builder();
  }

  AppendEventsRequest.Builder request() {
    return request.toBuilder();
  }

  Optional<Duration> timeout() {
    return Optional.ofNullable(timeout);
  }

  /** Sets options. */
  public static final class Builder {
    private final AppendEventsRequest.Builder request = AppendEventsRequest.newBuilder();
    private Duration timeout;

    private Builder() {}

    /**
     * Creates the session, in the same commit, if it does not exist.
     *
     * @return this builder
     */
    public Builder create() {
      return create(CreateIfMissing.getDefaultInstance());
    }

    /**
     * Creates the session like this, in the same commit, if it does not exist.
     *
     * @param how its expiry, metadata and labels; what is not set is the server's default
     * @return this builder
     */
    public Builder create(CreateIfMissing how) {
      request.setCreateIfMissing(how);
      return this;
    }

    /**
     * Appends only if nothing happened since; else VERSION_MISMATCH.
     *
     * @param logVersion the session's log_version that the caller last saw
     * @return this builder
     * @throws IllegalArgumentException if expectedLastEventId is given too
     */
    public Builder expectedLogVersion(long logVersion) {
      checkPrecondition(PreconditionCase.EXPECTED_LOG_VERSION);
      request.setExpectedLogVersion(logVersion);
      return this;
    }

    /**
     * Appends only if the log still ends with this event; else VERSION_MISMATCH.
     *
     * @param eventId the id of the last event that the caller saw; empty for an empty log
     * @return this builder
     * @throws IllegalArgumentException if expectedLogVersion is given too
     */
    public Builder expectedLastEventId(String eventId) {
      checkPrecondition(PreconditionCase.EXPECTED_LAST_EVENT_ID);
      request.setExpectedLastEventId(eventId);
      return this;
    }

    /**
     * An id that is stored already is no error, whatever its content; by default other content is EVENT_ID_CONFLICT.
     *
     * @return this builder
     */
    public Builder ignoreExisting() {
      request.setIfExists(IfExists.IF_EXISTS_IGNORE);
      return this;
    }

    /**
     * Limits this append.
     *
     * @param timeout how long it may take, its retries included; by default the client's
     * @return this builder
     */
    public Builder timeout(Duration timeout) {
      this.timeout = Objects.requireNonNull(timeout, "timeout");
      return this;
    }

    /**
     * The options as they are now.
     *
     * @return immutable options
     */
    public AppendOptions build() {
      return new AppendOptions(this);
    }

    private void checkPrecondition(PreconditionCase wanted) {
      PreconditionCase given = request.getPreconditionCase();
      if (given != PreconditionCase.PRECONDITION_NOT_SET && given != wanted) {
        throw new IllegalArgumentException("give at most one of expectedLogVersion and expectedLastEventId");
      }
    }
  }
}
