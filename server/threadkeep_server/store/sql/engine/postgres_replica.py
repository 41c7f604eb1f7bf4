"""Reads on a replica that miss nothing.

A replica is behind, so a read must not run there before the replica has every commit that any server acknowledged before the
read began. How far that is, is the primary's position in its log: one short statement for all reads that wait for it. The
replica is used once it has replayed that position, and else, after a short wait, the primary. So it does not matter through
which server a client wrote, and no token has to travel.

Positions of different timelines cannot be compared: a replica that followed a primary which failed may be further in a log
that exists no more. So it must have the same incarnations too: each new primary begins one before it is written to (see
schema/incarnations.py).
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from ..schema.tables import INCARNATIONS, meta
from .base import SqlOptions
from .postgres_hosts import PostgresHosts
from .postgres_pool import Pool
from .postgres_restarts import RUN

T = TypeVar("T")

_log = logging.getLogger(__name__)

_STORED = f"(SELECT value FROM {meta.name} WHERE key = '{INCARNATIONS}')"  # noqa: S608 - constants
# A commit that need not wait for the disk may be acknowledged before the log is flushed so far.
_WRITTEN = """\
CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END"""
_POSITION = f"SELECT ({_WRITTEN})::text, {RUN}, {_STORED}"
_REACHED = f"SELECT pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false), {_STORED}"
_ANSWERS_WITHIN_S = 1.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.02
# After a read that the replica could not serve, others do not try it for so long.
_AVOIDED_S = 1.0


class Position(NamedTuple):
    """How far the primary has written. `incarnations`: as stored; None: those of this run have not begun yet."""

    lsn: str
    incarnations: str | None


class Positions:
    """Reads the primary's position, at most once at a time: all who wait share the next one."""

    def __init__(self, read: Callable[[Callable[[sa.Connection], Position]], Awaitable[Position]]) -> None:
        self._read = read
        self._running: asyncio.Task[Position] | None = None
        self._next: asyncio.Task[Position] | None = None

    async def current(self) -> Position:
        """Returns a position that was read after this call began."""
        if self._next is None:
            self._next = asyncio.create_task(self._after(self._running))
            self._next.add_done_callback(_noticed)
        return await asyncio.shield(self._next)

    async def _after(self, running: asyncio.Task[Position] | None) -> Position:
        if running is not None:
            await asyncio.wait([running])
        # Who comes from now on may have been acknowledged a later commit.
        self._running, self._next = self._next, None
        return await self._read(_position)


def _noticed(reading: asyncio.Task[Position]) -> None:
    """An error is nobody's if all who waited were canceled."""
    if not reading.cancelled():
        reading.exception()


def _position(connection: sa.Connection) -> Position:
    lsn, run, stored = connection.exec_driver_sql(_POSITION).one()
    begun = stored is not None and json.loads(stored)["mark"].rpartition("/")[0] == run
    return Position(lsn, stored if begun else None)


class Missed(Exception):
    """The replica cannot serve the read: see the text."""


class PostgresReplica:
    """The replicas of a cluster. `wait_s`: how long a read waits for one that is behind."""

    def __init__(self, url: str, options: SqlOptions, positions: Positions) -> None:
        self._pool = Pool(PostgresHosts(url, wanted="standby", spread=True), options)
        self._wait_s = options.postgres_read_wait
        self._positions = positions
        self._avoided_until = 0.0
        self._problem = ""

    async def run(self, isolation: str, run: Callable[[sa.Connection], T], failed: Callable[[BaseException], bool]) -> T:
        """Runs a read that has everything acknowledged before the call. Raises Missed. `failed`: whether an error is one of
        the database, not of the read."""
        if time.monotonic() < self._avoided_until:
            raise Missed(self._problem)
        position = await self._positions.current()
        if position.incarnations is None:
            raise Missed("no server has begun an incarnation on this primary")
        try:
            async with self._pool.connection(isolation) as connection:
                try:
                    async with asyncio.timeout(self._wait_s + _ANSWERS_WITHIN_S):
                        await self._reach(connection, position)
                    result = await connection.run_sync(run)
                except (asyncio.CancelledError, TimeoutError):  # its state is unknown
                    await connection.invalidate()
                    raise
        except Missed as exc:
            self._avoid(str(exc))
            raise
        except Exception as exc:
            if not failed(exc):
                raise
            self._avoid(type(exc).__name__)
            raise Missed(self._problem) from exc
        self._is_back()
        return result

    async def _reach(self, connection: AsyncConnection, position: Position) -> None:
        """Returns when the replica has everything up to the position. Begins no transaction: its snapshot would be older."""
        driver: Any = (await connection.get_raw_connection()).driver_connection
        deadline, pause = time.monotonic() + self._wait_s, _FIRST_PAUSE_S
        while not await self._has(connection, driver, position):
            if time.monotonic() + pause > deadline:
                raise Missed("the replica is behind")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    @staticmethod
    async def _has(connection: AsyncConnection, driver: asyncpg.Connection, position: Position) -> bool:
        replica, reached, stored = await driver.fetchrow(_REACHED, position.lsn)
        if not replica:  # it was promoted
            await connection.invalidate()
            raise Missed("the host is no replica")
        return bool(reached) and stored == position.incarnations

    def _avoid(self, problem: str) -> None:
        if not self._problem:
            _log.warning("reads are served by the primary until a replica can serve them again: %s", problem)
        self._problem = problem
        self._avoided_until = time.monotonic() + _AVOIDED_S

    def _is_back(self) -> None:
        if self._problem:
            _log.info("reads are served by a replica again")
        self._problem = ""

    async def aclose(self) -> None:
        await self._pool.engine.dispose()
