"""Answers of a model, whole or in chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .frozen import nothing
from .messages import Message, ToolCall

RETURN_DIRECT = "returnDirect"
TOOL_CALL_LIMIT_EXCEEDED = "toolCallLimitExceeded"
TOOL_ITERATIONS_EXCEEDED = "toolIterationsExceeded"
"""Finish reasons of a tool loop that ended a turn early: the results are the answer; too many calls; too many rounds."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts. Of the input tokens, `cache_read_tokens` came from the provider's cache and `cache_write_tokens` were
    stored in it.

    `total_tokens`: as reported, or else the sum. `native`: the provider's own report; None for a sum.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    native: Any = field(default=None, compare=False, repr=False)

    def __bool__(self) -> bool:
        return self.total_tokens > 0 or self.input_tokens > 0 or self.output_tokens > 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.total_tokens + other.total_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Generation:
    """One answer of the model, or a chunk of it. `finish_reason`: the provider's; empty until the end."""

    message: Message
    finish_reason: str = ""
    metadata: Mapping[str, Any] = field(default_factory=nothing, hash=False)


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """An answer of the model, or one chunk. A chunk has new text, or complete tool calls."""

    generations: tuple[Generation, ...] = ()
    usage: Usage = field(default_factory=Usage)
    id: str = ""
    model: str = ""
    metadata: Mapping[str, Any] = field(default_factory=nothing, hash=False)

    @property
    def message(self) -> Message | None:
        """Returns the message of the first generation; None without one."""
        return self.generations[0].message if self.generations else None

    @property
    def text(self) -> str:
        return self.generations[0].message.text if self.generations else ""

    @property
    def finish_reason(self) -> str:
        return self.generations[0].finish_reason if self.generations else ""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Returns the calls of the first generation that has any."""
        return next((calls for each in self.generations if (calls := each.message.tool_calls)), ())

    def with_usage(self, usage: Usage) -> ChatResponse:
        return replace(self, usage=usage)
