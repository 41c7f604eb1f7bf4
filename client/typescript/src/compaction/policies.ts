import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";

import type { CompactionPolicySchema } from "../gen/threadkeep/v1/compaction_pb.js";
import { CompactionService, type GetCompactionPolicyResponse, type PolicyScopeSchema } from "../gen/threadkeep/v1/compaction_service_pb.js";
import type { Caller } from "../requests.js";

/**
 * The policy by which the server compacts a session, or the sessions of a user, of an app or of the tenant. The narrowest
 * policy applies, in the order session, user and app, user, app, server. Every method may fail with SESSION_NOT_FOUND for a
 * session, and with PERMISSION_DENIED beyond the token's reach.
 */
export class PolicyHandle {
  /** @internal Use `session.policy()`, `client.userPolicy()`, `client.appPolicy()` or `client.serverPolicy()`. */
  constructor(
    private readonly caller: Caller,
    private readonly scope: MessageInitShape<typeof PolicyScopeSchema>,
  ) {}

  /** Returns the policy of exactly this scope, and the policy in effect with its scope. */
  get(call?: CallOptions): Promise<GetCompactionPolicyResponse> {
    return this.caller.raw(CompactionService).getCompactionPolicy({ scope: this.scope }, call);
  }

  /** Sets the policy: `policy(turnsOver(50), recursiveSummary())`, or `neverCompact()`. */
  async set(policy: MessageInitShape<typeof CompactionPolicySchema>, call?: CallOptions): Promise<void> {
    await this.caller.raw(CompactionService).setCompactionPolicy({ scope: this.scope, policy }, call);
  }

  /** Removes the policy; the next wider one then applies. */
  async remove(call?: CallOptions): Promise<void> {
    await this.caller.raw(CompactionService).setCompactionPolicy({ scope: this.scope }, call);
  }
}
