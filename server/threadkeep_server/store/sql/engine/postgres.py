"""PostgreSQL through asyncpg. Any number of servers may share one database."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import asyncpg
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.sql import ColumnElement
from sqlalchemy.util import await_only

from ..schema.tables import DERIVED, changes
from ..search.text_index import TextIndex, postgres_index
from ..vectors.index import VectorIndex
from ..vectors.pgvector import PgVector
from .base import SessionName, SqlOptions, Unit
from .postgres_listener import PostgresListener
from .postgres_order import HORIZON, ordered_from

T = TypeVar("T")

# SQLSTATE classes and codes; https://www.postgresql.org/docs/current/errcodes-appendix.html
_PROBLEMS = {
    "08": "the connection to the database failed",
    "53": "the database is out of resources",
    "53100": "the database's disk is full",
    "53300": "the database has too many connections",
    "57": "the database is shutting down or cancelled the statement",
    "57014": "the database cancelled the statement, it took too long",
    "58": "the database's host reports an error",
    "25006": "the database is read-only",
}
_RETRYABLE = ("40001", "40P01")
_ATTEMPTS = 4
_AUTOCOMMIT = "AUTOCOMMIT"
_SNAPSHOT = "REPEATABLE READ"


class PostgresEngine:
    """Engine on a PostgreSQL database."""

    name = "postgresql"
    durability = "unknown"
    change_order: tuple[sa.Column[Any], ...] = (changes.c.xid, changes.c.id)
    # Any number, as long as it is the same in every server.
    exclusive = "SELECT pg_advisory_xact_lock(7443000001)"

    def __init__(self, url: str, options: SqlOptions) -> None:
        self._engine: AsyncEngine = create_async_engine(
            url,
            pool_size=options.postgres_pool_size,
            max_overflow=0,
            pool_timeout=options.statement_timeout,
            connect_args={
                "timeout": 10,
                "server_settings": {
                    "application_name": "threadkeep",
                    # What is compiled for one statement takes longer than any of ours.
                    "jit": "off",
                    "statement_timeout": str(int(options.statement_timeout * 1000)),
                },
            },
            execution_options={"schema_translate_map": {DERIVED: None}},
        )
        self._listener = PostgresListener(options.postgres_listen_url or url, self.problem)
        self._xid_offset = 0
        self._writing: set[asyncio.Future[Any]] = set()
        self._computing = ThreadPoolExecutor(1, "postgres-aside")
        self._single_statements = self._engine.execution_options(isolation_level=_AUTOCOMMIT)
        # In READ COMMITTED each statement would see an instant of its own.
        self._snapshots = self._engine.execution_options(isolation_level=_SNAPSHOT)

    async def open_index(self) -> TextIndex:
        def unit(connection: sa.Connection) -> tuple[int, str, str, TextIndex]:
            connection.exec_driver_sql(self.exclusive)  # of two that make an extension at once one fails
            offset = ordered_from(connection)
            version, commit, fsync = (
                connection.execute(sa.text(f"SHOW {name}")).scalar_one()
                for name in ("server_version", "synchronous_commit", "fsync")
            )
            durability = f"synchronous_commit={commit}, fsync={fsync}"
            return offset, f"postgresql {version.split()[0]}", durability, postgres_index(connection)

        self._xid_offset, self.name, self.durability, index = await self.write(unit)
        return index

    async def open_vectors(self) -> VectorIndex | None:
        index = PgVector(self)

        def unit(connection: sa.Connection) -> bool:
            connection.exec_driver_sql(self.exclusive)
            return index.prepare(connection)

        return index if await self.write(unit) else None

    async def read(self, unit: Unit[T], *, snapshot: bool = False, short: bool = False) -> T:
        try:
            return await self._read(unit, snapshot)
        except DBAPIError as exc:
            # A pooled connection that died while idle: the pool has dropped it, reading again is safe.
            if not exc.connection_invalidated:
                raise
            return await self._read(unit, snapshot)

    async def _read(self, unit: Unit[T], snapshot: bool) -> T:
        if snapshot:
            async with self._snapshots.begin() as connection:
                return await connection.run_sync(unit)
        async with self._single_statements.connect() as connection:
            return await connection.run_sync(unit)

    async def write(self, unit: Unit[T], *, short: bool = False) -> T:
        writing = asyncio.ensure_future(self._write(unit))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return await asyncio.shield(writing)

    index = write

    async def _write(self, unit: Unit[T]) -> T:
        for attempt in range(_ATTEMPTS):
            try:
                async with self._engine.begin() as connection:
                    return await connection.run_sync(unit)
            except DBAPIError as exc:
                if attempt + 1 == _ATTEMPTS or _sqlstate(exc) not in _RETRYABLE:
                    raise
                await asyncio.sleep(0.01 * 2**attempt)
        raise AssertionError("unreachable")

    def take_turns(self, connection: sa.Connection, names: Collection[SessionName]) -> None:
        # Advisory locks, for those of rows give the transaction its xid. Taken in one order, or two could wait for each other.
        keys = sorted({_turn_key(name) for name in names})
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(key) FROM unnest($1::bigint[]) AS key", (keys,))

    def take_free_turns(self, connection: sa.Connection, names: Collection[SessionName]) -> Collection[SessionName]:
        keys = {name: _turn_key(name) for name in names}
        free = "SELECT key FROM unnest($1::bigint[]) AS key WHERE pg_try_advisory_xact_lock(key)"
        mine = set(connection.exec_driver_sql(free, (list(set(keys.values())),)).scalars())
        return {name for name, key in keys.items() if key in mine}

    def aside(self, work: Callable[[], T]) -> T:
        # The greenlet of a unit runs on the event loop. One thread: several would only take the interpreter lock from the loop.
        done: T = await_only(asyncio.get_running_loop().run_in_executor(self._computing, work))
        return done

    def fetch(self, connection: sa.Connection, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
        isolation, driver = connection.get_execution_options().get("isolation_level"), _driver(connection)
        if isolation == _AUTOCOMMIT or (isolation == _SNAPSHOT and driver.is_in_transaction()):
            # Straight to the driver, for a read outside a transaction or in a snapshot that has begun: SQLAlchemy's way to it
            # costs as much again. A broken connection is asked once more on that way, which drops it from the pool.
            with contextlib.suppress(asyncpg.InterfaceError, asyncpg.PostgresConnectionError, OSError):
                rows: Sequence[Sequence[Any]] = await_only(driver.fetch(sql, *params))
                return rows
        return connection.exec_driver_sql(sql, tuple(params)).all()

    def run_many(self, connection: sa.Connection, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        connection.exec_driver_sql(sql, [tuple(row) for row in rows])

    def contains(self, column: ColumnElement[Any], folded: str) -> ColumnElement[bool]:
        return sa.func.strpos(column, folded) > 0

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        return column == sa.any_(sa.bindparam(name, type_=sa.ARRAY(sa.BigInteger)))

    def keys(self, keys: Sequence[int]) -> Any:
        return list(keys)

    def settled(self) -> ColumnElement[bool]:
        # Ids are taken at insert and become visible at commit, so following them would skip rows for ever. A transaction
        # below the oldest one still running is settled, and so is everything that sorts before it.
        return changes.c.xid < sa.text(f"{HORIZON} + {self._xid_offset}" if self._xid_offset else HORIZON)

    async def listen(self, heard: Callable[[], None]) -> None:
        await self._listener.run(heard)

    def announce(self) -> None:
        self._listener.announce()

    def problem(self, error: BaseException) -> str | None:
        if isinstance(error, sa.exc.TimeoutError):
            return "every connection to the database is busy"
        if isinstance(error, OSError):
            return "the database does not answer"
        if not isinstance(error, (DBAPIError, asyncpg.PostgresError)):
            return None
        state = _sqlstate(error) or ""
        if (isinstance(error, DBAPIError) and error.connection_invalidated) or isinstance(error, sa.exc.InterfaceError):
            return "the connection to the database failed"
        return _PROBLEMS.get(state) or _PROBLEMS.get(state[:2])

    async def aclose(self) -> None:
        await asyncio.gather(*self._writing, return_exceptions=True)
        await self._engine.dispose()
        self._computing.shutdown(wait=False, cancel_futures=True)


def _turn_key(name: SessionName) -> int:
    tenant, session_id = name
    digest = hashlib.blake2b(f"{len(tenant)}:{tenant}{session_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _sqlstate(error: DBAPIError | asyncpg.PostgresError) -> str | None:
    return getattr(error.orig if isinstance(error, DBAPIError) else error, "sqlstate", None)


def _driver(connection: sa.Connection) -> asyncpg.Connection:
    driver = connection.connection.driver_connection
    assert driver is not None  # noqa: S101 - it has just been taken from the pool
    return driver
