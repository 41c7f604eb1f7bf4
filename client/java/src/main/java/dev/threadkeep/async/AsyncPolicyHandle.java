package dev.threadkeep.async;

import dev.threadkeep.internal.operations.PolicyOperations;
import dev.threadkeep.v1.CompactionPolicy;
import dev.threadkeep.v1.GetCompactionPolicyResponse;
import dev.threadkeep.v1.PolicyScope;
import dev.threadkeep.v1.SetCompactionPolicyResponse;
import java.util.concurrent.CompletableFuture;

/**
 * A handle on the compaction policy of a session, a user, an app or the server. The narrowest one that is set applies. Creating
 * it makes no call.
 *
 * @see dev.threadkeep.PolicyHandle
 */
public final class AsyncPolicyHandle {
  private final AsyncCalls client;
  private final PolicyScope scope;

  AsyncPolicyHandle(AsyncCalls client, PolicyScope scope) {
    this.client = client;
    this.scope = scope;
  }

  /**
   * Returns the policy.
   *
   * @return a future of the policy of this scope, if there is one, and of the policy that applies
   */
  public CompletableFuture<GetCompactionPolicyResponse> get() {
    return client.start(() -> PolicyOperations.get(scope));
  }

  /**
   * Sets the policy. Reasons: INVALID_FIELD, PERMISSION_DENIED.
   *
   * @param policy see {@link dev.threadkeep.compaction.CompactionPolicies}
   * @return a future of the end
   */
  public CompletableFuture<SetCompactionPolicyResponse> set(CompactionPolicy policy) {
    return client.start(() -> PolicyOperations.set(scope, policy));
  }

  /**
   * Removes the policy, so that the next wider one applies. Reasons: PERMISSION_DENIED.
   *
   * @return a future of the end
   */
  public CompletableFuture<SetCompactionPolicyResponse> remove() {
    return client.start(() -> PolicyOperations.remove(scope));
  }
}
