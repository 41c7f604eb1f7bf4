"""One implementation for frameworks that call a store both ways: asynchronous code over a client of either kind.

Code of an adapter is asynchronous and calls the server through `Calls`. With an AsyncClient it runs in the client's event loop;
blocking callers in other threads wait for it. With a Client it runs in the caller's thread, where each call blocks; event loops
leave the calls to threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any, Generic, TypeVar, cast

from .._async.client import AsyncClient
from .._sync.client import Client

T = TypeVar("T")
R = TypeVar("R")
AnyClient = AsyncClient | Client


class Calls:
    """Calls of a client, awaited: `await calls(lambda client: client.append(...))`."""

    def __init__(self, client: AnyClient, *, blocking: bool = False) -> None:
        self._client = client
        self._blocking = blocking

    async def __call__(self, request: Callable[[AsyncClient], Awaitable[T]]) -> T:
        """The result of a request. A Client has the same methods, so it is given to the function in an AsyncClient's place."""
        if isinstance(self._client, AsyncClient):
            return await request(self._client)
        blocking = cast("Callable[[Client], T]", request)
        if self._blocking:
            return blocking(self._client)
        return await asyncio.to_thread(blocking, self._client)


class _End:
    """The end of an iteration."""


_END = _End()


class Bridge(Generic[T]):
    """The two forms of an adapter's code: `awaited` for coroutines, and `blocking`, whose coroutines `run` carries out."""

    def __init__(self, client: AnyClient, make: Callable[[Calls], T]) -> None:
        """`make`: makes the adapter's code from its calls."""
        self._client = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._awaited = make(Calls(client))
        self.blocking = self._awaited if isinstance(client, AsyncClient) else make(Calls(client, blocking=True))
        self._remember_loop()

    @property
    def awaited(self) -> T:
        """The code for the running event loop."""
        self._remember_loop()
        return self._awaited

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """The result of a coroutine of `blocking`. Raises RuntimeError where an AsyncClient would wait for itself."""
        if isinstance(self._client, AsyncClient):
            return asyncio.run_coroutine_threadsafe(work, self._other_loop(work)).result()
        try:
            work.send(None)
        except StopIteration as done:
            return cast("R", done.value)
        raise RuntimeError("a blocking call was suspended")

    def iterate(self, items: AsyncIterator[R]) -> Iterator[R]:
        """The items of an iterator of `blocking`, each when it is reached."""

        async def step() -> R | _End:
            return await anext(items, _END)

        while not isinstance(item := self.run(step()), _End):
            yield item

    def _remember_loop(self) -> None:
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            return

    def _other_loop(self, work: Coroutine[Any, Any, Any]) -> asyncio.AbstractEventLoop:
        try:
            here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if self._loop is None or self._loop.is_closed() or here is self._loop:
            work.close()
            raise RuntimeError(
                "an AsyncClient cannot serve blocking calls here: use the asynchronous methods, such as ainvoke, or make the "
                "store with a threadkeep.Client"
            )
        return self._loop


def chunks(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """The items in requests of at most so many."""
    for start in range(0, len(items), most):
        yield items[start : start + most]
