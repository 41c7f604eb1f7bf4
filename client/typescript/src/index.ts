// Exports that Node and browsers share.

export { Code, type CallOptions } from "@connectrpc/connect";

export * from "./client.js";
export type { FieldViolation } from "./details.js";
export { isReason, ThreadkeepError, type ReasonName } from "./errors.js";
export * from "./memory.js";
export * from "./messages.js";
export type { Fields, SessionLike } from "./requests.js";
export type { Reach } from "./scope.js";
export type { WatchOptions } from "./watch.js";

export * from "./gen/threadkeep/v1/compaction_pb.js";
export * from "./gen/threadkeep/v1/compaction_service_pb.js";
export * from "./gen/threadkeep/v1/consumer_pb.js";
export * from "./gen/threadkeep/v1/consumer_service_pb.js";
export * from "./gen/threadkeep/v1/context_pb.js";
export * from "./gen/threadkeep/v1/error_reason_pb.js";
export * from "./gen/threadkeep/v1/event_pb.js";
export * from "./gen/threadkeep/v1/event_service_pb.js";
export * from "./gen/threadkeep/v1/filter_pb.js";
export * from "./gen/threadkeep/v1/memory_pb.js";
export * from "./gen/threadkeep/v1/memory_service_pb.js";
export * from "./gen/threadkeep/v1/message_pb.js";
export * from "./gen/threadkeep/v1/search_pb.js";
export * from "./gen/threadkeep/v1/search_service_pb.js";
export * from "./gen/threadkeep/v1/server_service_pb.js";
export * from "./gen/threadkeep/v1/session_pb.js";
export * from "./gen/threadkeep/v1/session_service_pb.js";
export * from "./gen/threadkeep/v1/subscription_pb.js";
export * from "./gen/threadkeep/v1/subscription_service_pb.js";
export * from "./gen/threadkeep/v1/tool_service_pb.js";
