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
from sqlalchemy.pool import NullPool, StaticPool

from .base import Unit

T = TypeVar("T")

Statements = Sequence[tuple[str, tuple[str, ...]]]
"""SQL with its parameters."""

_INTERRUPT_EVERY_S: Final = 0.005


@dataclass(frozen=True, slots=True)
class DatabaseFile:
    """A file, and the statements that its connections begin with. `timeout`: seconds that a statement waits for a lock of
    another program."""

    path: str
    statements: Statements
    timeout: float


@dataclass(frozen=True, slots=True)
class OpenConnection:
    """A connection with aiosqlite's thread. It stays open: to check one out of a pool costs more than the call of a unit.

    `connection` is SQLAlchemy's synchronous interface to the driver's connection under aiosqlite's. A transaction begins with
    the first statement that SQLAlchemy runs, unless one has begun: a prepared read needs none.
    """

    aio: aiosqlite.Connection
    connection: sa.Connection

    @classmethod
    async def to(cls, file: DatabaseFile) -> OpenConnection:
        # isolation_level=None: units begin transactions, not the driver.
        aio = aiosqlite.connect(file.path, isolation_level=None, check_same_thread=False, timeout=file.timeout)
        aio._thread.daemon = True  # noqa: SLF001 - a process that fails ends without waiting for it
        raw: Any = (await aio)._conn  # noqa: SLF001 - the driver's connection, as SQLAlchemy's adapter has it

        def begin() -> None:
            for sql, params in file.statements:
                raw.execute(sql, params).fetchall()

        try:
            await aio._execute(begin)  # type: ignore[no-untyped-call]  # noqa: SLF001 - one call, not one for each statement
        except BaseException:
            await aio.close()
            raise
        lent = StaticPool(lambda: raw, reset_on_return=None).connect()
        return cls(aio, sa.Connection(UNITS, lent))

    async def aclose(self) -> None:
        await self.aio.close()


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

    def __init__(self, file: DatabaseFile, *, size: int) -> None:
        self._file = file
        self.size = size
        self.used = 0
        """Units that run."""
        self.slots = asyncio.Semaphore(size)
        """A unit that runs has one."""
        self._free: list[OpenConnection] = []

    async def run(self, unit: Unit[T], begin: str = "") -> T:
        """Runs a unit, the statement `begin` before it and the commit after it, when a connection is free. If the caller is
        canceled, the statement of the unit is interrupted."""
        async with self.slots:
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
        opening = asyncio.ensure_future(OpenConnection.to(self._file))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                self._free.append(await opening)
            raise

    async def aclose(self) -> None:
        """Closes the connections. No unit runs."""
        for connection in self._free:
            await connection.aclose()


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
