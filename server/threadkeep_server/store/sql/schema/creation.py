"""Makes the schema of an empty SQLite database as the tables declare it, which takes a twentieth of the time of all migrations.

PostgreSQL is always migrated: its migrations define functions and a default that no table declares.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, Connection, MetaData, String, Table

from ..log.slices import archivings, removals
from . import encryption, erasures, forks, history, memories, servers, state
from . import removals as event_removals
from .tables import SCHEMA_VERSION, feed_floor, metadata

_DECLARED = (archivings, encryption, erasures, event_removals, forks, history, memories, removals, servers, state)
"""The modules whose tables are in `metadata`; those of `tables` are there already."""

# Where Alembic keeps the revision of a database, in the form that it makes itself.
_revision = Table("alembic_version", MetaData(), Column("version_num", String(32), nullable=False))
_revision.append_constraint(sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"))


def can_create(connection: Connection) -> bool:
    """Whether the database is an empty one of SQLite."""
    return connection.dialect.name == "sqlite" and not sa.inspect(connection).get_table_names()


def create(connection: Connection) -> None:
    """Leaves what all migrations leave, except for what `versions` records."""
    metadata.create_all(connection, checkfirst=False)
    _revision.create(connection)
    connection.execute(_revision.insert(), {"version_num": f"{SCHEMA_VERSION:04}"})
    connection.execute(feed_floor.insert(), {"one": 1, "xid": 0, "change": 0})
