"""A SQLite connection whose statements run in the event loop's own thread.

A call of a thread, and passing the interpreter lock back and forth for each row, takes several times as long as a few short
statements.
"""

from __future__ import annotations

import asyncio

import aiosqlite
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from .sqlite_driver import synchronous


class LocalConnection:
    """One connection of a pool, with SQLAlchemy's synchronous interface. Only the commit uses aiosqlite's thread."""

    def __init__(self, pool: AsyncEngine) -> None:
        self._pool = pool
        self._opening = asyncio.Lock()
        self._pooled: AsyncConnection | None = None
        self._aio: aiosqlite.Connection | None = None
        self._connection: sa.Connection | None = None

    async def open(self) -> sa.Connection:
        """Returns the connection, opened at the first call."""
        if self._connection is None:
            async with self._opening:
                if self._connection is None:
                    await self._open()
        assert self._connection is not None  # noqa: S101 - it has just been opened
        return self._connection

    async def _open(self) -> None:
        self._pooled = await self._pool.connect()
        self._aio = (await self._pooled.get_raw_connection()).driver_connection
        assert self._aio is not None  # noqa: S101 - it has just been taken from the pool
        self._connection = synchronous(self._aio)

    async def commit(self) -> None:
        """Commits in aiosqlite's thread: it waits for the disk."""
        assert self._aio is not None  # noqa: S101 - it is open, or there were no changes
        await self._aio.commit()

    async def aclose(self) -> None:
        if self._pooled is not None:
            await self._pooled.close()
