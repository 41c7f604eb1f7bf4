package dev.threadkeep.options;

import dev.threadkeep.v1.ListSessionsRequest;
import dev.threadkeep.v1.SessionRef;
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
