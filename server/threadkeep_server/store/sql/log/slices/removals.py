"""Removal of the events and the state of deleted sessions, in slices between which others write.

A deletion removes the row of the session, so that nothing finds its events and values any more. Those of a long session are
removed behind it.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Connection, Row, Table

from ...schema.state import past_values, state_values
from ...schema.tables import events, metadata, sessions

REMOVED_AT_ONCE = 1000
"""Events and values of state that one transaction removes. A deletion of at most as many removes them itself."""

# The row ids of deleted sessions that still have events or values of state.
removals = Table("removals", metadata, Column("session", BigInteger, primary_key=True, autoincrement=False))


def is_there(session: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Whether the session exists: events whose session does not are waiting for removal."""
    # The column may be of a table that the query around is correlated to itself.
    return sa.exists().where(sessions.c.id == session).correlate_except(sessions)


def has_event(key: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Whether an event has this row id, and its session exists."""
    return sa.exists().where(events.c.id == key, is_there(events.c.session))


def remove_slice(connection: Connection, removal: Row[Any]) -> bool:
    """Removes the next events of a session, or the next values of its state. Returns whether more may be left."""
    return any(
        remove_some(connection, column, removal.session)
        for column in (events.c.session, state_values.c.owner, past_values.c.owner)
    )


def remove_some(connection: Connection, column: Column[Any], key: int) -> bool:
    """Removes the next rows of a table with `id` that have this value. Returns whether more may be left."""
    table = column.table
    some = sa.select(table.c.id).where(column == key).limit(REMOVED_AT_ONCE)
    return connection.execute(table.delete().where(table.c.id.in_(some))).rowcount == REMOVED_AT_ONCE
