"""The agent kit: a chat client whose conversations live in Recollect. Needs `recollect[chat]`."""

from __future__ import annotations

from ._async.advisor import AsyncAdvisor, AsyncBaseAdvisor, AsyncMemoryAdvisor, AsyncToolAdvisor
from ._async.chain import AsyncAdvisorChain
from ._async.model import AsyncChatModel
from ._async.scripted import AsyncScriptedModel
from ._sync.advisor import Advisor, BaseAdvisor, MemoryAdvisor, ToolAdvisor
from ._sync.chain import AdvisorChain
from ._sync.model import ChatModel
from ._sync.scripted import ScriptedModel
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
    WrongUser,
)
from .function_tools import function_tool
from .messages import Data, Media, Message, Reasoning, Role, Text, ToolCall, ToolResult, assistant, system, tool, user
from .options import ChatOptions, ToolOptions
from .requests import ChatClientRequest, ChatClientResponse, Prompt
from .responses import ChatResponse, Generation, Usage
from .tools import Tool, ToolContext, ToolDefinition, ToolOutput

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
    "ToolContext",
    "ToolDefinition",
    "ToolFailed",
    "ToolOptions",
    "ToolOutput",
    "ToolResult",
    "UnknownTool",
    "Usage",
    "WrongUser",
    "assistant",
    "function_tool",
    "system",
    "tool",
    "user",
]
