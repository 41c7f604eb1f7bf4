"""Archiving of many events: at once for every reader, and marked behind it in slices.

A row of `archivings` archives two kinds of events of a session: those up to a position, except for the leading ones; and those
of a listing, which was written in slices before. While the row exists, their marks may be missing, nobody compacts the session,
and nothing is inserted before the position. `version`: the log version that archives them; 0: before those that are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Connection, Integer, Row, Table
from sqlalchemy.sql import ColumnElement

from ...schema.history import past_archivings
from ...schema.tables import LEAD, events, metadata

ARCHIVED_AT_ONCE = 1000
"""Events that one transaction marks. A compaction that archives at most as many marks them itself."""

_IDS_AT_ONCE = 500

archivings = Table(
    "archivings",
    metadata,
    Column("session", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("through", BigInteger, nullable=False),
    Column("listing", BigInteger),
    Column("version", BigInteger, nullable=False, server_default=sa.text("0")),
)

# The row ids of events that no prefix covers. A listing without a row of `archivings` archives nothing.
listed = Table(
    "listed_events",
    metadata,
    Column("listing", BigInteger, primary_key=True, autoincrement=False),
    Column("event", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

_e = events.c
_IN_LISTING = """\
EXISTS (SELECT 1 FROM archivings JOIN listed_events ON listed_events.listing = archivings.listing
WHERE archivings.session = events.session AND listed_events.event = events.id)"""
# Statements look once whether there are any.
_IS_LISTED = f"CASE WHEN EXISTS (SELECT 1 FROM archivings WHERE listing IS NOT NULL) THEN {_IN_LISTING} ELSE false END"  # noqa: S608
_UNMARKED = f"""\
CASE WHEN EXISTS (SELECT 1 FROM archivings) THEN NOT ({LEAD}) AND events.position <= COALESCE(
(SELECT through FROM archivings WHERE archivings.session = events.session), 0) OR {_IN_LISTING} ELSE false END"""  # noqa: S608 - constants


def is_archived() -> ColumnElement[bool]:
    return sa.literal_column(f"(events.archived OR {_UNMARKED})", Boolean)


def is_active() -> ColumnElement[bool]:
    """Contains the condition of the indexes of active events."""
    return sa.literal_column(f"NOT events.archived AND NOT {_UNMARKED}", Boolean)


def was_active() -> ColumnElement[bool]:
    """Whether an event that there was at the log version `then` was active directly after it. Parameters: `then`, and the
    event's `session`, so that what does not differ by event is looked up once."""
    then = sa.bindparam("then", type_=BigInteger)
    mine = (archivings.c.session == sa.bindparam("session", type_=BigInteger), archivings.c.version <= then)
    through = sa.select(archivings.c.through).where(*mine).scalar_subquery()
    no_lead = sa.literal_column(f"NOT ({LEAD})", Boolean)
    below = sa.and_(no_lead, _e.position <= sa.func.coalesce(through, sa.literal_column("0")))
    listing = sa.select(archivings.c.listing).where(*mine).scalar_subquery()
    in_listing = sa.exists().where(listed.c.listing == listing, listed.c.event == _e.id).correlate(events)
    unmarked = sa.or_(below, sa.case((listing.is_not(None), in_listing), else_=sa.false()))
    some = sa.literal_column("EXISTS (SELECT 1 FROM archivings)", Boolean)
    active = sa.and_(sa.literal_column("NOT events.archived", Boolean), sa.not_(sa.case((some, unmarked), else_=sa.false())))
    return sa.and_(sa.or_(active, _e.archived_version > then), sa.not_(was_archived_before(then)))


