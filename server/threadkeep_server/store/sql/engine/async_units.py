"""Runs units of work on an AsyncEngine: each in a greenlet of the event loop's thread, for SQLite as for PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.util import await_only
from sqlalchemy.util.concurrency import in_greenlet

from .base import Unit

T = TypeVar("T")


class AsyncUnits:
    """The units of one database. Engines of the same database, as for each isolation level, share one of these."""

    def __init__(self) -> None:
        self._running: set[asyncio.Future[Any]] = set()
        # One thread: several would only take the interpreter lock from the event loop.
        self._computing = ThreadPoolExecutor(1, "computing")

    async def run(self, engine: AsyncEngine, unit: Unit[T], *, transaction: bool = False) -> T:
        """Runs a unit; in a `transaction`, which commits if it returns. If the caller is canceled, the statement is."""
        async with engine.begin() if transaction else engine.connect() as connection:
            return await connection.run_sync(unit)

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

    def run_in_thread(self, work: Callable[[], T]) -> T:
        """Runs work of a unit in another thread while the unit waits. A unit outside a greenlet runs it itself."""
        if not in_greenlet():
            return work()
        done: T = await_only(asyncio.get_running_loop().run_in_executor(self._computing, work))
        return done

    async def aclose(self) -> None:
        """Waits for the work that must complete."""
        await asyncio.gather(*self._running, return_exceptions=True)
        self._computing.shutdown(wait=False, cancel_futures=True)
