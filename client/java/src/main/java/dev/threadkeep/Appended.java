package dev.threadkeep;

import dev.threadkeep.v1.AppendEventsResponse;

/**
 * The result of an append.
 *
 * @param response response of the server; empty if the append was dropped
 * @param dropped true if nothing was sent, because the session's memory provider does not write
 */
public record Appended(AppendEventsResponse response, boolean dropped) {
  /**
   * Returns the log version of the session after the append.
   *
   * @return the version
   */
  public long logVersion() {
    return response.getLogVersion();
  }

  /**
   * Returns the last seq of the session after the append.
   *
   * @return the seq
   */
  public long lastSeq() {
    return response.getLastSeq();
  }
}
