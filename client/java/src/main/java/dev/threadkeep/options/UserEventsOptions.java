package dev.threadkeep.options;

import dev.threadkeep.filter.EventFilters;
import dev.threadkeep.v1.ListUserEventsRequest;
import dev.threadkeep.v1.SessionRef;
import java.util.function.Consumer;

/** Options of listing the events of a user over all sessions. */
public final class UserEventsOptions extends Scoped<UserEventsOptions> {
  private final ListUserEventsRequest.Builder request = ListUserEventsRequest.newBuilder();

  /** Creates options without a setting. */
  public UserEventsOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public UserEventsOptions with(Consumer<ListUserEventsRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Lists only events that match. Default: all.
   *
   * @param value the filter, without a window
   * @return these options
   */
  public UserEventsOptions filter(EventFilters value) {
    request.setFilter(value.build());
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param owner app and user of the client
   * @return the request
   */
  public ListUserEventsRequest request(SessionRef owner) {
    return scoped(request.build(), owner);
  }
}
