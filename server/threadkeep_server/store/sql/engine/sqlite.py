"""SQLite through aiosqlite: a pool of one connection for writes, one of readers, and one for the search index."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from ...contract.maintenance import PoolUse
from ..schema.tables import DERIVED
from .base import Capability, Dialect, Locks, Peers, SqlOptions, Unit
from .running_units import RunningUnits
from .sqlite_dialect import NoLocks, NoPeers, SqliteDialect
from .sqlite_driver import UNITS, DatabaseFile, Statements, Threads, driver, roll_back
from .sqlite_local import LocalConnection
from .sqlite_lock import FileLock
from .unit_spans import unit_span

T = TypeVar("T")

_PROBLEMS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the database file is read-only",
    sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk reports an I/O error",
    sqlite3.SQLITE_BUSY: "the database file is locked by another program",
    sqlite3.SQLITE_CORRUPT: "the database file is damaged",
    sqlite3.SQLITE_NOTADB: "the file is not a database",
    sqlite3.SQLITE_PERM: "the database file may not be accessed",
}

_ROWS_A_STATEMENT = 128
# A transaction that reads before it writes must be the writer from the start, or lose what it read.
_SYSTEM = "sqlite"
_FILES = ("", "-wal", ".search", ".search-wal")
_BEGIN = "BEGIN IMMEDIATE"
# SQLAlchemy would begin a transaction with the first statement that it runs, and a unit may run prepared ones alone.
_SNAPSHOT = "BEGIN"


def _pragmas(options: SqlOptions) -> Statements:
    settings = ("journal_mode=WAL", f"synchronous={options.sqlite_synchronous}", "foreign_keys=ON", "cache_size=-8192")
    # secure_delete: deleted text must not stay in the file.
    return [(f"PRAGMA {setting}", ()) for setting in (*settings, "wal_autocheckpoint=10000", "secure_delete=ON")]


def peek(path: Path, unit: Unit[T]) -> T | None:
    """Reads a database that may be in use, changing nothing; None if there is none."""
    if not path.exists():
        return None
    engine = sa.create_engine(f"sqlite:///file:{path}?mode=ro&uri=true", poolclass=NullPool)
    with engine.connect() as connection:
        return unit(connection)


def derived_path(database: Path) -> Path:
    """The file of the derived tables: it may be deleted while no server runs, and is made again."""
    return database.with_name(database.name + ".search")


def _emptied(file: Path) -> bool:
    """Empties the write-ahead log of a file. Waits for nobody, because that would hold up writers."""
    with contextlib.closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as connection:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def _attach_derived(database: Path) -> Statements:
    """The derived tables. Not for the writer: BEGIN IMMEDIATE would lock them too."""
    return [
        (f"ATTACH DATABASE ? AS {DERIVED}", (str(derived_path(database)),)),
        # What is derived can be derived again: after a power cut it may lag, but WAL keeps it whole.
        (f"PRAGMA {DERIVED}.journal_mode=WAL", ()),
        (f"PRAGMA {DERIVED}.synchronous=NORMAL", ()),
        (f"PRAGMA {DERIVED}.secure_delete=ON", ()),
    ]


class SqliteEngine:
    """Engine on one SQLite file, which it locks against other servers."""

    capabilities: frozenset[Capability] = frozenset()
    of_writes = frozenset({*_PROBLEMS.values()} - {_PROBLEMS[sqlite3.SQLITE_BUSY]})

    def __init__(self, path: Path, options: SqlOptions) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Conversations are nobody else's business; SQLite gives its -wal and -shm files the mode of the file itself.
        self._lock = FileLock(path)
        if not derived_path(path).exists():
            derived_path(path).touch(mode=0o600)
        self.name = f"sqlite {sqlite3.sqlite_version}"
        self.durability = f"synchronous={options.sqlite_synchronous}"
        plain = _pragmas(options)
        with_derived = [*plain, *_attach_derived(path)]
        database, timeout = str(path), options.statement_timeout
        self._writer = Threads(DatabaseFile(database, plain, timeout), size=1)
        self._readers = Threads(DatabaseFile(database, with_derived, timeout), size=options.sqlite_readers)
        self._indexer = Threads(DatabaseFile(database, with_derived, timeout), size=1)
        # In the loop's thread nothing may wait for a lock.
        of_loop = DatabaseFile(database, plain, timeout=0)
        self._local_reads, self._local_writes = LocalConnection(of_loop), LocalConnection(of_loop)
        self._one_writer = asyncio.Lock()
        self.sql: Dialect = SqliteDialect()
        self.locks: Locks = NoLocks()
        self.peers: Peers = NoPeers()
        self._units = RunningUnits()
        self._path = path
        self._folder, self._least_free = path.parent, options.max_pending_bytes

    async def open(self) -> None:
        with UNITS.connect() as probe, contextlib.suppress(sa.exc.OperationalError):
            probe.exec_driver_sql("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram case_sensitive 1')")
            self.capabilities = frozenset({Capability.FTS5})

    def on_restart(self, unit: Unit[T], then: Callable[[T], None]) -> None:
        """Does nothing: the engine is the database."""

    async def read(
        self,
        unit: Unit[T],
        *,
        snapshot: bool = False,
        short: bool = False,
        replica: bool = False,
        tenants: Collection[str] | None = None,
    ) -> T:
        with unit_span(_SYSTEM, "read", unit):
            if short:
                try:
                    return self._read_here(await self._local_reads.open(), unit, snapshot)
                except sqlite3.OperationalError as exc:
                    if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                        raise
            with self._units.completing():
                return await self._readers.run(unit, _SNAPSHOT if snapshot else "")

    def _read_here(self, connection: sa.Connection, unit: Unit[T], snapshot: bool) -> T:
        try:
            if snapshot:
                driver(connection).execute(_SNAPSHOT)
            return unit(connection)
        finally:
            roll_back(connection)

    async def write(
        self, unit: Unit[T], *, short: bool = False, alone: bool = False, tenants: Collection[str] | None = None
    ) -> T:
        with unit_span(_SYSTEM, "write", unit):
            return await self._units.complete(self._write(unit, short))

    async def _write(self, unit: Unit[T], short: bool) -> T:
        async with self._one_writer:
            if short:
                return await self._write_here(unit)
            return await self._writer.run(unit, _BEGIN)

    async def _write_here(self, unit: Unit[T]) -> T:
        """Runs the statements in the loop's thread, as for short reads, and the commit outside it."""
        connection = await self._local_writes.open()
        try:
            driver(connection).execute(_BEGIN)
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            # Another program writes; the writer's thread can wait for it.
            return await self._writer.run(unit, _BEGIN)
        try:
            result = unit(connection)
            await self._local_writes.commit()
        finally:
            roll_back(connection)
        return result

    async def index(self, unit: Unit[T]) -> T:
        return await self._units.complete(self._indexer.run(unit))

    async def separately(self, unit: Unit[T]) -> T:
        return await self.write(unit)

    def run_in_thread(self, work: Callable[[], T]) -> T:
        return work()  # long units are in a thread already

    # Straight to the driver: SQLAlchemy's way to a cursor costs more than most of these statements do.
    def fetch(self, connection: sa.Connection, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
        return driver(connection).execute(sql, params).fetchall()

    def run_many(self, connection: sa.Connection, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        raw = driver(connection)
        if len(rows) == 1 or not sql.startswith("INSERT"):
            raw.executemany(sql, rows)
            return
        # Many rows a statement: the driver gives up the interpreter lock for each statement it runs, and a busy event loop
        # is slow to hand it back.
        head, rest = sql.rsplit("VALUES ", 1)
        values, conflict, otherwise = rest.partition(" ON CONFLICT ")
        start = 0
        while start < len(rows):
            size = min(_ROWS_A_STATEMENT, 1 << ((len(rows) - start).bit_length() - 1))
            parameters = list(chain.from_iterable(rows[start : start + size]))
            raw.execute(f"{head}VALUES {', '.join([values] * size)}{conflict}{otherwise}", parameters)
            start += size

    def pool(self) -> PoolUse:
        return PoolUse(self._readers.used, self._readers.size)

    def stored_bytes(self, connection: sa.Connection) -> int:
        files = [self._path.with_name(self._path.name + end) for end in _FILES]
        return sum(file.stat().st_size for file in files if file.exists())

    def waited_for_lock(self, error: BaseException) -> bool:
        return False

    def problem(self, error: BaseException) -> str | None:
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        if isinstance(cause, OSError):
            return cause.strerror or "the disk reports an error"
        code = getattr(cause, "sqlite_errorcode", None)
        return _PROBLEMS.get(code & 0xFF) if isinstance(code, int) else None

    async def keep_connections(self) -> None:
        return

    async def empty_logs(self) -> bool:
        return await self._units.complete(self._empty_logs())

    async def _empty_logs(self) -> bool:
        if not await asyncio.to_thread(_emptied, self._path):
            return False
        # Between two units of the indexer: they read before they write, and the snapshot of a log that was emptied meanwhile
        # cannot be written to. Other writers begin as such, and wait.
        async with self._indexer.slots:
            return await asyncio.to_thread(_emptied, derived_path(self._path))

    def low_space(self) -> str | None:
        disk = os.statvfs(self._folder)
        free = disk.f_bavail * disk.f_frsize
        if free >= self._least_free:
            return None
        return f"the disk is almost full: {free >> 20} MiB are free, less than max_pending_bytes"

    async def aclose(self) -> None:
        await self._units.aclose()
        for local in (self._local_reads, self._local_writes):
            await local.aclose()
        for threads in (self._indexer, self._readers, self._writer):
            await threads.aclose()
        self._lock.release()
