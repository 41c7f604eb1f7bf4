package dev.threadkeep.options;

import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.v1.ListEventsRequest;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.SortOrder;
import java.util.function.Consumer;

/** Options of listing events. */
public final class EventsOptions {
  private final ListEventsRequest.Builder request = ListEventsRequest.newBuilder();

  /** Creates options without a setting. */
  public EventsOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public EventsOptions with(Consumer<ListEventsRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Covers only events that match. Default: all.
   *
   * @param value the filter
   * @return these options
   */
  public EventsOptions filter(EventFilters value) {
    request.setFilter(value.build());
    return this;
  }

  /**
   * Reads as of the moment after the append or compaction that stored an event. Reasons: HISTORY_UNKNOWN.
   *
   * @param seq seq of the event, at least 1
   * @return these options
   */
  public EventsOptions asOfSeq(long seq) {
    request.setAsOfSeq(seq);
    return this;
  }

  /**
   * Reads as of the moment after the change that gave the session a log version. Reasons: HISTORY_UNKNOWN.
   *
   * @param version the log version; 0 is the empty log
   * @return these options
   */
  public EventsOptions asOfLogVersion(long version) {
    request.setAsOfLogVersion(version);
    return this;
  }

  /**
   * Lists the newest first. Default: the oldest.
   *
   * @return these options
   */
  public EventsOptions newestFirst() {
    request.setOrder(SortOrder.SORT_ORDER_DESCENDING);
    return this;
  }

  /**
   * Sets the maximum number of items per page.
   *
   * @param items size; 0 means the server's default
   * @return these options
   */
  public EventsOptions pageSize(int items) {
    request.setPageSize(items);
    return this;
  }

  /**
   * Starts at this page, with otherwise the same options.
   *
   * @param token next_page_token of the page before it
   * @return these options
   */
  public EventsOptions pageToken(String token) {
    request.setPageToken(token);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param session the session
   * @return the request
   */
  public ListEventsRequest request(SessionRef session) {
    return request.setSession(session).build();
  }
}
