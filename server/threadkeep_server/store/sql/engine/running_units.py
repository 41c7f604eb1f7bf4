"""The units of work that an engine completes before it closes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class RunningUnits:
    """The running units of one database."""

    def __init__(self) -> None:
        self._running: set[asyncio.Future[Any]] = set()

    async def complete(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits work that runs to its end even if the caller is canceled."""
        running = asyncio.ensure_future(work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return await asyncio.shield(running)

    @contextmanager
    def completing(self) -> Iterator[None]:
        """Has `aclose` wait for the body."""
        done = asyncio.get_running_loop().create_future()
        self._running.add(done)
        try:
            yield
        finally:
            self._running.discard(done)
            done.set_result(None)

    async def aclose(self) -> None:
        """Waits for the units."""
        await asyncio.gather(*self._running, return_exceptions=True)
