// The messages, enums and services of the API as generated: `@threadkeep/client/v1`, for `Client.raw` and for requests.

export * from "./gen/threadkeep/v1/access_pb.js";
export * from "./gen/threadkeep/v1/compaction_pb.js";
export * from "./gen/threadkeep/v1/compaction_service_pb.js";
export * from "./gen/threadkeep/v1/consumer_pb.js";
export * from "./gen/threadkeep/v1/consumer_service_pb.js";
export * from "./gen/threadkeep/v1/context_pb.js";
export * from "./gen/threadkeep/v1/erasure_pb.js";
export * from "./gen/threadkeep/v1/error_reason_pb.js";
export * from "./gen/threadkeep/v1/event_pb.js";
export * from "./gen/threadkeep/v1/event_removal_pb.js";
export * from "./gen/threadkeep/v1/event_service_pb.js";
export * from "./gen/threadkeep/v1/filter_pb.js";
export * from "./gen/threadkeep/v1/memory_pb.js";
export * from "./gen/threadkeep/v1/memory_service_pb.js";
export * from "./gen/threadkeep/v1/message_pb.js";
export * from "./gen/threadkeep/v1/retention_pb.js";
export * from "./gen/threadkeep/v1/search_pb.js";
export * from "./gen/threadkeep/v1/search_service_pb.js";
export * from "./gen/threadkeep/v1/server_service_pb.js";
export * from "./gen/threadkeep/v1/session_pb.js";
export * from "./gen/threadkeep/v1/session_service_pb.js";
export * from "./gen/threadkeep/v1/state_pb.js";
export * from "./gen/threadkeep/v1/state_service_pb.js";
export * from "./gen/threadkeep/v1/subscription_pb.js";
export * from "./gen/threadkeep/v1/subscription_service_pb.js";
export * from "./gen/threadkeep/v1/tool_service_pb.js";
