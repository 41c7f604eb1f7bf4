package dev.threadkeep.options;

import dev.threadkeep.v1.CompactSessionRequest;
import dev.threadkeep.v1.CompactionStrategy;
import dev.threadkeep.v1.CompactionTrigger;
import dev.threadkeep.v1.PlanCompactionRequest;
import dev.threadkeep.v1.SessionRef;
import java.util.function.Consumer;

/** Options of compacting a session on the server, or of planning that. */
public final class CompactOptions {
  private final CompactSessionRequest.Builder request = CompactSessionRequest.newBuilder();

  /** Creates options without a setting. */
  public CompactOptions() {}

  /**
   * Changes the request, for fields without a method of their own.
   *
   * @param change called with the request
   * @return these options
   */
  public CompactOptions with(Consumer<CompactSessionRequest.Builder> change) {
    change.accept(request);
    return this;
  }

  /**
   * Sets the strategy. Default: that of the session's policy.
   *
   * @param value the strategy
   * @return these options
   */
  public CompactOptions strategy(CompactionStrategy value) {
    request.setStrategy(value);
    return this;
  }

  /**
   * Compacts only events of this branch. Default: the whole session.
   *
   * @param value the branch
   * @return these options
   */
  public CompactOptions branch(String value) {
    request.setBranch(value);
    return this;
  }

  /**
   * Compacts only if this trigger fires. Default: always. Plans have no trigger.
   *
   * @param value the trigger
   * @return these options
   */
  public CompactOptions trigger(CompactionTrigger value) {
    request.setTrigger(value);
    return this;
  }

  /**
   * Changes nothing, calls no model, and returns the plan.
   *
   * @return these options
   */
  public CompactOptions dryRun() {
    request.setDryRun(true);
    return this;
  }

  /**
   * Sets the name of the caller, for the record.
   *
   * @param name at most 255 bytes
   * @return these options
   */
  public CompactOptions actor(String name) {
    request.setActor(name);
    return this;
  }

  /**
   * Returns the request with these options; the SDK calls it.
   *
   * @param session the session
   * @return the request
   */
  public CompactSessionRequest request(SessionRef session) {
    return request.setSession(session).build();
  }

  /**
   * Returns the request of a plan; the SDK calls it.
   *
   * @param session the session
   * @return the request
   */
  public PlanCompactionRequest plan(SessionRef session) {
    var plan = PlanCompactionRequest.newBuilder().setSession(session).setBranch(request.getBranch());
    return (request.hasStrategy() ? plan.setStrategy(request.getStrategy()) : plan).build();
  }
}
