package dev.threadkeep;

import dev.threadkeep.v1.CompactionPolicy;
import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.GetCompactionPolicyRequest;
import dev.threadkeep.v1.GetCompactionPolicyResponse;
import dev.threadkeep.v1.PolicyScope;
import dev.threadkeep.v1.SetCompactionPolicyRequest;

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
    var request = GetCompactionPolicyRequest.newBuilder().setScope(scope).build();
    return client.call(CompactionServiceGrpc.getGetCompactionPolicyMethod(), request);
  }

  /**
   * Sets the policy. Reasons: INVALID_FIELD, PERMISSION_DENIED.
   *
   * @param policy see {@link dev.threadkeep.compaction.CompactionPolicies}
   */
  public void set(CompactionPolicy policy) {
    var request = SetCompactionPolicyRequest.newBuilder().setScope(scope).setPolicy(policy).build();
    client.call(CompactionServiceGrpc.getSetCompactionPolicyMethod(), request);
  }

  /** Removes the policy, so that the next wider one applies. */
  public void remove() {
    var request = SetCompactionPolicyRequest.newBuilder().setScope(scope).build();
    client.call(CompactionServiceGrpc.getSetCompactionPolicyMethod(), request);
  }
}
