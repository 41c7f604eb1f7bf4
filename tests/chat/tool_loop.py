"""Helpers for tests of the tool loop, in the form of the kit under test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from threadkeep.chat import (
    ChatClientRequest,
    ChatClientResponse,
    ChatOptions,
    ChatResponse,
    Generation,
    Message,
    Prompt,
    Tool,
    ToolCall,
    ToolContext,
    ToolDefinition,
    ToolOptions,
    Usage,
    assistant,
    user,
)
from threadkeep.chat.tools.executions import ToolExecution

from .async_and_sync import Kit


def calls_of(*names: str) -> tuple[ToolCall, ...]:
    """Returns calls of these tools with the ids "c1", "c2" and so on."""
    return tuple(ToolCall(f"c{at}", name, "{}") for at, name in enumerate(names, 1))


def answer_calling(*names: str, usage: Usage | None = None, text: str = "") -> ChatResponse:
    """Returns an answer that calls these tools."""
    message = assistant(text or (), tool_calls=calls_of(*names))
    return ChatResponse((Generation(message, "tool_calls"),), usage or Usage(), "id-1", "scripted")


def answer_saying(text: str, usage: Usage | None = None) -> ChatResponse:
    return ChatResponse((Generation(assistant(text), "stop"),), usage or Usage(), "id-2", "scripted")


class RecordingTools:
    """Tools that record their runs. `runs.tool("clock")` returns "clock says so", or `answer`, which is called if callable."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.arguments: list[str] = []
        self.contexts: list[ToolContext] = []

    def tool(self, name: str, answer: Any = None, **settings: Any) -> Tool:
        def run(arguments: str, context: ToolContext) -> Any:
            self.made.append(name)
            self.arguments.append(arguments)
            self.contexts.append(context)
            if callable(answer):
                return answer()
            return f"{name} says so" if answer is None else answer

        return Tool(ToolDefinition(name, f"The {name}."), run, **settings)


def request(*tools: Tool, text: str = "what time is it?", **options: Any) -> ChatClientRequest:
    return ChatClientRequest((user(text),), ToolOptions(tools=tools, **options))


def loop(kit: Kit, model: Any, *inner: Any, **settings: Any) -> Any:
    """Returns a chain of a tool loop, inner advisors and a model."""
    return kit.AdvisorChain([kit.ToolCallingAdvisor(**settings), *inner], model)


def failing(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def chunked_model(kit: Kit, *answers: Sequence[ChatResponse]) -> Any:
    """Returns a model whose streams are these chunks. `model.opened` counts streams, `model.closed` those read to the end or
    closed."""
    left = [list(answer) for answer in answers]

    class Base:
        provider = "chunked"
        default_options = ChatOptions(model="chunked")
        opened = closed = 0

    class Async(Base):
        async def stream(self, prompt: Prompt) -> AsyncIterator[ChatResponse]:
            self.opened += 1
            try:
                for chunk in left.pop(0):
                    await asyncio.sleep(0)
                    yield chunk
            finally:
                self.closed += 1

    class Sync(Base):
        def stream(self, prompt: Prompt) -> Iterator[ChatResponse]:
            self.opened += 1
            try:
                yield from left.pop(0)
            finally:
                self.closed += 1

    return Async() if kit.is_async else Sync()


def slow(kit: Kit, seconds: float, answer: str = "at last") -> Callable[[], Any]:
    """Returns a slow function: a coroutine function, or one that blocks."""

    async def later() -> str:
        await asyncio.sleep(seconds)
        return answer

    def blocking() -> str:
        time.sleep(seconds)
        return answer

    return later if kit.is_async else blocking


def manager_with_execute(kit: Kit, execute: Callable[[Prompt, ChatResponse], ToolExecution]) -> Any:
    """Returns a custom tool manager with this `execute`."""

    class Base:
        def definitions(self, options: ChatOptions | None) -> tuple[ToolDefinition, ...]:
            return ()

    class Async(Base):
        async def execute(self, prompt: Prompt, response: ChatResponse) -> ToolExecution:
            return execute(prompt, response)

    class Sync(Base):
        def execute(self, prompt: Prompt, response: ChatResponse) -> ToolExecution:
            return execute(prompt, response)

    return Async() if kit.is_async else Sync()


class Memory:
    """A memory that keeps recorded messages in `recorded` and the requests that pass it in `requests`."""

    name = "memory"
    order = 0

    def __init__(self, left: ChatClientResponse | None, error: Exception | None) -> None:
        self.recorded: list[tuple[ChatClientRequest, tuple[Message, ...]]] = []
        self.requests: list[ChatClientRequest] = []
        self.pending_reads = 0
        self._left, self._error = left, error

    def keep(self, request: ChatClientRequest, messages: Sequence[Message]) -> None:
        self.recorded.append((request, tuple(messages)))
        if self._error:
            raise self._error

    def left_open(self) -> ChatClientResponse | None:
        self.pending_reads += 1
        return self._left


def memory(kit: Kit, *, pending: ChatClientResponse | None = None, error: Exception | None = None) -> Any:
    """Returns a memory inside the loop. `pending`: the open response that it reports. `error`: raised by `record`."""

    class Async(Memory):
        async def advise_call(self, request: ChatClientRequest, chain: Any) -> ChatClientResponse:
            self.requests.append(request)
            return await chain.next_call(request)

        def advise_stream(self, request: ChatClientRequest, chain: Any) -> Any:
            self.requests.append(request)
            return chain.next_stream(request)

        async def record(self, request: ChatClientRequest, messages: Sequence[Message]) -> None:
            self.keep(request, messages)

        async def pending(self, request: ChatClientRequest) -> ChatClientResponse | None:
            return self.left_open()

    class Sync(Memory):
        def advise_call(self, request: ChatClientRequest, chain: Any) -> ChatClientResponse:
            self.requests.append(request)
            return chain.next_call(request)

        def advise_stream(self, request: ChatClientRequest, chain: Any) -> Any:
            self.requests.append(request)
            return chain.next_stream(request)

        def record(self, request: ChatClientRequest, messages: Sequence[Message]) -> None:
            self.keep(request, messages)

        def pending(self, request: ChatClientRequest) -> ChatClientResponse | None:
            return self.left_open()

    return (Async if kit.is_async else Sync)(pending, error)
