"""Units of work on aiosqlite: each is one call of its connection's thread.

A call costs more than most statements, so a unit's transaction, statements and rows are not calls of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar, cast

import aiosqlite
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool, StaticPool

from .base import Unit

T = TypeVar("T")

Statements = Sequence[tuple[str, tuple[str, ...]]]
"""SQL with its parameters."""

_INTERRUPT_EVERY_S: Final = 0.005


def open_pool(path: str, statements: Statements, *, size: int, timeout: float) -> AsyncEngine:
    """Returns an engine on a file, whose `size` connections are opened as they are needed and begin with these statements.
    `timeout`: seconds that a statement waits for a lock of another program."""
    engine = create_async_engine(
        sa.URL.create("sqlite+aiosqlite", database=path),
        pool_size=size,
        max_overflow=0,
        pool_timeout=None,
        pool_reset_on_return=None,  # units leave no transaction
        # None: units begin transactions, not the driver.
        connect_args={"isolation_level": None, "timeout": timeout},
    )

    def begin(raw: sqlite3.Connection) -> None:
        for sql, params in statements:
            raw.execute(sql, params).fetchall()

    def connected(connection: Any, record: Any) -> None:
        connection.run_async(lambda aio: aio._execute(begin, aio._conn))  # noqa: SLF001 - one call, not four for each statement

    event.listen(engine.sync_engine, "connect", connected)
    return engine


@dataclass(frozen=True, slots=True)
class OpenConnection:
    """A connection that is checked out of a pool for good: checking it out for each unit costs more than the call of the unit.

    `connection` is SQLAlchemy's synchronous interface to the driver's connection under aiosqlite's. A transaction begins with
    the first statement that SQLAlchemy runs, unless one has begun: a prepared read needs none.
    """

    pooled: AsyncConnection
    aio: aiosqlite.Connection
    connection: sa.Connection

    @classmethod
    async def of(cls, pool: AsyncEngine) -> OpenConnection:
        pooled = await pool.connect()
        aio = (await pooled.get_raw_connection()).driver_connection
        assert aio is not None  # noqa: S101 - it has just been taken from the pool
        raw = aio._conn  # noqa: SLF001 - as SQLAlchemy's adapter does
        lent = StaticPool(lambda: raw, reset_on_return=None).connect()
        return cls(pooled, aio, sa.Connection(UNITS, lent))


UNITS: Final = sa.create_engine("sqlite://", poolclass=NullPool)
"""The dialect of every unit, and the statements that SQLAlchemy compiled. Its own connections are databases in memory."""


@event.listens_for(UNITS, "begin")
def _begin(connection: sa.Connection) -> None:
    raw = driver(connection)
    if not raw.in_transaction:
        raw.execute("BEGIN")


def driver(connection: sa.Connection) -> sqlite3.Connection:
    """Returns the driver's connection under a unit's."""
    return cast("sqlite3.Connection", connection.connection.dbapi_connection)


def roll_back(connection: sa.Connection) -> None:
    """Ends the driver's transaction, and what SQLAlchemy knows of it. Does nothing after a commit."""
    driver(connection).rollback()
    if connection.in_transaction():
        connection.rollback()


class Threads:
    """Connections on a file, up to `size`, each with aiosqlite's thread. A unit is one call of a thread."""

    def __init__(self, path: str, statements: Statements, *, size: int, timeout: float) -> None:
        self._pool = open_pool(path, statements, size=size, timeout=timeout)
        self.size = size
        self.used = 0
        """Units that run."""
        self._slots = asyncio.Semaphore(size)
        self._free: list[OpenConnection] = []

    async def run(self, unit: Unit[T], begin: str = "") -> T:
        """Runs a unit, the statement `begin` before it and the commit after it, when a connection is free. If the caller is
        canceled, the statement of the unit is interrupted."""
        async with self._slots:
            taken = self._free.pop() if self._free else await self._opened()
            self.used += 1
            try:
                call: _Call[T] = _Call(taken.aio, partial(_transact, taken.connection, begin, unit))
                return await call.run()
            finally:
                self.used -= 1
                self._free.append(taken)

    async def _opened(self) -> OpenConnection:
        """Opens a connection. If the caller is canceled, waits for it: its thread must not outlive the event loop."""
        opening = asyncio.ensure_future(OpenConnection.of(self._pool))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                self._free.append(await opening)
            raise

    async def aclose(self) -> None:
        """Closes the connections. No unit runs."""
        for connection in self._free:
            await connection.pooled.close()
        await self._pool.dispose()


def _transact(connection: sa.Connection, begin: str, unit: Unit[T]) -> T:
    raw = driver(connection)
    try:
        if begin:
            raw.execute(begin)
        result = unit(connection)
        raw.commit()
    finally:
        roll_back(connection)
    return result


class _Call(Generic[T]):
    """A call of aiosqlite's thread. The thread holds the last call it ran, so results are taken out of it."""

    def __init__(self, connection: aiosqlite.Connection, function: Callable[[], T]) -> None:
        self._connection = connection
        self._function: Callable[[], T] | None = function
        self._result: T | None = None
        self._error: BaseException | None = None
        self._guard = threading.Lock()
        self._running = self._canceled = self._ended = False

    async def run(self) -> T:
        try:
            await self._connection._execute(self._run)  # type: ignore[no-untyped-call]  # noqa: SLF001 - it has no other way in
        except asyncio.CancelledError:
            await asyncio.shield(self._stop())
            raise
        result, error = self._result, self._error
        self._result = self._error = None
        if error is not None:
            try:
                raise error
            finally:
                del error
        return cast("T", result)

    def _run(self) -> None:
        function, self._function = self._function, None
        try:
            with self._guard:
                if self._canceled:
                    return
                self._running = True
            assert function is not None  # noqa: S101 - it runs once
            self._result = function()
        except BaseException as exc:  # raised where the result is awaited
            self._error = exc
        finally:
            with self._guard:
                self._running = False
            self._ended = True

    async def _stop(self) -> None:
        """Interrupts until the call has ended: an interrupt between two statements has no effect."""
        while not self._ended:
            with self._guard:
                self._canceled = True
                if self._running:
                    await self._connection.interrupt()  # does not suspend
            await asyncio.sleep(_INTERRUPT_EVERY_S)
        self._result = self._error = None
