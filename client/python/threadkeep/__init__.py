"""Threadkeep: one session memory for every agent, in every language. The Python SDK."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# gRPC reads it when it loads. What gRPC would log, such as a connection that the server closed, is raised by this package.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

if TYPE_CHECKING:
    from . import compaction, errors
    from ._async.client import AsyncClient
    from ._async.consumers import AsyncConsumerHandle
    from ._async.memories import AsyncUserMemory
    from ._async.policies import AsyncPolicyHandle
    from ._async.session_handle import AsyncSessionHandle
    from ._async.states import AsyncStateHandle
    from ._convert import CreateOptions, PatchFields
    from ._search import MemorySelection, SearchOptions, condition, memory_entry, memory_name, memory_write, recency
    from ._streams.deliveries import Delivery, Park
    from ._sync.client import Client
    from ._sync.consumers import ConsumerHandle
    from ._sync.memories import UserMemory
    from ._sync.policies import PolicyHandle
    from ._sync.session_handle import SessionHandle
    from ._sync.states import StateHandle
    from .errors import ThreadkeepError, error_of
    from .filters import Authors, Filter, event_filter
    from .memory import ContextFields, MemoryProvider
    from .messages import (
        EventFields,
        assistant,
        data,
        event,
        media,
        new_event_id,
        reasoning,
        system,
        text,
        text_of,
        tool_call,
        tool_error,
        tool_result,
        tool_result_part,
        user,
        with_ids,
    )
    from .v1.compaction_pb2 import (
        Compaction,
        CompactionInsert,
        CompactionPlan,
        CompactionPolicy,
        CompactionStrategy,
        CompactionTrigger,
        SummaryPrompt,
    )
    from .v1.compaction_service_pb2 import (
        ApplyCompactionResponse,
        CompactSessionResponse,
        GetCompactionPolicyResponse,
        ListCompactionsResponse,
        PlanCompactionResponse,
        PolicyScope,
        ReplaceEventsResponse,
    )
    from .v1.consumer_pb2 import Consumer, ConsumerMember, ConsumerPartition, ParkedChange
    from .v1.consumer_service_pb2 import (
        DeleteConsumerResponse,
        GetConsumerResponse,
        ListConsumersResponse,
        ListParkedChangesResponse,
    )
    from .v1.context_pb2 import ContextMode, ContextSpec
    from .v1.erasure_pb2 import ErasureReceipt
    from .v1.error_reason_pb2 import ErrorReason
    from .v1.event_pb2 import NativeContent, SessionEvent
    from .v1.event_removal_pb2 import (
        ClearEventsResponse,
        EraseEventsResponse,
        PopEventsResponse,
        RemovalKind,
        RemovalMode,
        RemovalNotice,
    )
    from .v1.event_service_pb2 import (
        AppendedEvent,
        AppendEventsResponse,
        AppendStreamResult,
        Branch,
        GetContextResponse,
        ListBranchesResponse,
        ListEventsResponse,
        ListUsageResponse,
        ReplaceSuffixResponse,
        SortOrder,
        UsageEntry,
    )
    from .v1.filter_pb2 import AuthorFilter, AuthorSet, BranchMatch, EventFilter, KeywordMatch, LogView, NumberedPage
    from .v1.memory_pb2 import MemoryEntry, MemoryName, MemoryScope, MetadataCondition
    from .v1.memory_service_pb2 import (
        AddedMemory,
        AddMemoriesResponse,
        AddSessionToMemoryResponse,
        DeleteMemoriesResponse,
        ListMemoriesResponse,
        ListMemoryNamespacesResponse,
        MemoryWrite,
        SearchMemoryResponse,
        UpsertedMemory,
    )
    from .v1.message_pb2 import ChatMessage, Part
    from .v1.retention_pb2 import RetentionReceipt, RetentionTotal
    from .v1.search_pb2 import Highlight, Recency, SearchField, SearchMode
    from .v1.search_service_pb2 import HitGrouping, SearchEventsResponse
    from .v1.server_service_pb2 import (
        AuditRecord,
        GetServerInfoResponse,
        ListAuditRecordsResponse,
        ListRetentionReceiptsResponse,
        RestoreSessionResponse,
        RunRetentionResponse,
        ServerLimits,
    )
    from .v1.session_pb2 import Session, SessionParent, SessionRef, TokenUsage, WindowCounters
    from .v1.session_service_pb2 import DeleteExpiredSessionsResponse, DeleteSessionResponse, ListSessionsResponse
    from .v1.state_pb2 import StateScope
    from .v1.subscription_pb2 import (
        Checkpoint,
        CheckpointKind,
        CompactionNotice,
        EventBatch,
        SessionChange,
        SessionChangeKind,
        SessionVersions,
        StateChange,
    )
    from .v1.tool_service_pb2 import CallToolResponse, ListToolsResponse, ToolDefinition
    from .values.changes import (
        Appended,
        Change,
        CheckpointReached,
        Compacted,
        Removed,
        SessionCreated,
        SessionDeleted,
        SessionExpired,
        SessionMovedIn,
        SessionMovedOut,
        SessionUpdated,
        StateChanged,
    )
    from .values.context import Context
    from .values.events import Event, ToolCall, ToolResult
    from .values.expect import LastEventId, LogVersion, StateVersion
    from .values.incoming import Appendable
    from .values.loaded import LoadedSession
    from .values.pages import EventPage, Popped, SearchHit
    from .values.role import Role
    from .values.state import State

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        """Imports a name on first use: an import of all takes ten times as long."""
        from ._exports import load

        value = load(name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "AddMemoriesResponse",
    "AddSessionToMemoryResponse",
    "AddedMemory",
    "AppendEventsResponse",
    "AppendStreamResult",
    "Appendable",
    "Appended",
    "AppendedEvent",
    "ApplyCompactionResponse",
    "AsyncClient",
    "AsyncConsumerHandle",
    "AsyncPolicyHandle",
    "AsyncSessionHandle",
    "AsyncStateHandle",
    "AsyncUserMemory",
    "AuditRecord",
    "AuthorFilter",
    "AuthorSet",
    "Authors",
    "Branch",
    "BranchMatch",
    "CallToolResponse",
    "Change",
    "ChatMessage",
    "Checkpoint",
    "CheckpointKind",
    "CheckpointReached",
    "ClearEventsResponse",
    "Client",
    "CompactSessionResponse",
    "Compacted",
    "Compaction",
    "CompactionInsert",
    "CompactionNotice",
    "CompactionPlan",
    "CompactionPolicy",
    "CompactionStrategy",
    "CompactionTrigger",
    "Consumer",
    "ConsumerHandle",
    "ConsumerMember",
    "ConsumerPartition",
    "Context",
    "ContextFields",
    "ContextMode",
    "ContextSpec",
    "CreateOptions",
    "DeleteConsumerResponse",
    "DeleteExpiredSessionsResponse",
    "DeleteMemoriesResponse",
    "DeleteSessionResponse",
    "Delivery",
    "EraseEventsResponse",
    "ErasureReceipt",
    "ErrorReason",
    "Event",
    "EventBatch",
    "EventFields",
    "EventFilter",
    "EventPage",
    "Filter",
    "GetCompactionPolicyResponse",
    "GetConsumerResponse",
    "GetContextResponse",
    "GetServerInfoResponse",
    "Highlight",
    "HitGrouping",
    "KeywordMatch",
    "LastEventId",
    "ListAuditRecordsResponse",
    "ListBranchesResponse",
    "ListCompactionsResponse",
    "ListConsumersResponse",
    "ListEventsResponse",
    "ListMemoriesResponse",
    "ListMemoryNamespacesResponse",
    "ListParkedChangesResponse",
    "ListRetentionReceiptsResponse",
    "ListSessionsResponse",
    "ListToolsResponse",
    "ListUsageResponse",
    "LoadedSession",
    "LogVersion",
    "LogView",
    "MemoryEntry",
    "MemoryName",
    "MemoryProvider",
    "MemoryScope",
    "MemorySelection",
    "MemoryWrite",
    "MetadataCondition",
    "NativeContent",
    "NumberedPage",
    "Park",
    "ParkedChange",
    "Part",
    "PatchFields",
    "PlanCompactionResponse",
    "PolicyHandle",
    "PolicyScope",
    "PopEventsResponse",
    "Popped",
    "Recency",
    "RemovalKind",
    "RemovalMode",
    "RemovalNotice",
    "Removed",
    "ReplaceEventsResponse",
    "ReplaceSuffixResponse",
    "RestoreSessionResponse",
    "RetentionReceipt",
    "RetentionTotal",
    "Role",
    "RunRetentionResponse",
    "SearchEventsResponse",
    "SearchField",
    "SearchHit",
    "SearchMemoryResponse",
    "SearchMode",
    "SearchOptions",
    "ServerLimits",
    "Session",
    "SessionChange",
    "SessionChangeKind",
    "SessionCreated",
    "SessionDeleted",
    "SessionEvent",
    "SessionExpired",
    "SessionHandle",
    "SessionMovedIn",
    "SessionMovedOut",
    "SessionParent",
    "SessionRef",
    "SessionUpdated",
    "SessionVersions",
    "SortOrder",
    "State",
    "StateChange",
    "StateChanged",
    "StateHandle",
    "StateScope",
    "StateVersion",
    "SummaryPrompt",
    "ThreadkeepError",
    "TokenUsage",
    "ToolCall",
    "ToolDefinition",
    "ToolResult",
    "UpsertedMemory",
    "UsageEntry",
    "UserMemory",
    "WindowCounters",
    "__version__",
    "assistant",
    "compaction",
    "condition",
    "data",
    "error_of",
    "errors",
    "event",
    "event_filter",
    "media",
    "memory_entry",
    "memory_name",
    "memory_write",
    "new_event_id",
    "reasoning",
    "recency",
    "system",
    "text",
    "text_of",
    "tool_call",
    "tool_error",
    "tool_result",
    "tool_result_part",
    "user",
    "with_ids",
]
