package dev.threadkeep;

/**
 * Widens a request beyond the client's app or user, which otherwise replace empty fields: {@code client.sessions(request,
 * All.USERS)}.
 */
public enum All {
  /** Every user within the token's reach. */
  USERS,
  /** Every app. */
  APPS
}
