"""The table of the servers that share the database."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Connection, Table, Text

from ....domain.model import SECOND_NS
from ...contract.maintenance import GONE_AFTER_NS
from .tables import metadata

NOW: Final = sa.select(sa.cast(sa.extract("epoch", sa.func.clock_timestamp()) * SECOND_NS, sa.BigInteger()))
"""Nanoseconds, by the clock of a database that servers share."""

# A row per running server. Its clock writes the start_time, that of the database the seen_time. A server that stops deletes its
# row, others those of crashed ones.
servers = Table(
    "servers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("start_time", BigInteger, nullable=False),
    Column("seen_time", BigInteger, nullable=False),
    Column("metrics_address", Text, nullable=False),
)


class OlderServersRun(RuntimeError):
    """Servers run on the database that could not run on the schema that it would get."""


def refuse_running(connection: Connection) -> None:
    """Raises OlderServersRun if a server has given a sign of life lately. A file of SQLite is locked instead."""
    if connection.dialect.name == "sqlite" or not sa.inspect(connection).has_table(servers.name):
        return
    seen_since = connection.execute(NOW).scalar_one() - GONE_AFTER_NS
    versions = connection.execute(sa.select(servers.c.version).where(servers.c.seen_time > seen_since)).scalars().all()
    if versions:
        which = f"{len(versions)} of version {', '.join(sorted(set(versions)))}"
        raise OlderServersRun(
            f"servers run on this database ({which}) that cannot run on its next schema: stop them first; one that was killed "
            "counts for a minute"
        )
