"""Tool loops that record the calls of their hooks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any

from threadkeep.chat import AsyncToolCallingAdvisor, ChatClientRequest, ChatClientResponse, Message, ToolCallingAdvisor
from threadkeep.chat.tools.executions import ToolExecution

from .async_and_sync import Kit


def recording(kit: Kit, **settings: Any) -> Any:
    """Returns a loop that appends the names of called hooks to its setting `seen`, which copies share."""
    return AsyncRecordingLoop(**settings) if kit.is_async else RecordingLoop(**settings)


def stream_hooks(kit: Kit, seen: list[str]) -> Any:
    """Returns a loop that overrides only the stream hooks."""
    return AsyncStreamHooks(seen=seen) if kit.is_async else StreamHooks(seen=seen)


def streaming(kit: Kit, *, after: Any = None, finalize: Any = None) -> Any:
    """Returns a loop that applies `after` to the response of each stream and `finalize` to each chunk of its output."""
    if kit.is_async:

        class Async(AsyncToolCallingAdvisor):
            async def after_stream(self, response: ChatClientResponse, chain: Any) -> ChatClientResponse:
                return after(response) if after else await super().after_stream(response, chain)

            async def finalize_loop_stream(self, chunks: Any, chain: Any) -> AsyncGenerator[ChatClientResponse, None]:
                async for chunk in chunks:
                    yield finalize(chunk) if finalize else chunk

        return Async()

    class Sync(ToolCallingAdvisor):
        def after_stream(self, response: ChatClientResponse, chain: Any) -> ChatClientResponse:
            return after(response) if after else super().after_stream(response, chain)

        def finalize_loop_stream(self, chunks: Any, chain: Any) -> Generator[ChatClientResponse, None, None]:
            for chunk in chunks:
                yield finalize(chunk) if finalize else chunk

    return Sync()


class AsyncRecordingLoop(AsyncToolCallingAdvisor):
    settings = (*AsyncToolCallingAdvisor.settings, "seen")

    def __init__(self, *, seen: list[str] | None = None, **settings: Any) -> None:
        self._seen = [] if seen is None else seen
        super().__init__(**settings)

    async def initialize_loop(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
        self._seen.append("initialize")
        return request

    async def before_call(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
        self._seen.append("before")
        return request

    async def after_call(self, response: ChatClientResponse, chain: Any) -> ChatClientResponse:
        self._seen.append("after")
        return response

    async def next_instructions(
        self, request: ChatClientRequest, response: ChatClientResponse, execution: ToolExecution
    ) -> Sequence[Message]:
        self._seen.append("next")
        return await super().next_instructions(request, response, execution)

    async def finalize_loop(self, response: ChatClientResponse, chain: Any) -> ChatClientResponse:
        self._seen.append("finalize")
        return response

    async def finalize_loop_stream(
        self, chunks: AsyncGenerator[ChatClientResponse, None], chain: Any
    ) -> AsyncGenerator[ChatClientResponse, None]:
        async for chunk in chunks:
            yield chunk
        self._seen.append("finalize")


class RecordingLoop(ToolCallingAdvisor):
    settings = (*ToolCallingAdvisor.settings, "seen")

    def __init__(self, *, seen: list[str] | None = None, **settings: Any) -> None:
        self._seen = [] if seen is None else seen
        super().__init__(**settings)

    def initialize_loop(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
        self._seen.append("initialize")
        return request

    def before_call(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
        self._seen.append("before")
        return request

    def after_call(self, response: ChatClientResponse, chain: Any) -> ChatClientResponse:
        self._seen.append("after")
        return response

    def next_instructions(
        self, request: ChatClientRequest, response: ChatClientResponse, execution: ToolExecution
    ) -> Sequence[Message]:
        self._seen.append("next")
        return super().next_instructions(request, response, execution)

    def finalize_loop(self, response: ChatClientResponse, chain: Any) -> ChatClientResponse:
        self._seen.append("finalize")
        return response

    def finalize_loop_stream(
        self, chunks: Generator[ChatClientResponse, None, None], chain: Any
    ) -> Generator[ChatClientResponse, None, None]:
        yield from chunks
        self._seen.append("finalize")


class AsyncStreamHooks(AsyncToolCallingAdvisor):
    def __init__(self, *, seen: list[str], **settings: Any) -> None:
        self._seen = seen
        super().__init__(**settings)

    async def initialize_loop_stream(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
        self._seen.append("initialize")
        return request

    async def before_stream(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
        self._seen.append("before")
        return request

    async def next_instructions_stream(
        self, request: ChatClientRequest, response: ChatClientResponse, execution: ToolExecution
    ) -> Sequence[Message]:
        self._seen.append(f"next after {[call.name for call in response.tool_calls]}")
        return execution.history[-1:]


class StreamHooks(ToolCallingAdvisor):
    def __init__(self, *, seen: list[str], **settings: Any) -> None:
        self._seen = seen
        super().__init__(**settings)

    def initialize_loop_stream(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
        self._seen.append("initialize")
        return request

    def before_stream(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
        self._seen.append("before")
        return request

    def next_instructions_stream(
        self, request: ChatClientRequest, response: ChatClientResponse, execution: ToolExecution
    ) -> Sequence[Message]:
        self._seen.append(f"next after {[call.name for call in response.tool_calls]}")
        return execution.history[-1:]
