"""A SQLite connection whose statements run in the event loop's own thread.

A call of a thread, and passing the interpreter lock back and forth for each row, takes several times as long as a few short
statements.
"""

from __future__ import annotations

import asyncio

import sqlalchemy as sa

from .sqlite_driver import DatabaseFile, OpenConnection


class LocalConnection:
    """One connection. Only the commit uses aiosqlite's thread."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self._opening = asyncio.Lock()
        self._open: OpenConnection | None = None

    async def open(self) -> sa.Connection:
        """Returns the connection, opened at the first call."""
        if self._open is None:
            async with self._opening:
                self._open = self._open or await OpenConnection.to(self._file)
        return self._open.connection

    async def commit(self) -> None:
        """Commits in aiosqlite's thread: it waits for the disk."""
        assert self._open is not None  # noqa: S101 - it is open, or there were no changes
        await self._open.aio.commit()

    async def aclose(self) -> None:
        if self._open is not None:
            await self._open.aclose()
