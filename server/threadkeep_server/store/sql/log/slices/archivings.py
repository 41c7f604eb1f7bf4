"""Archiving of many events: at once for every reader, and marked behind it in slices.

A row of `archivings` archives the events of a session up to a position, except for the leading ones. While it exists, their
marks may be missing, nobody compacts the session, and nothing is inserted before that position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Connection, Integer, Row, Table
from sqlalchemy.sql import ColumnElement

from ...schema.tables import LEAD, events, metadata

ARCHIVED_AT_ONCE = 1000
"""Events that one transaction marks. A compaction that archives at most as many marks them itself."""

archivings = Table(
    "archivings",
    metadata,
    Column("session", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("through", BigInteger, nullable=False),
)

_e = events.c
# A statement looks once whether there are any.
_UNMARKED = f"""\
CASE WHEN EXISTS (SELECT 1 FROM archivings) THEN NOT ({LEAD}) AND events.position <= COALESCE(
(SELECT through FROM archivings WHERE archivings.session = events.session), 0) ELSE false END"""  # noqa: S608 - constants


def is_archived() -> ColumnElement[bool]:
    return sa.literal_column(f"(events.archived OR {_UNMARKED})", Boolean)


def is_active() -> ColumnElement[bool]:
    """Contains the condition of the indexes of active events."""
    return sa.literal_column(f"NOT events.archived AND NOT {_UNMARKED}", Boolean)


def archived_through(session: ColumnElement[int]) -> ColumnElement[int]:
    """Returns the position of the last event that is archived by a row of the session; 0 without one. A scalar."""
    through = sa.select(archivings.c.through).where(archivings.c.session == session).scalar_subquery()
    return sa.func.coalesce(through, sa.literal_column("0"))


def window_of(session: int) -> Sequence[ColumnElement[bool]]:
    """Returns the conditions on the active events of a session."""
    beyond = sa.or_(sa.literal_column(f"({LEAD})", Boolean), _e.position > archived_through(sa.literal(session, BigInteger)))
    return [_e.session == session, sa.literal_column("NOT archived", Boolean), beyond]


def archive(connection: Connection, session: int, through: int) -> None:
    connection.execute(archivings.insert(), {"session": session, "through": through})


def mark_slice(connection: Connection, archiving: Row[Any]) -> bool:
    """Marks the next events of a session. Returns whether more may be left."""
    return _mark(connection, archiving.session, archiving.through, ARCHIVED_AT_ONCE) == ARCHIVED_AT_ONCE


def mark_all(connection: Connection, session: int) -> None:
    """Marks what waits in a session."""
    ended = archivings.delete().where(archivings.c.session == session).returning(archivings.c.through)
    through = connection.execute(ended).scalar()
    if through is not None:
        _mark(connection, session, through, None)


def _mark(connection: Connection, session: int, through: int, most: int | None) -> int:
    unmarked = (_e.session == session, sa.text("NOT archived"), sa.text(f"NOT ({LEAD})"), _e.position <= through)
    some = sa.select(_e.id).where(*unmarked).limit(most)
    return connection.execute(events.update().where(_e.id.in_(some)).values(archived=True)).rowcount
