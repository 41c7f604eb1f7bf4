"""Has the database check its own files, where it can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection

from .findings import Findings

_MOST: Final = 100


def check_files(connection: Connection, findings: Findings, report: Callable[[int, int], None]) -> None:
    """On SQLite, compares pages, tables and indexes with each other. PostgreSQL checks the checksums of pages when it reads
    them, if the cluster has such."""
    if connection.dialect.name != "sqlite":
        return
    report(0, 0)
    for (problem,) in connection.exec_driver_sql(f"PRAGMA main.integrity_check({_MOST})"):
        for line in str(problem).splitlines():
            if line != "ok" and not line.startswith("*** in database"):
                findings.add("database", "the file", line)
