"""Engines by the scheme of the database URL. A new database registers its scheme here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from ..schema.foreign import refuse_foreign
from .base import Engine, SqlOptions, Unit
from .sqlite import SqliteEngine
from .sqlite import peek as peek_sqlite

T = TypeVar("T")


def _sqlite_path(url: sa.URL) -> Path:
    if not url.database or url.database == ":memory:":
        raise ValueError("SQLite needs a file: sqlite:///path/to/threadkeep.db")
    return Path(url.database).absolute()


def _sqlite(url: sa.URL, options: SqlOptions) -> Engine:
    path = _sqlite_path(url)
    with contextlib.suppress(sa.exc.DBAPIError):  # the first unit reports it
        peek_sqlite(path, refuse_foreign)  # opening would change its journal mode
    return SqliteEngine(path, options)


def _postgres(url: sa.URL, options: SqlOptions) -> Engine:
    try:
        from .postgres import PostgresEngine  # its driver is an extra
    except ModuleNotFoundError as exc:
        raise ValueError(f"PostgreSQL needs the package {exc.name!r}; install 'threadkeep[postgres]'") from exc
    return PostgresEngine(url.set(drivername="postgresql+asyncpg").render_as_string(hide_password=False), options)


_SCHEMES: dict[str, Callable[[sa.URL, SqlOptions], Engine]] = {
    "sqlite": _sqlite,
    "postgresql": _postgres,
    "postgres": _postgres,
}


def sqlite_file(url: str) -> Path | None:
    """Returns the file of a SQLite database; None for another database."""
    parsed = sa.make_url(url)
    return _sqlite_path(parsed) if parsed.get_backend_name() == "sqlite" else None


def peek(url: str, unit: Unit[T]) -> T | None:
    """Runs a unit that reads a database that may be in use. Creates nothing; returns None if there is no database."""
    if (path := sqlite_file(url)) is not None:
        return peek_sqlite(path, unit)
    return asyncio.run(_read(open_engine(url, SqlOptions()), unit))


async def _read(engine: Engine, unit: Unit[T]) -> T:
    try:
        return await engine.read(unit)
    finally:
        await engine.aclose()


def open_engine(url: str, options: SqlOptions) -> Engine:
    """Returns the engine for a URL. Raises ValueError for an unknown scheme, DatabaseInUse, ForeignDatabase."""
    parsed = sa.make_url(url)
    make = _SCHEMES.get(parsed.get_backend_name())
    if make is None:
        raise ValueError(f"no store for {parsed.get_backend_name()!r}; use one of {', '.join(sorted(_SCHEMES))}")
    return make(parsed, options)
