"""Makes the schema of an empty SQLite database as the tables declare it, which takes a twentieth of the time of all migrations.

PostgreSQL is always migrated: its migrations define functions and a default that no table declares.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, Connection, MetaData, String, Table
from sqlalchemy.schema import CreateIndex, CreateTable

from ..log.slices import archivings, removals
from . import encryption, erasures, forks, history, memories, servers, state
from . import removals as event_removals
from .tables import SCHEMA_VERSION, feed_floor, metadata

_DECLARED = (archivings, encryption, erasures, event_removals, forks, history, memories, removals, servers, state)
"""The modules whose tables are in `metadata`; those of `tables` are there already."""

_INDEXES = """
changes_order changes_session changes_deleted
events_turn_start events_inserted events_active events_lead events_all_leads events_counted events_branch
memories_scope memories_session memories_analyzer memories_vector_model memories_namespace memories_expiry
sessions_session_id sessions_expiry sessions_user sessions_app sessions_created sessions_active sessions_active_user
sessions_active_app sessions_forks
"""
"""The indexes of tables with several, in the order in which migrations make them. SQLite chooses by this order between two that
serve a query equally well, so plans depend on it; SQLAlchemy keeps none."""

# Where Alembic keeps the revision of a database, in the form that it makes itself.
_revision = Table("alembic_version", MetaData(), Column("version_num", String(32), nullable=False))
_revision.append_constraint(sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"))


def can_create(connection: Connection) -> bool:
    """Whether the database is an empty one of SQLite."""
    return connection.dialect.name == "sqlite" and not sa.inspect(connection).get_table_names()


def create(connection: Connection) -> None:
    """Leaves what all migrations leave, except for what `versions` records."""
    order = _INDEXES.split()
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table))
        several = len(table.indexes) > 1
        for index in sorted(table.indexes, key=lambda each: order.index(str(each.name)) if several else 0):
            connection.execute(CreateIndex(index))
    _revision.create(connection)
    connection.execute(_revision.insert(), {"version_num": f"{SCHEMA_VERSION:04}"})
    connection.execute(feed_floor.insert(), {"one": 1, "xid": 0, "change": 0})
