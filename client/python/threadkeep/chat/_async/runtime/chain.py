"""Advisors around a model, in the order in which a request passes them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Protocol, cast, runtime_checkable

from ...errors import InvalidChain
from ...types.requests import ChatClientRequest, ChatClientResponse
from ..providers.model import AsyncChatModel, closable

Chunks = AsyncGenerator[ChatClientResponse, None]


@runtime_checkable
class AsyncAdvisor(Protocol):
    """Sees each request before the model and each response after it, and may change, repeat or answer requests.

    Advisors are sorted by `order`, equal ones as they were passed; the lowest is outermost. One object serves many requests at
    the same time: keep the state of a request in its context.
    """

    @property
    def name(self) -> str:
        """Name in logs and spans."""

    @property
    def order(self) -> int: ...

    async def advise_call(self, request: ChatClientRequest, chain: AsyncAdvisorChain) -> ChatClientResponse:
        """Continues with `chain.next_call(request)`, any number of times."""

    def advise_stream(self, request: ChatClientRequest, chain: AsyncAdvisorChain) -> AsyncIterator[ChatClientResponse]:
        """Yields the response in chunks, with `chain.next_stream(request)`. Closing it closes the inner streams."""


class AsyncAdvisorChain:
    """The inner advisors of an advisor, then the model. Immutable: it can be called many times."""

    __slots__ = ("_advisors", "_at", "_model")

    def __init__(self, advisors: Sequence[AsyncAdvisor], model: AsyncChatModel) -> None:
        """Raises InvalidChain for duplicate advisors."""
        self._advisors = tuple(sorted(advisors, key=lambda advisor: advisor.order))
        if len({id(advisor) for advisor in advisors}) < len(self._advisors):
            raise InvalidChain("a chain contains the same advisor twice; pass it once")
        self._model = model
        self._at = 0

    @property
    def model(self) -> AsyncChatModel:
        return self._model

    @property
    def advisors(self) -> tuple[AsyncAdvisor, ...]:
        """All advisors, outermost first."""
        return self._advisors

    @property
    def inner(self) -> tuple[AsyncAdvisor, ...]:
        """The advisors that a call from here still passes."""
        return self._advisors[self._at :]

    async def next_call(self, request: ChatClientRequest) -> ChatClientResponse:
        """Returns the response of the next advisor, or of the model."""
        if self._at < len(self._advisors):
            return await self._advisors[self._at].advise_call(request, self._from(self._at + 1))
        return ChatClientResponse(await self._model.call(request.prompt), request.context)

    async def next_stream(self, request: ChatClientRequest) -> Chunks:
        """Yields the response in chunks. Close it if you do not read it to its end."""
        if self._at < len(self._advisors):
            source = self._advisors[self._at].advise_stream(request, self._from(self._at + 1))
            async with aclosing(cast("Chunks", source)) as chunks:
                async for chunk in chunks:
                    yield chunk
        else:
            async with aclosing(closable(self._model.stream(request.prompt))) as answer:
                async for piece in answer:
                    yield ChatClientResponse(piece, request.context)

    def after(self, advisor: AsyncAdvisor) -> AsyncAdvisorChain:
        """Returns the chain after this advisor, from any position. Raises InvalidChain for an unknown advisor."""
        for at, each in enumerate(self._advisors):
            if each is advisor:
                return self._from(at + 1)
        raise InvalidChain(f"the advisor {advisor.name!r} is not in this chain")

    def _from(self, at: int) -> AsyncAdvisorChain:
        chain = object.__new__(AsyncAdvisorChain)
        chain._advisors, chain._model, chain._at = self._advisors, self._model, at
        return chain
