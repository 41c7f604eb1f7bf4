package dev.threadkeep.options;

import dev.threadkeep.v1.ListUsersRequest;
import dev.threadkeep.v1.SessionRef;

/** Options of listing users: those of the client's app, unless another is given or all are. */
public final class UsersOptions {
  private final ListUsersRequest.Builder request = ListUsersRequest.newBuilder();
  private boolean allApps;

  /** Creates options without a setting. */
  public UsersOptions() {}

  /**
   * Lists the users of this app instead of the client's.
   *
   * @param value the app; empty means what has no app
   * @return these options
   */
  public UsersOptions app(String value) {
    request.setApp(value);
    return this;
  }

  /**
   * Lists the users of every app, unless one is given.
   *
   * @return these options
   */
  public UsersOptions allApps() {
    this.allApps = true;
    return this;
  }

  /**
   * Sets the maximum number of users per page. Default and most: 100.
   *
   * @param value the number
   * @return these options
   */
  public UsersOptions pageSize(int value) {
    request.setPageSize(value);
    return this;
  }

  /**
   * Starts at this page, with otherwise the same options.
   *
   * @param value the token that the page before it returned
   * @return these options
   */
  public UsersOptions pageToken(String value) {
    request.setPageToken(value);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param owner app and user of the client
   * @return the request
   */
  public ListUsersRequest request(SessionRef owner) {
    var whole = request.clone();
    if (!whole.hasApp() && !allApps && !owner.getApp().isEmpty()) {
      whole.setApp(owner.getApp());
    }
    return whole.build();
  }
}
