"""From a database URL to its engine. A new backend registers its scheme here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from .engine import Engine, SqlOptions
from .postgres import PostgresEngine
from .sqlite import SqliteEngine


def _sqlite(url: sa.URL, options: SqlOptions) -> Engine:
    if not url.database or url.database == ":memory:":
        raise ValueError("SQLite needs a file: sqlite:///path/to/recollect.db")
    return SqliteEngine(Path(url.database).absolute(), options)


def _postgres(url: sa.URL, options: SqlOptions) -> Engine:
    return PostgresEngine(url.set(drivername="postgresql+asyncpg").render_as_string(hide_password=False), options)


_SCHEMES: dict[str, Callable[[sa.URL, SqlOptions], Engine]] = {
    "sqlite": _sqlite,
    "postgresql": _postgres,
    "postgres": _postgres,
}


def open_engine(url: str, options: SqlOptions) -> Engine:
    """The engine for a URL. Raises ValueError for a scheme nobody serves, DatabaseInUse."""
    parsed = sa.make_url(url)
    make = _SCHEMES.get(parsed.get_backend_name())
    if make is None:
        raise ValueError(f"no store for {parsed.get_backend_name()!r}; use one of {', '.join(sorted(_SCHEMES))}")
    return make(parsed, options)
