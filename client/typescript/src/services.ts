import { createClient, type Client as ServiceClient, type Transport } from "@connectrpc/connect";

import { CompactionService } from "./gen/recollect/v1/compaction_service_pb.js";
import { ConsumerService } from "./gen/recollect/v1/consumer_service_pb.js";
import { EventService } from "./gen/recollect/v1/event_service_pb.js";
import { RecallService } from "./gen/recollect/v1/recall_service_pb.js";
import { ServerService } from "./gen/recollect/v1/server_service_pb.js";
import { SessionService } from "./gen/recollect/v1/session_service_pb.js";
import { SubscriptionService } from "./gen/recollect/v1/subscription_service_pb.js";

/**
 * Every RPC of the server, as Connect's clients: `services.sessions.getSession({ session: client.ref("s1") })`. Calls carry the
 * token, have the client's timeout, are repeated where that is safe, and fail with RecollectError. Streams have no timeout, are
 * not reopened, and end when their `signal` is aborted: leaving their loop does not end them.
 */
export interface Services {
  readonly compaction: ServiceClient<typeof CompactionService>;
  /** Members of consumers need a stream in both directions, which only gRPC has: browsers cannot join. */
  readonly consumers: ServiceClient<typeof ConsumerService>;
  readonly events: ServiceClient<typeof EventService>;
  readonly recall: ServiceClient<typeof RecallService>;
  readonly server: ServiceClient<typeof ServerService>;
  readonly sessions: ServiceClient<typeof SessionService>;
  readonly subscriptions: ServiceClient<typeof SubscriptionService>;
}

export function servicesOn(transport: Transport): Services {
  return {
    compaction: createClient(CompactionService, transport),
    consumers: createClient(ConsumerService, transport),
    events: createClient(EventService, transport),
    recall: createClient(RecallService, transport),
    server: createClient(ServerService, transport),
    sessions: createClient(SessionService, transport),
    subscriptions: createClient(SubscriptionService, transport),
  };
}
