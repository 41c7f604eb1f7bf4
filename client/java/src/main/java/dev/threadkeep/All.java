package dev.threadkeep;

/**
 * Widens a request beyond the client's own user or app, which otherwise fill what the request leaves empty: {@code
 * client.sessions(request, All.USERS)}.
 */
public enum All {
  /** Every user whom the token reaches. */
  USERS,
  /** Every app. */
  APPS
}
