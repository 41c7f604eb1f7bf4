"""Threads that run units of work for an event loop, each on a connection of its own.

Leaner than an executor: a job is one object.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy import Connection, event
from sqlalchemy.pool import NullPool

from .base import Unit

T = TypeVar("T")


class _Job:
    """A unit and who waits for it."""

    def __init__(self, unit: Unit[Any]) -> None:
        self.unit = unit
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None
        self._guard = threading.Lock()
        self._running: sqlite3.Connection | None = None
        self._cancelled = False

    def run(self, connection: Connection) -> None:
        try:
            self._start(connection)
            self.result = self.unit(connection)
            end(connection, sqlite3.Connection.commit)
        except BaseException as exc:  # whatever it is, whoever waits must hear of it
            self.error = exc
            end(connection, sqlite3.Connection.rollback)
        finally:
            with self._guard:
                self._running = None

    def _start(self, connection: Connection) -> None:
        with self._guard:
            if self._cancelled:
                raise asyncio.CancelledError
            self._running = driver(connection)

    def interrupt(self) -> None:
        """Stops the statement that the job runs, and no later one; a job that has not begun will not."""
        with self._guard:
            self._cancelled = True
            if self._running is not None:
                self._running.interrupt()

    def settle(self) -> None:
        """In the loop."""
        if self.future.done():
            return
        if isinstance(self.error, asyncio.CancelledError):
            self.future.cancel()
        elif self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


def driver(connection: Connection) -> sqlite3.Connection:
    """The driver's connection under SQLAlchemy's."""
    return cast("sqlite3.Connection", connection.connection.dbapi_connection)


def end(connection: Connection, how: Callable[[sqlite3.Connection], None]) -> None:
    """Commits or rolls back, the driver's transaction and what SQLAlchemy thinks of it."""
    how(driver(connection))
    if connection.in_transaction():
        connection.rollback()


class Lane:
    """Threads named `name`, on connections made by `connect`. A job's transaction begins with the first statement that goes
    through SQLAlchemy, unless the job has begun one, so that a read of one prepared statement needs none."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], *, name: str, threads: int) -> None:
        self._engine = sa.create_engine("sqlite://", creator=connect, poolclass=NullPool)
        event.listen(self._engine, "begin", _begin)
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._work, name=f"sqlite-{name}-{i}", daemon=True) for i in range(threads)]
        for thread in self._threads:
            thread.start()

    async def run(self, unit: Unit[T], *, interruptible: bool) -> T:
        """The unit's result. Cancelled, an interruptible unit is stopped; another is completed, its result dropped."""
        job = _Job(unit)
        self._jobs.put(job)
        try:
            result: T = await job.future
        except asyncio.CancelledError:
            if interruptible:
                job.interrupt()
            raise
        return result

    def _work(self) -> None:
        connection: Connection | None = None
        while (job := self._jobs.get()) is not None:
            try:
                connection = connection or self._engine.connect()
                job.run(connection)
            except BaseException as exc:  # connecting failed: the next job tries again
                job.error = exc
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                job.loop.call_soon_threadsafe(job.settle)
            del job  # while the thread waits for another, it would hold this one and its result
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Completes what was accepted."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._engine.dispose()


def _begin(connection: Connection) -> None:
    raw = driver(connection)
    if not raw.in_transaction:
        raw.execute("BEGIN")
