"""What counts as a tool where calls are awaited: any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import InvalidTool
from .function_tools import function_tool
from .tools import Tool


def as_tool(given: Tool | Callable[..., Any]) -> Tool:
    """A tool as it is, or the one made of a function. Raises InvalidTool."""
    if isinstance(given, Tool):
        return given
    if not callable(given):
        raise InvalidTool(f"a tool is a Tool or a function, not a {type(given).__name__}")
    return function_tool(given)
