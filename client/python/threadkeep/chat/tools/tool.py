"""Tools: definitions, functions and context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..types.frozen import nothing
from ..types.messages import Data, Media, Message, Text


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """The definition that the model sees. `input_schema`: JSON schema of an object. `strict`: request that the provider
    enforces it."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}}, hash=False)
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Values for a tool in addition to the model's arguments.

    `values`: the request's `tool_context`. `history`: the conversation of this turn. `call_id`: the id of the call.
    """

    values: Mapping[str, Any] = field(default_factory=nothing, hash=False, repr=False)
    history: tuple[Message, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A result with parts, or a JSON object as text. `is_error`: the call failed."""

    parts: tuple[Text | Media | Data, ...] = ()
    structured_json: str = ""
    is_error: bool = False


Run = Callable[[str, ToolContext], "str | ToolOutput | Awaitable[str | ToolOutput | None] | None"]
"""Runs a call, with the arguments as JSON ("{}" if the model wrote none). May be a coroutine function."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A definition and its function; `function_tool` makes one from a Python function.

    `return_direct`: the result is the answer; the model does not see it. `timeout`: seconds of one call, None for no limit.
    """

    definition: ToolDefinition
    run: Run = field(repr=False)
    return_direct: bool = False
    timeout: float | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    def renamed(self, name: str) -> Tool:
        return replace(self, definition=replace(self.definition, name=name))


def duplicates(names: Iterable[str]) -> list[str]:
    """Returns the names that occur more than once."""
    return sorted(name for name, times in Counter(names).items() if times > 1)
