"""A base class for advisors, and the protocols of advisors that others look for: of tools and of memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Protocol, runtime_checkable

from ...types.aggregate import Aggregator
from ...types.messages import Message
from ...types.requests import ChatClientRequest, ChatClientResponse
from .chain import AsyncAdvisor, AsyncAdvisorChain


class AsyncBaseAdvisor:
    """An advisor that does something before and after: override `before` and `after`, and both ways of calling work.

    On the way of a stream the chunks pass at once; `after` is given the whole answer when it has ended well, and what it
    changes is not seen by who reads the stream.
    """

    def __init__(self, *, name: str = "", order: int = 0) -> None:
        self._name = name or type(self).__name__
        self._order = order

    @property
    def name(self) -> str:
        return self._name

    @property
    def order(self) -> int:
        return self._order

    async def before(self, request: ChatClientRequest, chain: AsyncAdvisorChain) -> ChatClientRequest:
        """What goes further in."""
        return request

    async def after(self, response: ChatClientResponse, chain: AsyncAdvisorChain) -> ChatClientResponse:
        """What goes further out."""
        return response

    async def advise_call(self, request: ChatClientRequest, chain: AsyncAdvisorChain) -> ChatClientResponse:
        return await self.after(await chain.next_call(await self.before(request, chain)), chain)

    async def advise_stream(self, request: ChatClientRequest, chain: AsyncAdvisorChain) -> AsyncIterator[ChatClientResponse]:
        whole = Aggregator()
        async with aclosing(chain.next_stream(await self.before(request, chain))) as chunks:
            async for chunk in chunks:
                whole.add(chunk)
                yield chunk
        await self.after(whole.response(), chain)


@runtime_checkable
class AsyncToolAdvisor(AsyncAdvisor, Protocol):
    """An advisor that runs the loop of tools. A chain has at most one."""

    @property
    def runs_tools(self) -> bool: ...


@runtime_checkable
class AsyncMemoryAdvisor(AsyncAdvisor, Protocol):
    """An advisor that stores the conversation. Inside of a loop of tools it also gives each round its history."""

    async def record(self, request: ChatClientRequest, messages: Sequence[Message]) -> None:
        """Stores what the loop produced without asking the model again: results that end the turn."""

    async def pending(self, request: ChatClientRequest) -> ChatClientResponse | None:
        """When resuming: the stored answer whose tool calls nobody has answered, as if the model had just given it."""
