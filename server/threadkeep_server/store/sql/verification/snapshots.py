"""Snapshots: one state of a database, however long it is read, while others write."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.pool import NullPool

from ..engine.base import SqlOptions, Unit
from ..engine.factory import open_engine, sqlite_file
from ..schema.foreign import refuse_foreign

T = TypeVar("T")
# The snapshot waits for pg_dump, too.
_NO_LIMITS: Final = ("SET LOCAL statement_timeout = 0", "SET LOCAL idle_in_transaction_session_timeout = 0")


class NoDatabase(RuntimeError):
    """There is no database to read."""


def in_snapshot(url: str, unit: Unit[T]) -> T:
    """Runs a unit that only reads, in one snapshot of a database that may be in use. Raises NoDatabase, ForeignDatabase."""
    path = sqlite_file(url)
    if path is not None:
        return in_file(path, unit)

    def unlimited(connection: Connection) -> T:
        for each in _NO_LIMITS:
            connection.exec_driver_sql(each)
        refuse_foreign(connection)
        return unit(connection)

    async def work() -> T:
        engine = open_engine(url, SqlOptions())
        try:
            # Refuses a pooler: other clients would be given its connections with the settings of pg_dump.
            await engine.separately(refuse_foreign)
            return await engine.read(unlimited, snapshot=True)
        finally:
            await engine.aclose()

    return asyncio.run(work())


def in_file(path: Path, unit: Unit[T]) -> T:
    """The same on a SQLite file, of which it changes nothing."""
    if not path.exists():
        raise NoDatabase(f"there is no database at {path}")
    engine = sa.create_engine(f"sqlite:///file:{quote(str(path))}?mode=ro&uri=true", poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        refuse_foreign(connection)
        return unit(connection)
