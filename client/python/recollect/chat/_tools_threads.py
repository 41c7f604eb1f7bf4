"""What counts as a tool where calls block: those that need no event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _tools_aio
from .errors import InvalidTool
from .function_tools import runs_async
from .tools import Tool


def as_tool(given: Tool | Callable[..., Any]) -> Tool:
    """A tool as it is, or the one made of a function. Raises InvalidTool, also for one that has to be awaited."""
    tool = _tools_aio.as_tool(given)
    if runs_async(tool.run):
        raise InvalidTool(f"the tool {tool.name!r} is a coroutine function, which nobody awaits here; use AsyncChatClient")
    return tool
