package dev.threadkeep.options;

import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.v1.ChangeScope;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.WatchAllRequest;
import dev.threadkeep.v1.WatchSessionRequest;
import java.util.OptionalInt;

/** Options of a watch. Labels, app and user have no effect on the watch of one session. */
public final class WatchOptions extends Scoped<WatchOptions> {
  private final ChangeScope.Builder scope = ChangeScope.newBuilder();
  private Start start = Start.now();
  private EventFilters filter;
  private boolean checkpoints;
  private int maxRetries = -1;

  /** Creates options without a setting. */
  public WatchOptions() {}

  /**
   * Sets the start. Default: changes committed from now on.
   *
   * @param value the start
   * @return these options
   */
  public WatchOptions from(Start value) {
    this.start = value;
    return this;
  }

  /**
   * Delivers only events that match; lastN and page are not allowed. Default: all.
   *
   * @param value the filter
   * @return these options
   */
  public WatchOptions filter(EventFilters value) {
    this.filter = value;
    return this;
  }

  /**
   * Watches only sessions with this label; several labels must all be there.
   *
   * @param key name of the label
   * @param value its value
   * @return these options
   */
  public WatchOptions label(String key, String value) {
    scope.putLabels(key, value);
    return this;
  }

  /**
   * Delivers checkpoints too. The first one is STARTED, which confirms that no change committed later is missed.
   *
   * @return these options
   */
  public WatchOptions checkpoints() {
    this.checkpoints = true;
    return this;
  }

  /**
   * Limits the number of consecutive failures. Default: any number.
   *
   * @param most maximum, at least 0
   * @return these options
   */
  public WatchOptions maxRetries(int most) {
    if (most < 0) {
      throw new IllegalArgumentException("maxRetries must be at least 0");
    }
    this.maxRetries = most;
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param session the session
   * @return the request
   */
  public WatchSessionRequest ofSession(SessionRef session) {
    var request = WatchSessionRequest.newBuilder().setSession(session);
    if (filter != null) {
      request.setFilter(filter.build());
    }
    if (start instanceof Start.Beginning) {
      request.setAfterSeq(0);
    } else if (start instanceof Start.AfterSeq after) {
      request.setAfterSeq(after.seq());
    } else if (start instanceof Start.Token token) {
      request.setResumeToken(token.resumeToken());
    }
    return request.build();
  }

  /**
   * Returns the request of a watch of all sessions; the SDK calls it.
   *
   * @param owner app and user of the client
   * @return the request
   * @throws IllegalArgumentException for a start after a seq
   */
  public WatchAllRequest ofAll(SessionRef owner) {
    var request = WatchAllRequest.newBuilder().setScope(scoped(scope.build(), owner));
    if (filter != null) {
      request.setFilter(filter.build());
    }
    if (start instanceof Start.AfterSeq) {
      throw new IllegalArgumentException("a start after a seq requires a session");
    } else if (start instanceof Start.Beginning) {
      request.setFromBeginning(true);
    } else if (start instanceof Start.Token token) {
      request.setResumeToken(token.resumeToken());
    }
    return request.build();
  }

  /**
   * Returns whether checkpoints are delivered; the SDK calls it.
   *
   * @return true if they are
   */
  public boolean deliversCheckpoints() {
    return checkpoints;
  }

  /**
   * Returns the maximum number of consecutive failures; the SDK calls it.
   *
   * @return the number, empty for any number
   */
  public OptionalInt retries() {
    return maxRetries < 0 ? OptionalInt.empty() : OptionalInt.of(maxRetries);
  }
}
