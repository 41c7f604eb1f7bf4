package dev.threadkeep.options;

/** The start of a watch. */
public sealed interface Start {
  /**
   * Starts with changes committed from now on; the default.
   *
   * @return the start
   */
  static Start now() {
    return new Now();
  }

  /**
   * Starts with the session's first change, or with the oldest that the feed still has.
   *
   * @return the start
   */
  static Start beginning() {
    return new Beginning();
  }

  /**
   * Starts after a seq; of one session only.
   *
   * @param seq the last seq that the caller has
   * @return the start
   */
  static Start afterSeq(long seq) {
    return new AfterSeq(seq);
  }

  /**
   * Starts after a change.
   *
   * @param resumeToken resume_token of the change
   * @return the start
   */
  static Start token(String resumeToken) {
    return new Token(resumeToken);
  }

  /** With changes committed from now on. */
  record Now() implements Start {}

  /** With the first change. */
  record Beginning() implements Start {}

  /**
   * After a seq.
   *
   * @param seq the seq
   */
  record AfterSeq(long seq) implements Start {}

  /**
   * After a change.
   *
   * @param resumeToken its resume_token
   */
  record Token(String resumeToken) implements Start {}
}
