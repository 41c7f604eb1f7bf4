"""The public names of the package by their modules, for imports on first use."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

_NAMES = {
    "_async.client": "AsyncClient",
    "_async.consumers": "AsyncConsumerHandle",
    "_async.memories": "AsyncUserMemory",
    "_async.policies": "AsyncPolicyHandle",
    "_async.session_handle": "AsyncSessionHandle",
    "_async.states": "AsyncStateHandle",
    "_convert": "CreateOptions PatchFields",
    "_streams.deliveries": "Delivery Park",
    "_search": "MemorySelection SearchOptions condition memory_entry memory_name memory_write recency",
    "_sync.client": "Client",
    "_sync.consumers": "ConsumerHandle",
    "_sync.memories": "UserMemory",
    "_sync.policies": "PolicyHandle",
    "_sync.session_handle": "SessionHandle",
    "_sync.states": "StateHandle",
    "errors": "ThreadkeepError error_of",
    "filters": "Authors Filter event_filter",
    "memory": "ContextFields MemoryProvider",
    "messages": (
        "EventFields assistant data event media new_event_id reasoning system text text_of tool_call tool_error "
        "tool_result tool_result_part user with_ids"
    ),
    "v1.compaction_pb2": (
        "Compaction CompactionInsert CompactionPlan CompactionPolicy CompactionStrategy CompactionTrigger SummaryPrompt"
    ),
    "v1.compaction_service_pb2": (
        "ApplyCompactionResponse CompactSessionResponse GetCompactionPolicyResponse ListCompactionsResponse "
        "PlanCompactionResponse PolicyScope ReplaceEventsResponse"
    ),
    "v1.consumer_pb2": "Consumer ConsumerMember ConsumerPartition ParkedChange",
    "v1.consumer_service_pb2": ("DeleteConsumerResponse GetConsumerResponse ListConsumersResponse ListParkedChangesResponse"),
    "v1.context_pb2": "ContextMode ContextSpec",
    "v1.error_reason_pb2": "ErrorReason",
    "v1.erasure_pb2": "ErasureReceipt",
    "v1.event_pb2": "NativeContent SessionEvent",
    "v1.event_removal_pb2": ("ClearEventsResponse EraseEventsResponse PopEventsResponse RemovalKind RemovalMode RemovalNotice"),
    "v1.event_service_pb2": (
        "AppendedEvent AppendEventsResponse AppendStreamResult Branch GetContextResponse ListBranchesResponse "
        "ListEventsResponse ListUsageResponse ReplaceSuffixResponse SortOrder UsageEntry"
    ),
    "v1.filter_pb2": "AuthorFilter AuthorSet BranchMatch EventFilter KeywordMatch LogView NumberedPage",
    "v1.memory_pb2": "MemoryEntry MemoryName MemoryScope MetadataCondition",
    "v1.memory_service_pb2": (
        "AddedMemory AddMemoriesResponse AddSessionToMemoryResponse DeleteMemoriesResponse ListMemoriesResponse "
        "ListMemoryNamespacesResponse MemoryWrite SearchMemoryResponse UpsertedMemory"
    ),
    "v1.message_pb2": "ChatMessage Part",
    "v1.search_pb2": "Highlight Recency SearchField SearchMode",
    "v1.search_service_pb2": "HitGrouping SearchEventsResponse",
    "v1.retention_pb2": "RetentionReceipt RetentionTotal",
    "v1.server_service_pb2": (
        "AuditRecord GetServerInfoResponse ListAuditRecordsResponse ListRetentionReceiptsResponse RestoreSessionResponse "
        "RunRetentionResponse ServerLimits"
    ),
    "v1.session_pb2": "Session SessionParent SessionRef TokenUsage WindowCounters",
    "v1.session_service_pb2": "DeleteExpiredSessionsResponse DeleteSessionResponse ListSessionsResponse",
    "v1.state_pb2": "StateScope",
    "v1.subscription_pb2": (
        "Checkpoint CheckpointKind CompactionNotice EventBatch SessionChange SessionChangeKind SessionVersions StateChange"
    ),
    "v1.tool_service_pb2": "CallToolResponse ListToolsResponse ToolDefinition",
    "values.changes": (
        "Appended Change CheckpointReached Compacted Removed SessionCreated SessionDeleted SessionExpired SessionMovedIn "
        "SessionMovedOut SessionUpdated StateChanged"
    ),
    "values.context": "Context",
    "values.events": "Event ToolCall ToolResult",
    "values.expect": "LastEventId LogVersion StateVersion",
    "values.incoming": "Appendable",
    "values.loaded": "LoadedSession",
    "values.pages": "EventPage Popped SearchHit",
    "values.role": "Role",
    "values.state": "State",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
_SUBMODULES = ("compaction", "errors", "filters", "memory", "messages", "v1")


def load(name: str) -> Any:
    """The value of a public name. Raises AttributeError."""
    if name in _MODULES:
        return getattr(import_module(f"threadkeep.{_MODULES[name]}"), name)
    if name in _SUBMODULES:
        return import_module(f"threadkeep.{name}")
    if name == "__version__":
        return version("threadkeep")
    raise AttributeError(f"module 'threadkeep' has no attribute {name!r}")
