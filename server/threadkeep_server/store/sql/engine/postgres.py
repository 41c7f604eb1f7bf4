"""PostgreSQL through asyncpg. Any number of servers may share one database."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.util import await_only

from ...contract.maintenance import PoolUse
from ..schema.row_security import TENANTS, secure, tenants_value
from .base import Capability, Dialect, Locks, Peers, SqlOptions, Unit
from .postgres_dialect import PostgresDialect, PostgresLocks
from .postgres_hosts import PostgresHosts
from .postgres_listener import PostgresListener
from .postgres_order import ordered_from
from .postgres_pool import AUTOCOMMIT, READS, SNAPSHOT, Pool, without_pool
from .postgres_replica import Missed, Positions, PostgresReplica
from .postgres_restarts import PostgresRestarts
from .postgres_separate import PooledConnection, SeparateConnections
from .running_units import RunningUnits
from .unit_spans import unit_span

T = TypeVar("T")

_CONNECTION_FAILED = "the connection to the database failed"
# What asyncpg itself raises on a connection that breaks while it is used, instead of an error of the database.
_BROKEN = (asyncpg.InterfaceError, asyncpg.InternalClientError)
# SQLSTATE classes and codes; https://www.postgresql.org/docs/current/errcodes-appendix.html
_PROBLEMS = {
    "08": _CONNECTION_FAILED,
    "53": "the database is out of resources",
    "53100": "the database's disk is full",
    "53300": "the database has too many connections",
    "57": "the database is shutting down or canceled the statement",
    "57014": "the database canceled the statement, it took too long",
    "58": "the database's host reports an error",
    "25006": "the database is read-only",
    "55P03": "another transaction of the database holds a lock for too long",
    "25P03": "a transaction paused for too long, and the database ended it",
}
_PROTOCOL = "08P01"
_LOCK_NOT_AVAILABLE = "55P03"
_RETRYABLE = ("40001", "40P01")
_ATTEMPTS = 4
_READ_ONLY = "25006"
# A unit that runs for longer may wait for a host that vanished.
_LONG_S = 2.0
_SYSTEM = "postgresql"
_SIZE = sa.text("SELECT pg_database_size(current_database())")


class LeftInTransaction(asyncpg.InterfaceError):  # type: ignore[misc]
    """A connection of the pool is within a transaction: writes on it would be acknowledged and never committed."""


class PostgresEngine:
    """Engine on a PostgreSQL database."""

    name = "postgresql"
    durability = "unknown"
    of_writes = frozenset(_PROBLEMS[state] for state in ("53100", "58", "25006"))
    capabilities = frozenset({Capability.TSVECTOR, Capability.FUNCTIONS, Capability.EXTENSIONS, Capability.SHARED})

    def __init__(self, url: str, options: SqlOptions) -> None:
        self._hosts = PostgresHosts(url)
        self._pool = Pool(self._hosts, options)
        self._row_security = options.row_security
        self._restarts = PostgresRestarts(self._pool.engine, without_pool(self._hosts, options))
        self._dialect = PostgresDialect()
        self.sql: Dialect = self._dialect
        self.locks: Locks = PostgresLocks()
        listening = PostgresHosts(options.postgres_listen_url) if options.postgres_listen_url else self._hosts
        self.peers: Peers = PostgresListener(listening, self.problem)
        self._separate = SeparateConnections(listening, options)
        self._units = RunningUnits()
        self._running: dict[object, float] = {}
        # Some connections stay for writes, however many reads wait.
        self._reading = asyncio.Semaphore(max(1, options.postgres_pool_size - 2))
        # One thread: several would only take the interpreter lock from the event loop.
        self._computing = ThreadPoolExecutor(1, "computing")
        # Behind a pooler, what is outside a transaction may run on several connections.
        self._single = READS if options.postgres_pooler else AUTOCOMMIT
        reads_url = options.postgres_read_url
        positions = Positions(partial(self.read, short=True))
        self._replica = PostgresReplica(reads_url, options, positions) if reads_url else None

    async def open(self) -> None:
        def unit(connection: sa.Connection) -> tuple[int, str, str]:
            connection.exec_driver_sql(self.sql.exclusive)  # see ordered_from
            offset = ordered_from(connection)
            if self._row_security:
                secure(connection)
            version, commit, fsync = (
                connection.execute(sa.text(f"SHOW {name}")).scalar_one()
                for name in ("server_version", "synchronous_commit", "fsync")
            )
            return offset, f"postgresql {version.split()[0]}", f"synchronous_commit={commit}, fsync={fsync}"

        self._dialect.xid_offset, self.name, self.durability = await self.write(unit)

    def on_restart(self, unit: Unit[T], then: Callable[[T], None]) -> None:
        self._restarts.run_after(unit, then)

    async def read(
        self,
        unit: Unit[T],
        *,
        snapshot: bool = False,
        short: bool = False,
        replica: bool = False,
        tenants: Collection[str] | None = None,
    ) -> T:
        isolation = SNAPSHOT if snapshot else self._single
        run = unit
        if self._row_security and tenants is not None:
            run, isolation = _restricted(unit, tenants), SNAPSHOT if snapshot else READS
        with unit_span(_SYSTEM, "read", unit):
            if replica and self._replica is not None:
                with contextlib.suppress(Missed):
                    return await self._replica.run(isolation, partial(_run_outside, unit=run), self._failed)
            try:
                return await self._read(run, isolation)
            except DBAPIError as exc:
                # A pooled connection that died while idle: the pool has dropped it, reading again is safe.
                if not exc.connection_invalidated:
                    raise
                return await self._read(run, isolation)

    async def _read(self, unit: Unit[T], isolation: str) -> T:
        async with self._reading:
            return await self._run(self._pool.connection(isolation), unit)

    def _failed(self, error: BaseException) -> bool:
        """Whether a read failed because of the database; a replica also cancels those that hold up what it replays."""
        state = _sqlstate(error) if isinstance(error, (DBAPIError, asyncpg.PostgresError)) else None
        return state in _RETRYABLE or self.problem(error) is not None

    async def write(
        self, unit: Unit[T], *, short: bool = False, alone: bool = False, tenants: Collection[str] | None = None
    ) -> T:
        with unit_span(_SYSTEM, "write", unit):
            if self._row_security and tenants is not None:
                return await self._units.complete(self._write(_restricted(unit, tenants), alone=False))
            return await self._units.complete(self._write(unit, alone))

    index = write

    async def separately(self, unit: Unit[T]) -> T:
        with unit_span(_SYSTEM, "separate", unit):
            return await self._run(self._separate.one(), unit)

    async def _write(self, unit: Unit[T], alone: bool) -> T:
        isolation = self._single if alone else None
        for attempt in range(_ATTEMPTS):
            try:
                return await self._run(self._pool.connection(isolation), unit)
            except DBAPIError as exc:
                if attempt + 1 == _ATTEMPTS or _sqlstate(exc) not in _RETRYABLE:
                    raise
                await asyncio.sleep(0.01 * 2**attempt)
        raise AssertionError("unreachable")

    async def _run(self, connecting: AbstractAsyncContextManager[AsyncConnection], unit: Unit[T]) -> T:
        """Runs a unit in a greenlet of the event loop's thread. If the caller is canceled, the statement is, and the connection
        is closed: its state is unknown. Raises LeftInTransaction."""
        async with connecting as connection:
            await self._restarts.handle()
            self._running[connection] = time.monotonic()
            try:
                return await connection.run_sync(_run_outside, unit)
            except (asyncio.CancelledError, LeftInTransaction):
                await connection.invalidate()
                raise
            except DBAPIError as exc:
                if _sqlstate(exc) == _READ_ONLY:  # it may be the primary no more
                    await connection.invalidate()
                raise
            finally:
                del self._running[connection]

    async def keep_connections(self) -> None:
        await self._hosts.watch(self._is_waiting)

    def _is_waiting(self) -> bool:
        """Whether a unit has been running for long."""
        return any(time.monotonic() - began > _LONG_S for began in self._running.values())

    def run_in_thread(self, work: Callable[[], T]) -> T:
        done: T = await_only(asyncio.get_running_loop().run_in_executor(self._computing, work))
        return done

    def fetch(self, connection: sa.Connection, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
        isolation, driver = connection.get_execution_options().get("isolation_level"), _driver(connection)
        if isolation == AUTOCOMMIT or (isolation in (SNAPSHOT, READS) and driver.is_in_transaction()):
            # The driver itself, for a read outside a transaction or in a snapshot that has begun: SQLAlchemy doubles the cost.
            # After a broken connection the read is repeated through SQLAlchemy, which drops the connection from the pool.
            with contextlib.suppress(*_BROKEN, asyncpg.PostgresConnectionError, OSError):
                rows: Sequence[Sequence[Any]] = await_only(driver.fetch(sql, *params))
                return rows
        return connection.exec_driver_sql(sql, tuple(params)).all()

    def run_many(self, connection: sa.Connection, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        connection.exec_driver_sql(sql, [tuple(row) for row in rows])

    def pool(self) -> PoolUse:
        return self._pool.use()

    def stored_bytes(self, connection: sa.Connection) -> int:
        size: int = connection.execute(_SIZE).scalar_one()
        return size

    def waited_for_lock(self, error: BaseException) -> bool:
        return isinstance(error, DBAPIError) and _sqlstate(error) == _LOCK_NOT_AVAILABLE

    def problem(self, error: BaseException) -> str | None:
        if isinstance(error, sa.exc.TimeoutError):
            return "every connection to the database is busy"
        if isinstance(error, PooledConnection):
            return str(error)
        if isinstance(error, OSError):
            return "the database does not answer"
        if isinstance(error, _BROKEN):
            return _CONNECTION_FAILED
        if not isinstance(error, (DBAPIError, asyncpg.PostgresError)):
            return None
        state = _sqlstate(error) or ""
        if state == _PROTOCOL and "startup parameter" in str(error):
            return "it is a pooler that refuses settings of a connection; set database_pooler if it pools transactions"
        if (isinstance(error, DBAPIError) and error.connection_invalidated) or isinstance(error, sa.exc.InterfaceError):
            return _CONNECTION_FAILED
        return _PROBLEMS.get(state) or _PROBLEMS.get(state[:2])

    async def empty_logs(self) -> bool:
        return True

    def low_space(self) -> str | None:
        return None

    async def aclose(self) -> None:
        await self._units.aclose()
        self._computing.shutdown(wait=False, cancel_futures=True)
        await self._pool.engine.dispose()
        if self._replica is not None:
            await self._replica.aclose()


def _restricted(unit: Unit[T], tenants: Collection[str]) -> Unit[T]:
    """Returns the unit with its transaction restricted to the rows of these tenants."""

    def restricted(connection: sa.Connection) -> T:
        connection.exec_driver_sql(f"SELECT set_config('{TENANTS}', $1, true)", (tenants_value(tenants),))
        return unit(connection)

    return restricted


def _sqlstate(error: DBAPIError | asyncpg.PostgresError) -> str | None:
    return getattr(error.orig if isinstance(error, DBAPIError) else error, "sqlstate", None)


def _run_outside(connection: sa.Connection, unit: Unit[T]) -> T:
    if _driver(connection).is_in_transaction():
        raise LeftInTransaction("a connection of the pool is in a transaction; it is closed")
    return unit(connection)


def _driver(connection: sa.Connection) -> asyncpg.Connection:
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - it has just been taken from the pool
    return driver
