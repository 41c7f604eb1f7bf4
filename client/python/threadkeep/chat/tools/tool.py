"""What a model can call: definitions, what runs them, and what runs along unseen by the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..types.frozen import nothing
from ..types.messages import Data, Media, Message, Text


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What a model is told. `input_schema`: JSON schema of an object. `strict`: ask the provider to hold the model to it."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}}, hash=False)
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What goes to a tool beside the model's arguments.

    `values`: what the request's `tool_context` holds, and nothing else. `history`: the conversation of this turn. `call_id`: of
    the call that is run.
    """

    values: Mapping[str, Any] = field(default_factory=nothing, hash=False, repr=False)
    history: tuple[Message, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A result that is more than text: parts, or a JSON object as text. `is_error` tells the model that the call failed."""

    parts: tuple[Text | Media | Data, ...] = ()
    structured_json: str = ""
    is_error: bool = False


Run = Callable[[str, ToolContext], "str | ToolOutput | Awaitable[str | ToolOutput | None] | None"]
"""Runs a call: given the arguments as JSON text ("{}" when the model wrote none). It may be a coroutine function."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A definition and what runs it; see `function_tool` for one made of a Python function.

    `return_direct`: its result is the answer, the model does not see it. `timeout`: seconds of one call, None for no limit.
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
    """Those that stand there more than once, each once."""
    return sorted(name for name, times in Counter(names).items() if times > 1)
