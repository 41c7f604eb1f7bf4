"""Threadkeep: one session memory for every agent, in every language. The Python SDK."""

from __future__ import annotations

from importlib.metadata import version as _version

from . import _quiet as _quiet  # before all that imports grpc
from . import compaction, errors
from ._async.client import AsyncClient
from ._async.memories import AsyncUserMemory
from ._convert import CreateOptions
from ._deliveries import Park
from ._recall import MemorySelection, SearchOptions, memory_entry, recency
from ._sync.client import Client
from ._sync.memories import UserMemory
from .errors import ThreadkeepError, error_of
from .filters import event_filter, exclude, include
from .memory import ContextFields, MemoryFilter, MemoryProvider
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
    DeleteParkedChangesResponse,
    GetConsumerResponse,
    ListConsumersResponse,
    ListParkedChangesResponse,
    ReplayParkedChangesResponse,
)
from .v1.context_pb2 import ContextMode, ContextSpec
from .v1.error_reason_pb2 import ErrorReason
from .v1.event_pb2 import NativeContent, SessionEvent
from .v1.event_service_pb2 import (
    AppendedEvent,
    AppendEventsResponse,
    AppendStreamResult,
    GetContextResponse,
    ListEventsResponse,
    SortOrder,
)
from .v1.filter_pb2 import AuthorFilter, AuthorSet, EventFilter, KeywordMatch, LogView, NumberedPage
from .v1.memory_pb2 import MemoryEntry, MemoryScope
from .v1.memory_service_pb2 import (
    AddedMemory,
    AddMemoriesResponse,
    AddSessionToMemoryResponse,
    DeleteMemoriesResponse,
    ListMemoriesResponse,
    SearchMemoryResponse,
)
from .v1.message_pb2 import ChatMessage, Part, Role
from .v1.search_pb2 import Highlight, Recency, SearchField, SearchMode
from .v1.search_service_pb2 import HitGrouping, SearchEventsResponse, SearchHit
from .v1.server_service_pb2 import GetServerInfoResponse, ServerLimits
from .v1.session_pb2 import Session, SessionParent, SessionRef, TokenUsage, WindowCounters
from .v1.session_service_pb2 import DeleteExpiredSessionsResponse, DeleteSessionResponse, ListSessionsResponse
from .v1.subscription_pb2 import (
    Change,
    Checkpoint,
    CheckpointKind,
    CompactionNotice,
    EventBatch,
    SessionChange,
    SessionChangeKind,
    SessionVersions,
)
from .v1.tool_service_pb2 import CallToolResponse, ListToolsResponse, ToolDefinition

__version__ = _version("threadkeep")

__all__ = [
    "AddMemoriesResponse",
    "AddSessionToMemoryResponse",
    "AddedMemory",
    "AppendEventsResponse",
    "AppendStreamResult",
    "AppendedEvent",
    "ApplyCompactionResponse",
    "AsyncClient",
    "AsyncUserMemory",
    "AuthorFilter",
    "AuthorSet",
    "CallToolResponse",
    "Change",
    "ChatMessage",
    "Checkpoint",
    "CheckpointKind",
    "Client",
    "CompactSessionResponse",
    "Compaction",
    "CompactionInsert",
    "CompactionNotice",
    "CompactionPlan",
    "CompactionPolicy",
    "CompactionStrategy",
    "CompactionTrigger",
    "Consumer",
    "ConsumerMember",
    "ConsumerPartition",
    "ContextFields",
    "ContextMode",
    "ContextSpec",
    "CreateOptions",
    "DeleteConsumerResponse",
    "DeleteExpiredSessionsResponse",
    "DeleteMemoriesResponse",
    "DeleteParkedChangesResponse",
    "DeleteSessionResponse",
    "ErrorReason",
    "EventBatch",
    "EventFields",
    "EventFilter",
    "GetCompactionPolicyResponse",
    "GetConsumerResponse",
    "GetContextResponse",
    "GetServerInfoResponse",
    "Highlight",
    "HitGrouping",
    "KeywordMatch",
    "ListCompactionsResponse",
    "ListConsumersResponse",
    "ListEventsResponse",
    "ListMemoriesResponse",
    "ListParkedChangesResponse",
    "ListSessionsResponse",
    "ListToolsResponse",
    "LogView",
    "MemoryEntry",
    "MemoryFilter",
    "MemoryProvider",
    "MemoryScope",
    "MemorySelection",
    "NativeContent",
    "NumberedPage",
    "Park",
    "ParkedChange",
    "Part",
    "PlanCompactionResponse",
    "PolicyScope",
    "Recency",
    "ReplaceEventsResponse",
    "ReplayParkedChangesResponse",
    "Role",
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
    "SessionEvent",
    "SessionParent",
    "SessionRef",
    "SessionVersions",
    "SortOrder",
    "SummaryPrompt",
    "ThreadkeepError",
    "TokenUsage",
    "ToolDefinition",
    "UserMemory",
    "WindowCounters",
    "__version__",
    "assistant",
    "compaction",
    "data",
    "error_of",
    "errors",
    "event",
    "event_filter",
    "exclude",
    "include",
    "media",
    "memory_entry",
    "new_event_id",
    "reasoning",
    "recency",
    "system",
    "text",
    "text_of",
    "tool_call",
    "tool_result",
    "tool_result_part",
    "user",
    "with_ids",
]
