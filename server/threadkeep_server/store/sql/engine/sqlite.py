"""SQLite: one writer connection, a pool of readers, and a third lane for the search index, each in threads of their own."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import NullPool
from sqlalchemy.sql import ColumnElement

from ..schema.tables import DERIVED, changes
from ..search.text_index import TextIndex, sqlite_index
from ..vectors.index import VectorIndex
from .base import SessionName, SqlOptions, Unit
from .sqlite_threads import Lane, driver, end

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
_BEGIN = "BEGIN IMMEDIATE"


class DatabaseInUse(RuntimeError):
    """Another server holds the database file."""


class _FileLock:
    """Held as long as the engine lives; the kernel drops it when the process dies, however it dies."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + ".lock")
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            os.close(self._fd)
            if exc.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            message = (
                f"{database} is in use by another Threadkeep server; stop it, or give this one another file "
                "(THREADKEEP_DATABASE_URL) or a PostgreSQL database, which several servers can share"
            )
            raise DatabaseInUse(message) from None

    def release(self) -> None:
        os.close(self._fd)


def _connect(path: Path, options: SqlOptions) -> sqlite3.Connection:
    # isolation_level None: SQLAlchemy's begin event decides how a transaction begins, not the driver.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=options.statement_timeout)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={options.sqlite_synchronous}")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA cache_size=-8192")
    connection.execute("PRAGMA wal_autocheckpoint=10000")
    return connection


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


def _connect_derived(path: Path, options: SqlOptions) -> sqlite3.Connection:
    """With the derived tables. Not for the writer: BEGIN IMMEDIATE would lock them too."""
    connection = _connect(path, options)
    connection.execute("ATTACH DATABASE ? AS " + DERIVED, (str(derived_path(path)),))
    # What is derived can be derived again: after a power cut it may lag, but WAL keeps it whole.
    connection.execute(f"PRAGMA {DERIVED}.journal_mode=WAL")
    connection.execute(f"PRAGMA {DERIVED}.synchronous=NORMAL")
    return connection


def _in_transaction(unit: Unit[T], connection: sa.Connection) -> T:
    driver(connection).execute(_BEGIN)
    return unit(connection)


