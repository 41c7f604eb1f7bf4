package dev.recollect;

import dev.recollect.v1.ChangeScope;
import dev.recollect.v1.EventFilter;
import dev.recollect.v1.SessionRef;
import dev.recollect.v1.WatchAllRequest;
import dev.recollect.v1.WatchSessionRequest;
import java.util.Objects;
import java.util.OptionalInt;

/** Where a watch starts, and what it hands out. Immutable. */
public final class WatchOptions {
  /** What is committed from now on, without checkpoints, for ever. */
  public static final WatchOptions LIVE = builder().build();

  private final String resumeToken;
  private final Long afterSeq;
  private final boolean fromBeginning;
  private final EventFilter filter;
  private final boolean checkpoints;
  private final OptionalInt maxRetries;

  private WatchOptions(Builder set) {
    this.resumeToken = set.resumeToken;
    this.afterSeq = set.afterSeq;
    this.fromBeginning = set.fromBeginning;
    this.filter = set.filter;
    this.checkpoints = set.checkpoints;
    this.maxRetries = set.maxRetries;
  }

  /**
   * Options to set.
   *
   * @return a new builder, with nothing set
   */
  public static Builder builder() {
    return new Builder();
  }

  boolean checkpoints() {
    return checkpoints;
  }

  OptionalInt maxRetries() {
    return maxRetries;
  }

  /** The request that follows a session, or goes on after a token if there is one. */
  WatchSessionRequest request(SessionRef session, String token) {
    var request = WatchSessionRequest.newBuilder().setSession(session);
    if (filter != null) {
      request.setFilter(filter);
    }
    if (!token.isEmpty()) {
      return request.setResumeToken(token).build();
    }
    if (resumeToken != null) {
      request.setResumeToken(resumeToken);
    } else if (afterSeq != null || fromBeginning) {
      request.setAfterSeq(afterSeq == null ? 0 : afterSeq);
    } else {
      request.setLiveOnly(true);
    }
    return request.build();
  }

  /** The request that follows all sessions of a scope, or goes on after a token if there is one. */
  WatchAllRequest request(ChangeScope scope, String token) {
    if (afterSeq != null) {
      throw new IllegalArgumentException("afterSeq is a place in one session: watch a session");
    }
    var request = WatchAllRequest.newBuilder().setScope(scope);
    if (filter != null) {
      request.setFilter(filter);
    }
    if (!token.isEmpty()) {
      return request.setResumeToken(token).build();
    }
    if (resumeToken != null) {
      request.setResumeToken(resumeToken);
    } else if (fromBeginning) {
      request.setFromBeginning(true);
    } else {
      request.setLiveOnly(true);
    }
    return request.build();
  }

  /** Sets options. At most one of resumeToken, afterSeq and fromBeginning. */
  public static final class Builder {
    private String resumeToken;
    private Long afterSeq;
    private boolean fromBeginning;
    private EventFilter filter;
    private boolean checkpoints;
    private OptionalInt maxRetries = OptionalInt.empty();

    private Builder() {}

    /**
     * Starts after the change that bore this token, with the same scope and filter.
     *
     * @param token a change's resume_token, kept once the change was handled
     * @return this builder
     */
    public Builder resumeToken(String token) {
      this.resumeToken = Objects.requireNonNull(token, "token");
      return this;
    }

    /**
     * Starts, in one session, with what comes after this event.
     *
     * @param seq the event's seq; 0 is from the beginning
     * @return this builder
     */
    public Builder afterSeq(long seq) {
      this.afterSeq = seq;
      return this;
    }

    /**
     * Starts at the beginning: of the session, or of the feed as far as it reaches back.
     *
     * @return this builder
     */
    public Builder fromBeginning() {
      this.fromBeginning = true;
      return this;
    }

    /**
     * Delivers these events only; an append of which nothing is left is not told.
     *
     * @param filter which events, without a window
     * @return this builder
     */
    public Builder filter(EventFilter filter) {
      this.filter = Objects.requireNonNull(filter, "filter");
      return this;
    }

    /**
     * Hands out checkpoints too. Then the first is STARTED, which says that nothing that is committed later will be missed.
     *
     * @return this builder
     */
    public Builder checkpoints() {
      this.checkpoints = true;
      return this;
    }

    /**
     * Ends the watch after so many failures in a row.
     *
     * @param maxRetries failures that are borne, at least 0; by default any number
     * @return this builder
     */
    public Builder maxRetries(int maxRetries) {
      if (maxRetries < 0) {
        throw new IllegalArgumentException("maxRetries must be at least 0");
      }
      this.maxRetries = OptionalInt.of(maxRetries);
      return this;
    }

    /**
     * The options as they are now.
     *
     * @return immutable options
     * @throws IllegalArgumentException if several places to start at were given
     */
    public WatchOptions build() {
      int places = (resumeToken == null ? 0 : 1) + (afterSeq == null ? 0 : 1) + (fromBeginning ? 1 : 0);
      if (places > 1) {
        throw new IllegalArgumentException("give at most one of resumeToken, afterSeq and fromBeginning");
      }
      return new WatchOptions(this);
    }
  }
}
