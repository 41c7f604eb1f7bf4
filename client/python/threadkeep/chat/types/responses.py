"""What a model answers, whole or in chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .frozen import nothing
from .messages import Message, ToolCall

RETURN_DIRECT = "returnDirect"
TOOL_CALL_LIMIT_EXCEEDED = "toolCallLimitExceeded"
TOOL_ITERATIONS_EXCEEDED = "toolIterationsExceeded"
"""Finish reasons of a loop of tools that ended a turn early: results are the answer, too many calls, too many rounds."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens. Of those of the input, `cache_read` came from the provider's cache and `cache_write` were stored in it.

    `total` is what the provider says, or else the sum. `native`: the provider's own account; a sum has none.
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
    """One of the answers of a model, or a piece of it. `finish_reason`: in the provider's words; empty while it goes on."""

    message: Message
    finish_reason: str = ""
    metadata: Mapping[str, Any] = field(default_factory=nothing, hash=False)


@dataclass(frozen=True, slots=True)
class ChatResponse:
    """What a model answered, or one chunk of it. A chunk holds new text, or tool calls, which are always whole."""

    generations: tuple[Generation, ...] = ()
    usage: Usage = field(default_factory=Usage)
    id: str = ""
    model: str = ""
    metadata: Mapping[str, Any] = field(default_factory=nothing, hash=False)

    @property
    def message(self) -> Message | None:
        """Of the first generation; None without one."""
        return self.generations[0].message if self.generations else None

    @property
    def text(self) -> str:
        return self.generations[0].message.text if self.generations else ""

    @property
    def finish_reason(self) -> str:
        return self.generations[0].finish_reason if self.generations else ""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Of the first generation that has any."""
        return next((calls for each in self.generations if (calls := each.message.tool_calls)), ())

    def with_usage(self, usage: Usage) -> ChatResponse:
        return replace(self, usage=usage)
