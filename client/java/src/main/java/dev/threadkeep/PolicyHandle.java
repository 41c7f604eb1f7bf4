package dev.threadkeep;

import dev.threadkeep.internal.operations.PolicyOperations;
import dev.threadkeep.v1.CompactionPolicy;
import dev.threadkeep.v1.GetCompactionPolicyResponse;
import dev.threadkeep.v1.PolicyScope;

/**
 * A handle on the compaction policy of a session, a user, an app or the server. The narrowest one that is set applies. Creating
 * it makes no call.
 */
public final class PolicyHandle {
  private final ThreadkeepClient client;
  private final PolicyScope scope;

  PolicyHandle(ThreadkeepClient client, PolicyScope scope) {
    this.client = client;
    this.scope = scope;
  }

  /**
   * Returns the policy.
   *
   * @return the policy of this scope, if there is one, and the policy that applies
   */
  public GetCompactionPolicyResponse get() {
    return client.run(PolicyOperations.get(scope));
  }

  /**
   * Sets the policy. Reasons: INVALID_FIELD, PERMISSION_DENIED.
   *
   * @param policy see {@link dev.threadkeep.compaction.CompactionPolicies}
   */
  public void set(CompactionPolicy policy) {
    client.run(PolicyOperations.set(scope, policy));
  }

  /** Removes the policy, so that the next wider one applies. */
  public void remove() {
    client.run(PolicyOperations.remove(scope));
  }
}