class SqliteEngine:
    """Engine on one SQLite file, which it locks against other servers."""

    exclusive = ""  # BEGIN IMMEDIATE
    # One writer: ids ascend in the order of the commits.
    change_order: tuple[sa.Column[Any], ...] = (changes.c.id,)

    def __init__(self, path: Path, options: SqlOptions) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _FileLock(path)
        for file in (path, derived_path(path)):
            # Conversations are nobody else's business; SQLite gives its -wal and -shm files the mode of the file itself.
            if not file.exists():
                file.touch(mode=0o600)
        self.name = f"sqlite {sqlite3.sqlite_version}"
        self.durability = f"synchronous={options.sqlite_synchronous}"
        with_derived = partial(_connect_derived, path, options)
        self._writer = Lane(partial(_connect, path, options), name="writer", threads=1)
        self._readers = Lane(with_derived, name="reader", threads=options.sqlite_readers)
        self._indexer = Lane(with_derived, name="indexer", threads=1)
        unwaiting = partial(_connect, path, replace(options, statement_timeout=0))
        self._here = sa.create_engine("sqlite://", creator=unwaiting, poolclass=NullPool)
        self._reading_here: sa.Connection | None = None
        self._writing_here: sa.Connection | None = None
        self._one_writer = asyncio.Lock()

    async def open_index(self) -> TextIndex:
        return sqlite_index()

    async def open_vectors(self) -> VectorIndex | None:
        return None

    async def read(self, unit: Unit[T], *, snapshot: bool = False, short: bool = False) -> T:
        if short:
            # In the loop's own thread: handing a short read over, and the interpreter lock back and forth for each of its
            # rows, would take several times as long as the read.
            try:
                return self._read_here(unit)
            except sqlite3.OperationalError as exc:
                if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise
        return await self._readers.run(unit, interruptible=True)

    def _read_here(self, unit: Unit[T]) -> T:
        connection = self._reading_here = self._reading_here or self._here.connect()
        try:
            return unit(connection)
        finally:
            end(connection, sqlite3.Connection.rollback)

    async def write(self, unit: Unit[T], *, short: bool = False) -> T:
        writing = asyncio.ensure_future(self._write(unit, short))
        return await asyncio.shield(writing)

    async def _write(self, unit: Unit[T], short: bool) -> T:
        async with self._one_writer:
            if short:
                return await self._write_here(unit)
            return await self._writer.run(partial(_in_transaction, unit), interruptible=False)

    async def _write_here(self, unit: Unit[T]) -> T:
        """Statements in the loop's thread, as for short reads; the commit, which waits for the disk, in the writer's."""
        connection = self._writing_here = self._writing_here or self._here.connect()
        raw = driver(connection)
        try:
            raw.execute(_BEGIN)
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            # Another program writes; the writer's thread can wait for it.
            return await self._writer.run(partial(_in_transaction, unit), interruptible=False)
        try:
            result = unit(connection)
            await self._writer.run(lambda _: raw.commit(), interruptible=False)
        except Exception:
            end(connection, sqlite3.Connection.rollback)
            raise
        end(connection, sqlite3.Connection.commit)
        return result

    async def index(self, unit: Unit[T]) -> T:
        return await self._indexer.run(unit, interruptible=False)

    def take_turns(self, connection: sa.Connection, names: Collection[SessionName]) -> None:
        """BEGIN IMMEDIATE was the turn."""

    def take_free_turns(self, connection: sa.Connection, names: Collection[SessionName]) -> Collection[SessionName]:
        return names

    def aside(self, work: Callable[[], T]) -> T:
        return work()  # long units are in a thread of their own already

    # Straight to the driver: SQLAlchemy's way to a cursor costs more than most of these statements do.
    def fetch(self, connection: sa.Connection, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
        return driver(connection).execute(sql, params).fetchall()

    def run_many(self, connection: sa.Connection, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        cursor = driver(connection)
        if len(rows) == 1 or not sql.startswith("INSERT"):
            cursor.executemany(sql, rows)
            return
        # Many rows a statement: the driver gives up the interpreter lock for each statement it runs, and a busy event loop
        # is slow to hand it back.
        head, values = sql.rsplit("VALUES ", 1)
        start = 0
        while start < len(rows):
            size = min(_ROWS_A_STATEMENT, 1 << ((len(rows) - start).bit_length() - 1))
            parameters = list(chain.from_iterable(rows[start : start + size]))
            cursor.execute(f"{head}VALUES {', '.join([values] * size)}", parameters)
            start += size

    def contains(self, column: ColumnElement[Any], folded: str) -> ColumnElement[bool]:
        return sa.func.instr(column, folded) > 0

    def among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        each = sa.func.json_each(sa.bindparam(name, type_=sa.Text)).table_valued("value")
        return column.in_(sa.select(each.c.value))

    def keys(self, keys: Sequence[int]) -> Any:
        return json.dumps(list(keys))

    def settled(self) -> ColumnElement[bool]:
        # One writer: what is visible sorts before whatever is yet to come.
        return sa.true()

    async def listen(self, heard: Callable[[], None]) -> None:
        """The file is this server's alone."""

    def announce(self) -> None:
        """Nobody else is there to be told."""

    def problem(self, error: BaseException) -> str | None:
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        if isinstance(cause, OSError):
            return cause.strerror or "the disk reports an error"
        code = getattr(cause, "sqlite_errorcode", None)
        return _PROBLEMS.get(code & 0xFF) if isinstance(code, int) else None

    async def aclose(self) -> None:
        for lane in (self._indexer, self._readers, self._writer):
            await asyncio.to_thread(lane.close)
        for connection in (self._reading_here, self._writing_here):
            if connection is not None:
                connection.close()
        self._lock.release()
