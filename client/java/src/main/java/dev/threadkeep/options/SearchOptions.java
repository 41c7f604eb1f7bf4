package dev.threadkeep.options;

import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.v1.HitGrouping;
import dev.threadkeep.v1.SearchEventsRequest;
import dev.threadkeep.v1.SearchMode;
import dev.threadkeep.v1.SessionRef;
import java.util.function.Consumer;

/** Options of searching events. */
public final class SearchOptions extends Scoped<SearchOptions> {
  private final SearchEventsRequest.Builder request = SearchEventsRequest.newBuilder();

  /** Creates options without a setting. */
  public SearchOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public SearchOptions with(Consumer<SearchEventsRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Covers only events that match. Default: all.
   *
   * @param value the filter
   * @return these options
   */
  public SearchOptions filter(EventFilters value) {
    request.setFilter(value.build());
    return this;
  }

  /**
   * Sets how to search. Default: the server chooses. Hits come best first; with SUBSTRING oldest first.
   *
   * @param value the mode
   * @return these options
   */
  public SearchOptions mode(SearchMode value) {
    request.setMode(value);
    return this;
  }

  /**
   * Returns events around each hit. Default: none.
   *
   * @param count number of events before, and after
   * @return these options
   */
  public SearchOptions neighbors(int count) {
    request.setNeighbors(count);
    return this;
  }

  /**
   * Returns each event once per page: a neighbor of a better hit is no hit as well. Default: false.
   *
   * @param value whether each event is returned once
   * @return these options
   */
  public SearchOptions distinct(boolean value) {
    request.setDistinct(value);
    return this;
  }

  /**
   * Returns the best hit of each turn, or of each session.
   *
   * @param value the groups
   * @return these options
   */
  public SearchOptions grouping(HitGrouping value) {
    request.setGrouping(value);
    return this;
  }

  /**
   * Leaves out hits with a lower score.
   *
   * @param score lowest score
   * @return these options
   */
  public SearchOptions minScore(double score) {
    request.setMinScore(score);
    return this;
  }

  /**
   * Sets the maximum number of items per page.
   *
   * @param items size; 0 means the server's default
   * @return these options
   */
  public SearchOptions pageSize(int items) {
    request.setPageSize(items);
    return this;
  }

  /**
   * Starts at this page, with otherwise the same options.
   *
   * @param token next_page_token of the page before it
   * @return these options
   */
  public SearchOptions pageToken(String token) {
    request.setPageToken(token);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param query the query
   * @param owner app and user of the client
   * @return the request
   */
  public SearchEventsRequest request(String query, SessionRef owner) {
    return scoped(request.setQuery(query).build(), owner);
  }

  /**
   * Returns the request of a search in one session; the SDK calls it.
   *
   * @param query the query
   * @param session the session
   * @return the request
   */
  public SearchEventsRequest ofSession(String query, SessionRef session) {
    return request.setQuery(query).setSession(session).build();
  }
}
