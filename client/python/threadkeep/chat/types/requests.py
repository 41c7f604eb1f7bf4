"""Requests and responses that pass through a chain of advisors; immutable, each with a context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .frozen import frozen, nothing
from .messages import Message, ToolCall
from .options import ChatOptions
from .responses import ChatResponse, Usage


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages and options of a model call."""

    messages: tuple[Message, ...]
    options: ChatOptions | None = None


@dataclass(frozen=True, slots=True)
class ChatClientRequest:
    """A request on its way to the model. `context`: values for and from advisors; the model does not see them."""

    messages: tuple[Message, ...] = ()
    options: ChatOptions | None = None
    context: Mapping[str, Any] = field(default_factory=nothing, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))
        object.__setattr__(self, "context", frozen(self.context))

    @property
    def prompt(self) -> Prompt:
        return Prompt(self.messages, self.options)

    def with_messages(self, *messages: Message) -> ChatClientRequest:
        return replace(self, messages=messages)

    def with_options(self, options: ChatOptions | None) -> ChatClientRequest:
        return replace(self, options=options)

    def with_context(self, values: Mapping[str, Any]) -> ChatClientRequest:
        """Returns the request with these values added to its context, replacing equal keys."""
        return replace(self, context={**self.context, **values})


@dataclass(frozen=True, slots=True)
class ChatClientResponse:
    """A response on its way from the model, whole or one chunk. `response`: None if an advisor returned no answer."""

    response: ChatResponse | None = None
    context: Mapping[str, Any] = field(default_factory=nothing, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", frozen(self.context))

    @property
    def text(self) -> str:
        return self.response.text if self.response else ""

    @property
    def message(self) -> Message | None:
        return self.response.message if self.response else None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return self.response.tool_calls if self.response else ()

    @property
    def usage(self) -> Usage:
        return self.response.usage if self.response else Usage()

    def with_response(self, response: ChatResponse | None) -> ChatClientResponse:
        return replace(self, response=response)

    def with_context(self, values: Mapping[str, Any]) -> ChatClientResponse:
        return replace(self, context={**self.context, **values})
