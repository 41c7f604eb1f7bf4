"""Dumps of a PostgreSQL database by pg_dump, and their way back by pg_restore."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection

from ..engine.base import SqlOptions, Unit
from ..engine.factory import open_engine
from ..schema.tables import event_text, event_words, index_progress, meta, sessions, words_renewal
from .postgres_programs import ProgramFailed, major, output_of, program, run, version_of

MAGIC: Final = b"PGDMP"
"""The first bytes of a dump in pg_dump's custom format."""
_DERIVED: Final = (event_text, event_words, index_progress, words_renewal)
_TABLES: Final = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"


class Counted(NamedTuple):
    """Rows of a dump."""

    sessions: int
    events: int


class NotEmptyDatabase(RuntimeError):
    """The database to restore into has tables."""


def server_version(connection: Connection) -> str:
    return str(connection.exec_driver_sql("SHOW server_version").scalar_one()).split()[0]


def dump(connection: Connection, url: str, target: Path, folder: Path | None, report: Callable[[int], None]) -> str:
    """Writes what the snapshot of the connection sees to a file, in pg_dump's custom format, without the search index, which
    servers build again. Reports the bytes written. Returns the version of pg_dump. Raises ProgramFailed."""
    path = program("pg_dump", folder)
    tool, server = version_of(path), server_version(connection)
    if major(tool) < major(server):
        raise ProgramFailed(f"{path} is of version {tool} and cannot dump PostgreSQL {server}: install a newer one (--pg-bin)")
    snapshot = connection.exec_driver_sql("SELECT pg_export_snapshot()").scalar_one()
    target.touch(mode=0o600)
    command: list[str | Path] = [path, "--format=custom", f"--file={target}", f"--snapshot={snapshot}", "--no-password"]
    # Row-level security does not restrict it, and otherwise pg_dump refuses; comments on extensions are not ours to restore.
    command += ["--enable-row-security", "--no-comments", *(f"--exclude-table-data={table.name}" for table in _DERIVED)]
    run(command, url, lambda: report(target.stat().st_size))
    return tool


def restore_dump(source: Path, url: str, tool: str, folder: Path | None, report: Callable[[], None]) -> None:
    """Restores a dump into an empty database, in one transaction. Raises ProgramFailed, NotEmptyDatabase."""
    path = program("pg_restore", folder)
    if major(version_of(path)) < major(tool):
        raise ProgramFailed(f"{path} is older than the pg_dump {tool} that wrote the backup: install a newer one (--pg-bin)")
    _in_database(url, _refuse_tables)
    database = sa.make_url(url).database or ""
    command: list[str | Path] = [path, f"--dbname={database}", "--no-owner", "--no-privileges", "--exit-on-error"]
    run([*command, "--single-transaction", "--no-password", source], url, report)
    # Otherwise the first statements would be planned as if the tables were empty.
    _in_database(url, lambda connection: connection.exec_driver_sql("ANALYZE"))


def count_rows(source: Path, folder: Path | None, report: Callable[[int], None]) -> Counted:
    """Reads a whole dump, without a database. Reports the rows read. Raises ProgramFailed if that is impossible."""
    counts = {sessions.name: 0, "events": 0}
    current, rows = None, 0
    with output_of([program("pg_restore", folder), "--file=-", "--data-only", source]) as output:
        for line in output:
            if current is None:
                if line.startswith(b"COPY "):
                    current = line.split()[1].rpartition(b".")[2].decode().strip('"')
            elif line == b"\\.\n":
                current = None
            else:
                rows += 1
                report(rows)
                if current in counts:
                    counts[current] += 1
    return Counted(counts[sessions.name], counts["events"])


def _refuse_tables(connection: Connection) -> None:
    names = connection.exec_driver_sql(_TABLES).scalars().all()
    if not names:
        return
    whose = "tables of another program"
    if meta.name in names:
        filled = connection.execute(sa.select(sessions.c.id).limit(1)).first() is not None
        whose = "data (sessions)" if filled else "the tables of a server that was started on it"
    raise NotEmptyDatabase(f"the database has {whose}; restore into a new one: createdb NAME")


def _in_database(url: str, unit: Unit[object]) -> None:
    async def work() -> None:
        engine = open_engine(url, SqlOptions())
        try:
            await engine.separately(unit)
        finally:
            await engine.aclose()

    asyncio.run(work())
