"""The agent kit: a chat client whose conversations live in Recollect. Needs `recollect[chat]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _lazily
from ._async.advisor import AsyncAdvisor, AsyncBaseAdvisor, AsyncMemoryAdvisor, AsyncToolAdvisor
from ._async.chain import AsyncAdvisorChain
from ._async.model import AsyncChatModel
from ._async.scripted import AsyncScriptedModel
from ._async.tool_calling import AsyncToolCallingAdvisor
from ._async.tool_manager import AsyncToolCallingManager, AsyncToolManager
from ._sync.advisor import Advisor, BaseAdvisor, MemoryAdvisor, ToolAdvisor
from ._sync.chain import AdvisorChain
from ._sync.model import ChatModel
from ._sync.scripted import ScriptedModel
from ._sync.tool_calling import ToolCallingAdvisor
from ._sync.tool_manager import ToolCallingManager, ToolManager
from .aggregate import Aggregator
from .errors import (
    ChatError,
    InvalidChain,
    InvalidTool,
    MissingSession,
    ModelFailed,
    ModelTimeout,
    ToolCallLimitExceeded,
    ToolFailed,
    UnknownTool,
    UnsupportedContent,
    WrongUser,
)
from .executions import ToolExecution
from .function_tools import function_tool
from .limits import ToolCallLimits
from .messages import Data, Media, Message, Reasoning, Role, Text, ToolCall, ToolResult, assistant, system, tool, user
from .options import ChatOptions, ToolOptions
from .requests import ChatClientRequest, ChatClientResponse, Prompt
from .responses import ChatResponse, Generation, Usage
from .schema_tools import schema_tool
from .tools import Tool, ToolContext, ToolDefinition, ToolOutput

if TYPE_CHECKING:
    from ._async.openai_model import AsyncOpenAIModel as AsyncOpenAIModel
    from ._sync.openai_model import OpenAIModel as OpenAIModel
else:

    def __getattr__(name: str) -> Any:
        """The adapters, which import their vendors' libraries; so they are not part of a star import."""
        return _lazily.loaded(name)


__all__ = [
    "Advisor",
    "AdvisorChain",
    "Aggregator",
    "AsyncAdvisor",
    "AsyncAdvisorChain",
    "AsyncBaseAdvisor",
    "AsyncChatModel",
    "AsyncMemoryAdvisor",
    "AsyncScriptedModel",
    "AsyncToolAdvisor",
    "AsyncToolCallingAdvisor",
    "AsyncToolCallingManager",
    "AsyncToolManager",
    "BaseAdvisor",
    "ChatClientRequest",
    "ChatClientResponse",
    "ChatError",
    "ChatModel",
    "ChatOptions",
    "ChatResponse",
    "Data",
    "Generation",
    "InvalidChain",
    "InvalidTool",
    "Media",
    "MemoryAdvisor",
    "Message",
    "MissingSession",
    "ModelFailed",
    "ModelTimeout",
    "Prompt",
    "Reasoning",
    "Role",
    "ScriptedModel",
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
    "ToolManager",
    "ToolOptions",
    "ToolOutput",
    "ToolResult",
    "UnknownTool",
    "UnsupportedContent",
    "Usage",
    "WrongUser",
    "assistant",
    "function_tool",
    "schema_tool",
    "system",
    "tool",
    "user",
]
