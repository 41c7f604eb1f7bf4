// Exports that Node and browsers share. The generated messages and services are in "@threadkeep/client/v1".

export { Code, type CallOptions, type Interceptor } from "@connectrpc/connect";

export { Client } from "./client.js";
export type * from "./compaction/compaction.js";
export * from "./consumer.js";
export {
  withIds, type Appended, type AppendOptions, type ErasedEvents, type EventsQuery, type Expect, type LastEvent, type LoadOptions,
  type LogVersion, type Moment, type PopOptions, type RemovalOptions, type RewindOptions, type SuffixOptions,
  type UsageQuery, type UserEventsQuery,
} from "./events.js";
export type { AppendStreamOptions, Batch, BatchResult } from "./feed/appendStream.js";
export { Park } from "./feed/member.js";
export type { Start, WatchAllOptions, WatchCall, WatchOptions } from "./feed/watch.js";
export * from "./filters.js";
export * from "./memory.js";
export * from "./messages.js";
export type { BranchName, FieldName, GroupingName, MatchName, ModeName, OrderName, RoleName, ViewName } from "./names.js";
export type { AuditQuery } from "./server/audit.js";
export { RetentionHandle, type ReceiptsQuery, type RunRetentionOptions } from "./server/retention.js";
export { PolicyHandle } from "./compaction/policies.js";
export { MemoryProvider, type SpecLike } from "./provider.js";
export type { ExpiryOptions, Int, Json, PageOptions, Point, SessionLike } from "./requests.js";
export type { FieldViolation } from "./rpc/details.js";
export { isCanceled, isReason, Reason, ThreadkeepError, type ReasonName } from "./rpc/errors.js";
export type { ClientOptions, Logger, RetrySettings, Token } from "./rpc/settings.js";
export type { Scope } from "./scope.js";
export type { RecencyOptions, SearchOptions, SessionSearchOptions } from "./search.js";
export { SessionHandle } from "./session.js";
export type { CreateOptions, ErasureOptions, ForkOptions, MoveOptions, SessionChanges, SessionProperties, SessionsQuery, UsersQuery } from "./sessions.js";
export { StateHandle, type PatchOptions, type State, type StateChanges, type StateQuery } from "./state.js";
export * from "./compaction/strategies.js";
export { VERSION } from "./version.js";

export type { Compaction, CompactionPolicy, CompactionStrategy, CompactionTrigger, SummaryPrompt } from "./gen/threadkeep/v1/compaction_pb.js";
export type { ErasureReceipt } from "./gen/threadkeep/v1/erasure_pb.js";
export type { SessionEvent } from "./gen/threadkeep/v1/event_pb.js";
export type { GetContextResponse } from "./gen/threadkeep/v1/event_service_pb.js";
export type { MemoryEntry } from "./gen/threadkeep/v1/memory_pb.js";
export { Role, type ChatMessage, type Part } from "./gen/threadkeep/v1/message_pb.js";
export type { SearchHit } from "./gen/threadkeep/v1/search_service_pb.js";
export type { Session, SessionRef } from "./gen/threadkeep/v1/session_pb.js";
export { CheckpointKind, SessionChangeKind, type Change } from "./gen/threadkeep/v1/subscription_pb.js";
export type { ToolDefinition } from "./gen/threadkeep/v1/tool_service_pb.js";
