# Generated from _async by `make sync-client`. Do not edit.
"""Advisors around a model, and the order in which a request passes them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Protocol, cast, runtime_checkable

from ...errors import InvalidChain
from ...types.requests import ChatClientRequest, ChatClientResponse
from ..providers.model import ChatModel, closable

Chunks = Generator[ChatClientResponse, None, None]


@runtime_checkable
class Advisor(Protocol):
    """Sees every request on its way in and every response on its way out, and may change, repeat or answer them itself.

    Advisors stand in ascending `order`, those of equal order as they were given; the lowest is outermost. One object serves
    many requests at once: what belongs to one request stands in its context.
    """

    @property
    def name(self) -> str:
        """For logs and spans; a chain holds no two advisors that are the same object."""

    @property
    def order(self) -> int: ...

    def advise_call(self, request: ChatClientRequest, chain: AdvisorChain) -> ChatClientResponse:
        """Goes on with `chain.next_call(request)`, as often as it likes."""

    def advise_stream(self, request: ChatClientRequest, chain: AdvisorChain) -> Iterator[ChatClientResponse]:
        """The same in chunks, with `chain.next_stream(request)`. Closing it closes what is further in."""


class AdvisorChain:
    """What is further in than who holds it: the rest of the advisors, then the model. Immutable: it may be asked many times."""

    __slots__ = ("_advisors", "_at", "_model")

    def __init__(self, advisors: Sequence[Advisor], model: ChatModel) -> None:
        """Raises InvalidChain if one advisor stands twice."""
        self._advisors = tuple(sorted(advisors, key=lambda advisor: advisor.order))
        if len({id(advisor) for advisor in advisors}) < len(self._advisors):
            raise InvalidChain("one advisor stands twice in a chain; give it once")
        self._model = model
        self._at = 0

    @property
    def model(self) -> ChatModel:
        return self._model

    @property
    def advisors(self) -> tuple[Advisor, ...]:
        """All of them, the outermost first."""
        return self._advisors

    @property
    def inner(self) -> tuple[Advisor, ...]:
        """Those that a call from here still passes."""
        return self._advisors[self._at :]

    def next_call(self, request: ChatClientRequest) -> ChatClientResponse:
        """What the next advisor, or the model, answers."""
        if self._at < len(self._advisors):
            return self._advisors[self._at].advise_call(request, self._from(self._at + 1))
        return ChatClientResponse(self._model.call(request.prompt), request.context)

    def next_stream(self, request: ChatClientRequest) -> Chunks:
        """The same in chunks. Close it when it is not read to its end."""
        if self._at < len(self._advisors):
            source = self._advisors[self._at].advise_stream(request, self._from(self._at + 1))
            with closing(cast("Chunks", source)) as chunks:
                for chunk in chunks:
                    yield chunk
        else:
            with closing(closable(self._model.stream(request.prompt))) as answer:
                for piece in answer:
                    yield ChatClientResponse(piece, request.context)

    def after(self, advisor: Advisor) -> AdvisorChain:
        """A chain of what stands after this advisor, wherever the holder stands. Raises InvalidChain if it is not in it."""
        for at, each in enumerate(self._advisors):
            if each is advisor:
                return self._from(at + 1)
        raise InvalidChain(f"the advisor {advisor.name!r} is not in this chain")

    def _from(self, at: int) -> AdvisorChain:
        chain = object.__new__(AdvisorChain)
        chain._advisors, chain._model, chain._at = self._advisors, self._model, at
        return chain
