package dev.threadkeep.internal.operations;

import dev.threadkeep.v1.CompactionPolicy;
import dev.threadkeep.v1.CompactionServiceGrpc;
import dev.threadkeep.v1.GetCompactionPolicyRequest;
import dev.threadkeep.v1.GetCompactionPolicyResponse;
import dev.threadkeep.v1.PolicyScope;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.SetCompactionPolicyRequest;
import dev.threadkeep.v1.SetCompactionPolicyResponse;
import dev.threadkeep.v1.UserPolicyScope;

/** The operations of compaction policies, and their scopes. */
public final class PolicyOperations {
  private PolicyOperations() {}

  public static PolicyScope ofSession(SessionRef ref) {
    return PolicyScope.newBuilder().setSession(ref).build();
  }

  /** Returns the scope of the user in the app or, without an app, in every app. */
  public static PolicyScope ofUser(SessionRef whose) {
    var user = UserPolicyScope.newBuilder().setUserId(whose.getUserId());
    if (!whose.getApp().isEmpty()) {
      user.setApp(whose.getApp());
    }
    return PolicyScope.newBuilder().setUser(user).build();
  }

  public static PolicyScope ofApp(String app) {
    return PolicyScope.newBuilder().setApp(app).build();
  }

  public static PolicyScope ofServer() {
    return PolicyScope.newBuilder().setServer(true).build();
  }

  public static Operation<GetCompactionPolicyResponse> get(PolicyScope scope) {
    var request = GetCompactionPolicyRequest.newBuilder().setScope(scope).build();
    return Operation.of(CompactionServiceGrpc.getGetCompactionPolicyMethod(), request);
  }

  public static Operation<SetCompactionPolicyResponse> set(PolicyScope scope, CompactionPolicy policy) {
    var request = SetCompactionPolicyRequest.newBuilder().setScope(scope).setPolicy(policy).build();
    return Operation.of(CompactionServiceGrpc.getSetCompactionPolicyMethod(), request);
  }

  public static Operation<SetCompactionPolicyResponse> remove(PolicyScope scope) {
    var request = SetCompactionPolicyRequest.newBuilder().setScope(scope).build();
    return Operation.of(CompactionServiceGrpc.getSetCompactionPolicyMethod(), request);
  }
}