def was_archived_before(then: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether a rewind made the event active again that was archived at this log version. Looks once whether there is one."""
    p = past_archivings.c
    mine = sa.exists().where(p.event == _e.id, p.since <= then, p.until > then).correlate(events)
    return sa.case((sa.literal_column("EXISTS (SELECT 1 FROM past_archivings)", Boolean), mine), else_=sa.false())


def archived_through(session: ColumnElement[int]) -> ColumnElement[int]:
    """Returns the position of the last event that is archived by a row of the session; 0 without one. A scalar."""
    through = sa.select(archivings.c.through).where(archivings.c.session == session).scalar_subquery()
    return sa.func.coalesce(through, sa.literal_column("0"))


def is_unlisted() -> ColumnElement[bool]:
    """Whether no listing archives the event."""
    return sa.literal_column(f"NOT {_IS_LISTED}", Boolean)


def window_of(session: int) -> Sequence[ColumnElement[bool]]:
    """Returns the conditions on the active events of a session."""
    beyond = sa.or_(sa.literal_column(f"({LEAD})", Boolean), _e.position > archived_through(sa.literal(session, BigInteger)))
    return [_e.session == session, sa.literal_column("NOT archived", Boolean), beyond, is_unlisted()]


def mark_events(connection: Connection, keys: Sequence[int], version: int) -> None:
    """Archives the active events with these row ids."""
    for start in range(0, len(keys), _IDS_AT_ONCE):
        archive(connection, _e.id.in_(keys[start : start + _IDS_AT_ONCE]), version)


def archive_later(connection: Connection, session: int, through: int, listing: int | None, version: int) -> None:
    """Archives the events up to the position `through`, which may be 0, and those of the listing."""
    row = {"session": session, "through": through, "listing": listing, "version": version}
    connection.execute(archivings.insert(), row)


def archive(connection: Connection, which: ColumnElement[bool], version: int) -> int:
    """Marks active events as archived by the change with this log version. Returns how many. Every mark is made here."""
    return connection.execute(events.update().where(which).values(archived=True, archived_version=version)).rowcount


def mark_slice(connection: Connection, archiving: Row[Any]) -> bool:
    """Marks the next events of a session. Returns whether more may be left."""
    if archiving.listing is not None and _mark_listed(connection, archiving.listing, archiving.version):
        return True
    return _mark(connection, archiving, ARCHIVED_AT_ONCE) == ARCHIVED_AT_ONCE


def mark_all(connection: Connection, session: int) -> None:
    """Marks what waits in a session."""
    ended = archivings.delete().where(archivings.c.session == session).returning(*archivings.c)
    row = connection.execute(ended).one_or_none()
    if row is None:
        return
    while row.listing is not None and _mark_listed(connection, row.listing, row.version):
        pass
    _mark(connection, row, None)


def _mark(connection: Connection, archiving: Row[Any], most: int | None) -> int:
    mine = (_e.session == archiving.session, _e.position <= archiving.through)
    some = sa.select(_e.id).where(*mine, sa.text("NOT archived"), sa.text(f"NOT ({LEAD})")).limit(most)
    return archive(connection, _e.id.in_(some), archiving.version)


def _mark_listed(connection: Connection, listing: int, version: int) -> bool:
    """Marks the next events of a listing and removes them from it. Returns whether there were any."""
    archive(connection, _e.id.in_(_next(listing)), version)
    return _remove(connection, listing)


# --- listings


def add_to_listing(connection: Connection, listing: int, keys: Sequence[int]) -> None:
    """`keys`: row ids of events, at most ARCHIVED_AT_ONCE."""
    connection.execute(listed.insert(), [{"listing": listing, "event": key} for key in keys])


def unused_listing(connection: Connection, before: int) -> int | None:
    """Returns a listing below `before` that archives nothing, if there is one."""
    used = sa.select(archivings.c.listing).where(archivings.c.listing.is_not(None))
    query = sa.select(listed.c.listing).where(listed.c.listing < before, listed.c.listing.not_in(used)).limit(1)
    found: int | None = connection.execute(query).scalar()
    return found


def remove_unused(connection: Connection, listing: int) -> bool:
    """Removes the next events of a listing, unless it archives them. Returns whether there were any."""
    used = sa.select(archivings.c.session).where(archivings.c.listing == listing).limit(1)
    return connection.execute(used).scalar() is None and _remove(connection, listing)


def _next(listing: int) -> sa.Select[tuple[int]]:
    return sa.select(listed.c.event).where(listed.c.listing == listing).order_by(listed.c.event).limit(ARCHIVED_AT_ONCE)


def _remove(connection: Connection, listing: int) -> bool:
    gone = listed.delete().where(listed.c.listing == listing, listed.c.event.in_(_next(listing)))
    return connection.execute(gone).rowcount > 0
