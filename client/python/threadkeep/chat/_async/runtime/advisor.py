"""A base class for advisors, and the protocols of tool and memory advisors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Protocol, runtime_checkable

from ...types.aggregate import Aggregator
from ...types.messages import Message
from ...types.requests import ChatClientRequest, ChatClientResponse
from .chain import AsyncAdvisor, AsyncAdvisorChain


class AsyncBaseAdvisor:
    """An advisor with one method before and one after, for calls and streams.

    The chunks of a stream are passed on at once; `after` receives the whole answer after a stream without an error, and the
    reader does not see its changes.
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
        """Returns the request for the inner advisors."""
        return request

    async def after(self, response: ChatClientResponse, chain: AsyncAdvisorChain) -> ChatClientResponse:
        """Returns the response for the outer advisors."""
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
    """An advisor that runs the tool loop. A chain has at most one."""

    @property
    def runs_tools(self) -> bool: ...


@runtime_checkable
class AsyncMemoryAdvisor(AsyncAdvisor, Protocol):
    """An advisor that stores the conversation. Inside of a tool loop it also adds the history to each round."""

    async def record(self, request: ChatClientRequest, messages: Sequence[Message]) -> None:
        """Stores messages that the loop produced without calling the model: results that end the turn."""

    async def pending(self, request: ChatClientRequest) -> ChatClientResponse | None:
        """Returns, when resuming, the stored answer whose calls have no results, as if the model had just returned it."""
