"""Removal of the events of deleted sessions, in slices between which others write.

A deletion removes the row of the session, so that nothing finds its events any more. The events of a long session are removed
behind it.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Connection, Row, Table

from ...schema.tables import events, metadata, sessions

REMOVED_AT_ONCE = 1000
"""Events that one transaction removes. A deletion of at most as many removes them itself."""

# The row ids of deleted sessions that still have events.
removals = Table("removals", metadata, Column("session", BigInteger, primary_key=True, autoincrement=False))


def is_there(session: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Whether the session exists: events whose session does not are waiting for removal."""
    return sa.exists().where(sessions.c.id == session)


def has_event(key: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Whether an event has this row id, and its session exists."""
    return sa.exists().where(events.c.id == key, is_there(events.c.session))


def remove_slice(connection: Connection, removal: Row[Any]) -> bool:
    """Removes the next events of a session. Returns whether more may be left."""
    some = sa.select(events.c.id).where(events.c.session == removal.session).limit(REMOVED_AT_ONCE)
    return connection.execute(events.delete().where(events.c.id.in_(some))).rowcount == REMOVED_AT_ONCE
