"""A minimal memory advisor, for tests of the loop and the client around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from threadkeep.chat import ChatClientRequest, Message

from .async_and_sync import Kit


def memory_at(kit: Kit, order: int, seen: list[list[str]]) -> Any:
    """Returns a memory that stores nothing and records the roles of the messages of each round."""

    def note(request: ChatClientRequest) -> ChatClientRequest:
        seen.append([message.role.value for message in request.messages])
        return request

    if kit.is_async:

        class RecordingLoop(kit.BaseAdvisor):  # type: ignore[name-defined]
            async def before(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
                return note(request)

            async def record(self, request: ChatClientRequest, messages: Sequence[Message]) -> None: ...
            async def pending(self, request: ChatClientRequest) -> None: ...

        return RecordingLoop(order=order)

    class SyncRecording(kit.BaseAdvisor):  # type: ignore[name-defined]
        def before(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
            return note(request)

        def record(self, request: ChatClientRequest, messages: Sequence[Message]) -> None: ...
        def pending(self, request: ChatClientRequest) -> None: ...

    return SyncRecording(order=order)
