package dev.threadkeep.options;

import dev.threadkeep.v1.MemoryFilter;
import dev.threadkeep.v1.MemoryScope;
import dev.threadkeep.v1.SearchMemoryRequest;
import dev.threadkeep.v1.SearchMode;
import java.util.function.Consumer;

/** Options of searching long-term memory. */
public final class MemorySearchOptions {
  private final SearchMemoryRequest.Builder request = SearchMemoryRequest.newBuilder();

  /** Creates options without a setting. */
  public MemorySearchOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public MemorySearchOptions with(Consumer<SearchMemoryRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Sets the maximum number of entries. Default: 10.
   *
   * @param count number of entries
   * @return these options
   */
  public MemorySearchOptions topK(int count) {
    request.setTopK(count);
    return this;
  }

  /**
   * Sets how to search. Default: the server chooses.
   *
   * @param value the mode
   * @return these options
   */
  public MemorySearchOptions mode(SearchMode value) {
    request.setMode(value);
    return this;
  }

  /**
   * Leaves out entries with a lower score.
   *
   * @param score lowest score
   * @return these options
   */
  public MemorySearchOptions minScore(double score) {
    request.setMinScore(score);
    return this;
  }

  /**
   * Searches only entries that match. Default: all.
   *
   * @param value the filter
   * @return these options
   */
  public MemorySearchOptions filter(MemoryFilter value) {
    request.setFilter(value);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param query the query
   * @param scope owner of the memory
   * @return the request
   */
  public SearchMemoryRequest request(String query, MemoryScope scope) {
    return request.setQuery(query).setScope(scope).build();
  }
}
