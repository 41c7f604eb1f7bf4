package dev.threadkeep.filter;

import dev.threadkeep.v1.ContextMode;
import dev.threadkeep.v1.ContextSpec;

/**
 * How a participant uses a session: the events that it reads, and whether it writes. An argument of {@code withMemory} and
 * {@code getContext} of a session handle. All conditions apply: authors first, then the newest n events, then the newest turns,
 * then the sizes. Immutable.
 */
public final class MemoryProvider {
  private final ContextSpec spec;

  private MemoryProvider(ContextSpec.Builder spec) {
    this.spec = spec.build();
  }

  /**
   * Reads the active window within the session's or the server's size (156 KiB), and writes.
   *
   * @return the provider
   */
  public static MemoryProvider limitedWindow() {
    return new MemoryProvider(ContextSpec.newBuilder().setMode(ContextMode.CONTEXT_MODE_READ_WRITE));
  }

  /**
   * Neither reads nor writes.
   *
   * @return the provider
   */
  public static MemoryProvider none() {
    return new MemoryProvider(ContextSpec.newBuilder().setMode(ContextMode.CONTEXT_MODE_NONE));
  }

  /**
   * Reads like {@link #limitedWindow()}; its appends are dropped.
   *
   * @return the provider
   */
  public static MemoryProvider readOnly() {
    return new MemoryProvider(ContextSpec.newBuilder().setMode(ContextMode.CONTEXT_MODE_READ_ONLY));
  }

  /**
   * Writes; its contexts are empty.
   *
   * @return the provider
   */
  public static MemoryProvider writeOnly() {
    return new MemoryProvider(ContextSpec.newBuilder().setMode(ContextMode.CONTEXT_MODE_WRITE_ONLY));
  }

  /**
   * Reads and writes by a message.
   *
   * @param spec the message
   * @return the provider
   */
  public static MemoryProvider custom(ContextSpec spec) {
    return new MemoryProvider(spec.toBuilder());
  }

  /**
   * Drops the appends of this provider.
   *
   * @return a provider with this setting too
   */
  public MemoryProvider withoutWrites() {
    var mode = reads() ? ContextMode.CONTEXT_MODE_READ_ONLY : ContextMode.CONTEXT_MODE_NONE;
    return new MemoryProvider(spec.toBuilder().setMode(mode));
  }

  /**
   * Reads only the newest events, extended back to the start of their turn.
   *
   * @param n number of events
   * @return a provider with this setting too
   */
  public MemoryProvider readLast(int n) {
    return new MemoryProvider(spec.toBuilder().setLastN(n));
  }

  /**
   * Reads only events of these authors; another call applies to the result of this one.
   *
   * @param authors the authors
   * @return a provider with this setting too
   */
  public MemoryProvider filtered(Authors authors) {
    return new MemoryProvider(spec.toBuilder().addAllAuthorFilters(authors.steps()));
  }

  /**
   * Sets the role of an agent, for filters; it overrides the roles that are stored with its events.
   *
   * @param id id of the agent
   * @param role its role
   * @return a provider with this setting too
   */
  public MemoryProvider authorRole(String id, String role) {
    return new MemoryProvider(spec.toBuilder().putAuthorRoles(id, role));
  }

  /**
   * Reads only the newest turns.
   *
   * @param n number of turns
   * @return a provider with this setting too
   */
  public MemoryProvider maxTurns(int n) {
    return new MemoryProvider(spec.toBuilder().setMaxTurns(n));
  }

  /**
   * Reads at most so many tokens, by the server's estimate.
   *
   * @param n number of tokens
   * @return a provider with this setting too
   */
  public MemoryProvider maxTokens(long n) {
    return new MemoryProvider(spec.toBuilder().setMaxTokens(n));
  }

  /**
   * Reads at most so many bytes of text, reasoning, tool calls and results.
   *
   * @param n number of bytes
   * @return a provider with this setting too
   */
  public MemoryProvider maxBytes(long n) {
    return new MemoryProvider(spec.toBuilder().setMaxBytes(n));
  }

  /**
   * Reads what an agent on this branch sees: events of the root, of the branch itself and of its ancestors.
   *
   * @param branch the branch
   * @return a provider with this setting too
   */
  public MemoryProvider onBranch(String branch) {
    return new MemoryProvider(spec.toBuilder().setBranch(branch));
  }

  /**
   * Reads without the SYSTEM event.
   *
   * @return a provider with this setting too
   */
  public MemoryProvider withoutSystem() {
    return new MemoryProvider(spec.toBuilder().setExcludeSystem(true));
  }

  /**
   * Returns whether contexts have events.
   *
   * @return false if they are empty
   */
  public boolean reads() {
    return spec.getMode() != ContextMode.CONTEXT_MODE_NONE && spec.getMode() != ContextMode.CONTEXT_MODE_WRITE_ONLY;
  }

  /**
   * Returns whether appends are sent.
   *
   * @return false if they are dropped
   */
  public boolean writes() {
    return spec.getMode() != ContextMode.CONTEXT_MODE_NONE && spec.getMode() != ContextMode.CONTEXT_MODE_READ_ONLY;
  }

  /**
   * Returns the message that is sent to the server.
   *
   * @return the message
   */
  public ContextSpec spec() {
    return spec;
  }
}
