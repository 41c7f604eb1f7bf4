package dev.threadkeep.options;

import dev.threadkeep.internal.Protos;
import dev.threadkeep.v1.ListSessionsRequest;
import dev.threadkeep.v1.SessionOrder;
import dev.threadkeep.v1.SessionRef;
import java.time.Instant;
import java.util.function.Consumer;

/** Options of listing sessions. */
public final class SessionsOptions extends Scoped<SessionsOptions> {
  private final ListSessionsRequest.Builder request = ListSessionsRequest.newBuilder();

  /** Creates options without a setting. */
  public SessionsOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public SessionsOptions with(Consumer<ListSessionsRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Covers only sessions with this label; several labels must all be there. At most 64.
   *
   * @param key name of the label
   * @param value its value
   * @return these options
   */
  public SessionsOptions label(String key, String value) {
    request.putLabels(key, value);
    return this;
  }

  /**
   * Sets the order. Default: by create_time, the latest first.
   *
   * @param order the order
   * @return these options
   */
  public SessionsOptions orderBy(SessionOrder order) {
    request.setOrderBy(order);
    return this;
  }

  /**
   * Keeps only sessions that were updated after this time.
   *
   * @param time the time
   * @return these options
   */
  public SessionsOptions updatedAfter(Instant time) {
    request.setUpdatedAfter(Protos.timestamp(time));
    return this;
  }

  /**
   * Keeps only sessions that were updated before this time.
   *
   * @param time the time
   * @return these options
   */
  public SessionsOptions updatedBefore(Instant time) {
    request.setUpdatedBefore(Protos.timestamp(time));
    return this;
  }

  /**
   * Keeps only sessions whose id begins like this.
   *
   * @param prefix beginning of the ids
   * @return these options
   */
  public SessionsOptions sessionIdPrefix(String prefix) {
    request.setSessionIdPrefix(prefix);
    return this;
  }

  /**
   * Skips sessions, for pages by number.
   *
   * @param sessions number of sessions, at most 10,000
   * @return these options
   */
  public SessionsOptions offset(int sessions) {
    request.setOffset(sessions);
    return this;
  }

  /**
   * Returns the number of all sessions with the page, counted up to 10,001.
   *
   * @return these options
   */
  public SessionsOptions withTotal() {
    request.setWithTotal(true);
    return this;
  }

  /**
   * Returns the last event of each session with the page.
   *
   * @return these options
   */
  public SessionsOptions withNewestEvent() {
    request.setWithNewestEvent(true);
    return this;
  }

  /**
   * Returns the sessions' own states with the page, in the order of the sessions: each whole, or with more and no values if it does
   * not fit. Together they have at most a quarter of the server's longest response.
   *
   * @return these options
   */
  public SessionsOptions withState() {
    request.setWithState(true);
    return this;
  }

  /**
   * Keeps only the forks of a session.
   *
   * @param sessionId its id; it may be deleted
   * @return these options
   */
  public SessionsOptions forkedFrom(String sessionId) {
    request.setForkedFrom(sessionId);
    return this;
  }

  /**
   * Sets the maximum number of items per page.
   *
   * @param items size; 0 means the server's default
   * @return these options
   */
  public SessionsOptions pageSize(int items) {
    request.setPageSize(items);
    return this;
  }

  /**
   * Starts at this page, with otherwise the same options.
   *
   * @param token next_page_token of the page before it
   * @return these options
   */
  public SessionsOptions pageToken(String token) {
    request.setPageToken(token);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param owner app and user of the client
   * @return the request
   */
  public ListSessionsRequest request(SessionRef owner) {
    return scoped(request.build(), owner);
  }
}
