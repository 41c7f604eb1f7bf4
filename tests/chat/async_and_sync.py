"""Helpers that run one test for both forms of the kit. The test awaits and uses names without the prefix `Async`."""

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
    """One form of the kit: `kit.ChatClient` is AsyncChatClient or ChatClient, `kit.Client` is a class of the SDK.

    `kit.of(...)` makes a call and `kit.all(...)` reads a stream in either form."""

    is_async: bool

    def __getattr__(self, name: str) -> Any:
        source = threadkeep if name == "Client" else chat
        return getattr(source, f"Async{name}" if self.is_async else name)

    async def of(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Returns the result of the call in either form; a blocking call runs in a thread."""
        if inspect.iscoroutinefunction(call):
            return await call(*args, **kwargs)
        found = await asyncio.to_thread(call, *args, **kwargs)
        return await found if inspect.isawaitable(found) else found

    async def all(self, stream: AsyncIterator[Any] | Iterator[Any]) -> list[Any]:
        """Returns all items of a stream."""
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
        """Returns an advisor of this form. `before` and `after` may return a replacement or None."""
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
    """Calls a chain or client in one way: with `call` or with `stream`."""

    kit: Kit
    streams: bool

    async def ask(self, target: Any, *args: Any) -> list[ChatClientResponse]:
        """Calls a chain (`next_call`, `next_stream`) or a prompt (`call`, `stream`). Returns one answer, or all chunks."""
        of_chain = hasattr(target, "next_call")
        if self.streams:
            return await self.kit.all((target.next_stream if of_chain else target.stream)(*args))
        return [await self.kit.of(target.next_call if of_chain else target.call, *args)]


def response_of(answers: list[ChatClientResponse]) -> chat.ChatResponse:
    """Returns the model's response in the last answer."""
    response = answers[-1].response
    assert response is not None
    return response


def text_of(answers: list[ChatClientResponse]) -> str:
    return "".join(answer.text for answer in answers)
