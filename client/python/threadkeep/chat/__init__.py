"""The agent kit: a chat client whose conversations live in Threadkeep. Needs `threadkeep[chat]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _lazily
from ._async.advisor import AsyncAdvisor, AsyncBaseAdvisor, AsyncMemoryAdvisor, AsyncToolAdvisor
from ._async.chain import AsyncAdvisorChain
from ._async.client import AsyncChatClient
from ._async.mcp_tools import AsyncMcpServer
from ._async.model import AsyncChatModel
from ._async.prompt import AsyncPromptSpec
from ._async.recall_tools import AsyncRecallTools
from ._async.scripted import AsyncScriptedModel
from ._async.search_tools import AsyncSearchTools
from ._async.session_memory import AsyncSessionMemoryAdvisor
from ._async.tool_calling import AsyncToolCallingAdvisor
from ._async.tool_index import AsyncEmbeddingToolIndex, AsyncKeywordToolIndex, AsyncToolIndex
from ._async.tool_manager import AsyncToolCallingManager, AsyncToolManager
from ._async.tool_search import AsyncToolSearchAdvisor
from ._sync.advisor import Advisor, BaseAdvisor, MemoryAdvisor, ToolAdvisor
from ._sync.chain import AdvisorChain
from ._sync.client import ChatClient
from ._sync.mcp_tools import McpServer
from ._sync.model import ChatModel
from ._sync.prompt import PromptSpec
from ._sync.recall_tools import RecallTools
from ._sync.scripted import ScriptedModel
from ._sync.search_tools import SearchTools
from ._sync.session_memory import SessionMemoryAdvisor
from ._sync.tool_calling import ToolCallingAdvisor
from ._sync.tool_index import EmbeddingToolIndex, KeywordToolIndex, ToolIndex
from ._sync.tool_manager import ToolCallingManager, ToolManager
from ._sync.tool_search import ToolSearchAdvisor
from .aggregate import Aggregator
from .errors import (
    AnswerNotStored,
    ChatError,
    InvalidChain,
    InvalidTool,
    MissingSession,
    ModelFailed,
    ModelTimeout,
    NothingToResume,
    ToolCallLimitExceeded,
    ToolFailed,
    UnknownTool,
    UnsupportedContent,
    WrongUser,
)
from .event_ids import EventIds, idempotent_ids, random_ids
from .eviction import AlwaysEvict, EvictAfter, EvictByAny, Eviction, EvictLeastRecentlyUsed, NeverEvict
from .executions import ToolExecution
from .function_tools import function_tool
from .limits import ToolCallLimits
from .message_filters import MessageFilter, accept_all, by_role, contains_text, skip_empty
from .messages import Data, Media, Message, Reasoning, Role, Text, ToolCall, ToolResult, assistant, system, tool, user
from .options import ChatOptions, ToolOptions
from .requests import ChatClientRequest, ChatClientResponse, Prompt
from .responses import ChatResponse, Generation, Usage
from .schema_tools import schema_tool
from .tools import Tool, ToolContext, ToolDefinition, ToolOutput

if TYPE_CHECKING:
    from ._async.anthropic_model import AsyncAnthropicModel as AsyncAnthropicModel
    from ._async.gemini_model import AsyncGeminiModel as AsyncGeminiModel
    from ._async.openai_model import AsyncOpenAIModel as AsyncOpenAIModel
    from ._sync.anthropic_model import AnthropicModel as AnthropicModel
    from ._sync.gemini_model import GeminiModel as GeminiModel
    from ._sync.openai_model import OpenAIModel as OpenAIModel
else:

    def __getattr__(name: str) -> Any:
        """The adapters, which import their vendors' libraries; so they are not part of a star import."""
        return _lazily.loaded(name)


__all__ = [
    "Advisor",
    "AdvisorChain",
    "Aggregator",
    "AlwaysEvict",
    "AnswerNotStored",
    "AsyncAdvisor",
    "AsyncAdvisorChain",
    "AsyncBaseAdvisor",
    "AsyncChatClient",
    "AsyncChatModel",
    "AsyncEmbeddingToolIndex",
    "AsyncKeywordToolIndex",
    "AsyncMcpServer",
    "AsyncMemoryAdvisor",
    "AsyncPromptSpec",
    "AsyncRecallTools",
    "AsyncScriptedModel",
    "AsyncSearchTools",
    "AsyncSessionMemoryAdvisor",
    "AsyncToolAdvisor",
    "AsyncToolCallingAdvisor",
    "AsyncToolCallingManager",
    "AsyncToolIndex",
    "AsyncToolManager",
    "AsyncToolSearchAdvisor",
    "BaseAdvisor",
    "ChatClient",
    "ChatClientRequest",
    "ChatClientResponse",
    "ChatError",
    "ChatModel",
    "ChatOptions",
    "ChatResponse",
    "Data",
    "EmbeddingToolIndex",
    "EventIds",
    "EvictAfter",
    "EvictByAny",
    "EvictLeastRecentlyUsed",
    "Eviction",
    "Generation",
    "InvalidChain",
    "InvalidTool",
    "KeywordToolIndex",
    "McpServer",
    "Media",
    "MemoryAdvisor",
    "Message",
    "MessageFilter",
    "MissingSession",
    "ModelFailed",
    "ModelTimeout",
    "NeverEvict",
    "NothingToResume",
    "Prompt",
    "PromptSpec",
    "Reasoning",
    "RecallTools",
    "Role",
    "ScriptedModel",
    "SearchTools",
    "SessionMemoryAdvisor",
    "Text",
    "Tool",
    "ToolAdvisor",
    "ToolCall",
    "ToolCallLimitExceeded",
    "ToolCallLimits",
    "ToolCallingAdvisor",
    "ToolCallingManager",
    "ToolContext",
    "ToolDefinition",
    "ToolExecution",
    "ToolFailed",
    "ToolIndex",
    "ToolManager",
    "ToolOptions",
    "ToolOutput",
    "ToolResult",
    "ToolSearchAdvisor",
    "UnknownTool",
    "UnsupportedContent",
    "Usage",
    "WrongUser",
    "accept_all",
    "assistant",
    "by_role",
    "contains_text",
    "function_tool",
    "idempotent_ids",
    "random_ids",
    "schema_tool",
    "skip_empty",
    "system",
    "tool",
    "user",
]
