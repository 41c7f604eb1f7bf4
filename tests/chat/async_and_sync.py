"""One test for both forms of the kit: it is written with `await`, and says names without their prefix."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import threadkeep
from threadkeep import chat
from threadkeep.chat.types.requests import ChatClientRequest, ChatClientResponse


@dataclass(frozen=True)
class Kit:
    """`kit.ChatClient` is AsyncChatClient or ChatClient, `kit.Client` the SDK's; `kit.of(...)` and `kit.all(...)` ask them."""

    is_async: bool

    def __getattr__(self, name: str) -> Any:
        source = threadkeep if name == "Client" else chat
        return getattr(source, f"Async{name}" if self.is_async else name)

    async def of(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What the call returns, whichever form it has; a blocking one runs in a thread."""
        if inspect.iscoroutinefunction(call):
            return await call(*args, **kwargs)
        found = await asyncio.to_thread(call, *args, **kwargs)
        return await found if inspect.isawaitable(found) else found

    async def all(self, stream: AsyncIterator[Any] | Iterator[Any]) -> list[Any]:
        """Everything that a stream yields."""
        if isinstance(stream, AsyncIterator):
            return [item async for item in stream]
        return await asyncio.to_thread(list, stream)

    def advisor(
        self,
        *,
        name: str = "test",
        order: int = 0,
        before: Callable[[ChatClientRequest], ChatClientRequest | None] = lambda request: None,
        after: Callable[[ChatClientResponse], ChatClientResponse | None] = lambda response: None,
    ) -> Any:
        """An advisor of this form; what `before` and `after` return goes on, None leaves it."""
        base = self.BaseAdvisor
        if self.is_async:

            class Async(base):  # type: ignore[misc, valid-type]
                async def before(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
                    return before(request) or request

                async def after(self, response: ChatClientResponse, chain: Any) -> ChatClientResponse:
                    return after(response) or response

            return Async(name=name, order=order)

        class Sync(base):  # type: ignore[misc, valid-type]
            def before(self, request: ChatClientRequest, chain: Any) -> ChatClientRequest:
                return before(request) or request

            def after(self, response: ChatClientResponse, chain: Any) -> ChatClientResponse:
                return after(response) or response

        return Sync(name=name, order=order)


@dataclass(frozen=True)
class Way:
    """How a chain or client is asked: whole, or in chunks."""

    kit: Kit
    streams: bool

    async def ask(self, asked: Any, *args: Any) -> list[ChatClientResponse]:
        """What comes out of a chain (`next_call`, `next_stream`) or a prompt (`call`, `stream`): one answer, or all chunks."""
        of_chain = hasattr(asked, "next_call")
        if self.streams:
            return await self.kit.all((asked.next_stream if of_chain else asked.stream)(*args))
        return [await self.kit.of(asked.next_call if of_chain else asked.call, *args)]


def response_of(answers: list[ChatClientResponse]) -> chat.ChatResponse:
    """What the last answer is of a model."""
    response = answers[-1].response
    assert response is not None
    return response


def text_of(answers: list[ChatClientResponse]) -> str:
    return "".join(answer.text for answer in answers)
