"""The agent kit: a chat client whose conversations live in Threadkeep. Needs `threadkeep[chat]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _lazy_imports
from ._async.memory.session_memory import AsyncSessionMemoryAdvisor
from ._async.providers.model import AsyncChatModel
from ._async.providers.scripted import AsyncScriptedModel
from ._async.runtime.advisor import AsyncBaseAdvisor, AsyncMemoryAdvisor, AsyncToolAdvisor
from ._async.runtime.chain import AsyncAdvisor, AsyncAdvisorChain
from ._async.runtime.client import AsyncChatClient
from ._async.runtime.prompt import AsyncPromptSpec
from ._async.tool_search.tool_index import AsyncEmbeddingToolIndex, AsyncKeywordToolIndex, AsyncToolIndex
from ._async.tool_search.tool_search import AsyncToolSearchAdvisor
from ._async.tools.mcp_tools import AsyncMcpServer
from ._async.tools.recall_tools import AsyncRecallTools
from ._async.tools.search_tools import AsyncSearchTools
from ._async.tools.tool_calling import AsyncToolCallingAdvisor
from ._async.tools.tool_manager import AsyncToolCallingManager, AsyncToolManager
from ._sync.memory.session_memory import SessionMemoryAdvisor
from ._sync.providers.model import ChatModel
from ._sync.providers.scripted import ScriptedModel
from ._sync.runtime.advisor import BaseAdvisor, MemoryAdvisor, ToolAdvisor
from ._sync.runtime.chain import Advisor, AdvisorChain
from ._sync.runtime.client import ChatClient
from ._sync.runtime.prompt import PromptSpec
from ._sync.tool_search.tool_index import EmbeddingToolIndex, KeywordToolIndex, ToolIndex
from ._sync.tool_search.tool_search import ToolSearchAdvisor
from ._sync.tools.mcp_tools import McpServer
from ._sync.tools.recall_tools import RecallTools
from ._sync.tools.search_tools import SearchTools
from ._sync.tools.tool_calling import ToolCallingAdvisor
from ._sync.tools.tool_manager import ToolCallingManager, ToolManager
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
from .memory.event_ids import EventIds, idempotent_ids, random_ids
from .memory.message_filters import MessageFilter, accept_all, by_role, contains_text, skip_empty
from .tool_search.eviction import AlwaysEvict, EvictAfter, EvictByAny, Eviction, EvictLeastRecentlyUsed, NeverEvict
from .tools.executions import ToolExecution
from .tools.function_tools import function_tool
from .tools.limits import ToolCallLimits
from .tools.schema_tools import schema_tool
from .tools.tool import Tool, ToolContext, ToolDefinition, ToolOutput
from .types.aggregate import Aggregator
from .types.messages import Data, Media, Message, Reasoning, Role, Text, ToolCall, ToolResult, assistant, system, tool, user
from .types.options import ChatOptions, ToolOptions
from .types.requests import ChatClientRequest, ChatClientResponse, Prompt
from .types.responses import ChatResponse, Generation, Usage

if TYPE_CHECKING:
    from ._async.providers.anthropic_model import AsyncAnthropicModel as AsyncAnthropicModel
    from ._async.providers.gemini_model import AsyncGeminiModel as AsyncGeminiModel
    from ._async.providers.openai_model import AsyncOpenAIModel as AsyncOpenAIModel
    from ._sync.providers.anthropic_model import AnthropicModel as AnthropicModel
    from ._sync.providers.gemini_model import GeminiModel as GeminiModel
    from ._sync.providers.openai_model import OpenAIModel as OpenAIModel
else:

    def __getattr__(name: str) -> Any:
        """Returns an adapter. Adapters import their vendors' libraries, so a star import leaves them out."""
        return _lazy_imports.loaded(name)


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
