"""A model that follows a script, on the framework's own base of chat clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

Step = str | Content | Callable[[], str | Content]
"""What the model answers: a text, a call of a tool, or what a function returns when the model is called."""


class Scripted(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Answers each call of the model with the next step; `requests` has the messages of each call."""

    def __init__(self, *steps: Step, message_ids: bool = False) -> None:
        super().__init__()
        self._steps = list(steps)
        self._message_ids = message_ids
        self.requests: list[list[Message]] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse] | ResponseStream[ChatResponseUpdate, ChatResponse]:
        self.requests.append(list(messages))
        if stream:
            return ResponseStream(self._updates(), finalizer=ChatResponse.from_updates)
        return self._response()

    async def _response(self) -> ChatResponse:
        content, message_id = self._next()
        return ChatResponse(messages=Message("assistant", [content], message_id=message_id))

    async def _updates(self) -> AsyncIterator[ChatResponseUpdate]:
        content, message_id = self._next()
        yield ChatResponseUpdate(role="assistant", contents=[content], message_id=message_id)

    def _next(self) -> tuple[Content, str | None]:
        step = self._steps.pop(0)
        said = step() if callable(step) else step
        content = Content.from_text(said) if isinstance(said, str) else said
        return content, f"answer-{len(self.requests)}" if self._message_ids else None


def call(name: str, call_id: str = "call_1", **arguments: Any) -> Content:
    """A call of a tool."""
    return Content.from_function_call(call_id, name, arguments=arguments)


def said(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The roles and texts of messages; a call is its name, a result its text."""
    found = []
    for message in messages:
        for content in message.contents:
            text = {"function_call": content.name, "function_result": content.result}.get(content.type, content.text)
            found.append((message.role, str(text)))
    return found
