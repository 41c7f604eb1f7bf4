"""PostgreSQL, with asyncpg or psycopg, whichever is installed."""

from __future__ import annotations

import asyncio
import importlib
import re
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit

from .database import Row, SourceError

T = TypeVar("T")

SCHEMES = ("postgresql", "postgres")
_AT_ONCE = 200
_CONNECT_SECONDS = 20
_COLUMNS = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = ANY (current_schemas(false))"
_REFERENCED = (
    "SELECT c.relname FROM pg_constraint k JOIN pg_class c ON c.oid = k.confrelid JOIN pg_class t ON t.oid = k.conrelid"
    " WHERE t.relname = ? AND k.contype = 'f' AND pg_table_is_visible(t.oid) ORDER BY k.conname LIMIT 1"
)
_SIZE = "SELECT CAST(pg_database_size(current_database()) AS bigint)"
HOW_TO_INSTALL = "reading PostgreSQL needs asyncpg or psycopg; install one: pip install asyncpg"


class Driver(Protocol):
    """A connection in a transaction that sees one snapshot and writes nothing."""

    def rows(self, statement: str, values: tuple[object, ...]) -> Iterator[list[Row]]:
        """The rows of a SELECT, some at a time."""

    def close(self) -> None:
        """Ends the connection."""


class PostgresDatabase:
    """A database of PostgreSQL, as of the moment when it is opened."""

    def __init__(self, url: str) -> None:
        self.name = shown_url(url)
        self._tables: dict[str, set[str]] = {}
        scheme, _, rest = url.partition("://")
        plain = f"{scheme.partition('+')[0]}://{rest}"
        with self._explained():
            self._driver = _connected(plain)

    def tables(self) -> Mapping[str, AbstractSet[str]]:
        if not self._tables:
            for table, column in self.rows(_COLUMNS):
                self._tables.setdefault(table, set()).add(column)
        return self._tables

    def referenced(self, table: str) -> str | None:
        for row in self.rows(_REFERENCED, table):
            return str(row[0])
        return None

    def rows(self, statement: str, *values: object) -> Iterator[Row]:
        with self._explained():
            for some in self._driver.rows(statement, values):
                yield from some

    def size(self) -> int:
        return next((int(row[0]) for row in self.rows(_SIZE)), 0)

    def close(self) -> None:
        self._driver.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the drivers are of many classes, and those of the network are among them."""
        try:
            yield
        except (GeneratorExit, KeyboardInterrupt, SourceError):
            raise
        except Exception as error:
            raise SourceError(f"PostgreSQL: {str(error).strip() or type(error).__name__}") from error


def shown_url(url: str) -> str:
    """The address without its password and its parameters, which may contain one."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, f"{user.partition(':')[0]}{at}{host}", parts.path, "", ""))


def _connected(url: str) -> Driver:
    for name, driver in (("asyncpg", _Asyncpg), ("psycopg", _Psycopg)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return driver(module, url)
    raise SourceError(HOW_TO_INSTALL)


class _Asyncpg:
    """asyncpg, in an event loop of its own thread: who reads rows does so between the calls to the server."""

    def __init__(self, module: ModuleType, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgres", daemon=True)
        self._thread.start()
        try:
            self._connection = self._run(self._connect(module, url))
        except BaseException:
            self._stop()
            raise

    async def _connect(self, module: ModuleType, url: str) -> Any:
        connection = await module.connect(url, timeout=_CONNECT_SECONDS)
        await connection.transaction(isolation="repeatable_read", readonly=True).start()
        return connection

    def rows(self, statement: str, values: tuple[object, ...]) -> Iterator[list[Row]]:
        numbers = iter(range(1, len(values) + 1))
        # An iterator closes its cursor at its end; another kind of cursor would stay open until the transaction ends.
        cursor = self._connection.cursor(
            re.sub(r"\?", lambda _: f"${next(numbers)}", statement), *values, prefetch=_AT_ONCE
        ).__aiter__()
        while some := self._run(_some(cursor)):
            yield some

    def close(self) -> None:
        self._connection.terminate()
        self._stop()

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _some(rows: AsyncIterator[Any]) -> list[Row]:
    found: list[Row] = []
    async for row in rows:
        found.append(tuple(row))
        if len(found) == _AT_ONCE:
            break
    return found


class _Psycopg:
    """psycopg 3."""

    def __init__(self, module: ModuleType, url: str) -> None:
        self._connection = module.connect(url, connect_timeout=_CONNECT_SECONDS)
        self._connection.isolation_level = module.IsolationLevel.REPEATABLE_READ
        self._connection.read_only = True
        self._cursors = 0

    def rows(self, statement: str, values: tuple[object, ...]) -> Iterator[list[Row]]:
        self._cursors += 1
        with self._connection.cursor(name=f"threadkeep_{self._cursors}") as cursor:
            cursor.execute(statement.replace("?", "%s"), values)
            while some := cursor.fetchmany(_AT_ONCE):
                yield some

    def close(self) -> None:
        self._connection.close()
