"""Unindexed events: those that are committed and not indexed yet. Searches read them directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, Select

from ..engine.base import Engine
from ..engine.statements import Record
from ..log.change_order import beyond
from ..log.scan import Scanner
from ..schema.tables import ADDING, MOVED, changes, event_text, events, index_progress
from .indexer import added_by, unfilled

Part = int | None
"""A part of the unindexed events: those added by changes of this kind, those of sessions that the index may have under another
owner (MOVED), or (None) those that existed when the index was created."""


def parts(scanner: Scanner, *, by_user: bool) -> Sequence[Part]:
    """Returns the parts that have events. Call it before reading the index: an event indexed in between is then found in both,
    and none in neither. `by_user`: the index is searched for the events of a user."""
    statement = scanner.statements.get("search behind", scanner.connection, lambda: sa.select(*behind(scanner.engine)))
    return parts_of(statement.run(scanner.connection, {})[0], by_user=by_user)


def behind(engine: Engine) -> Sequence[ColumnElement[Any]]:
    """The same as columns, to be selected with others: see parts_of."""
    at = index_progress.c
    ahead = sa.exists(sa.select(changes.c.id).where(_ahead(engine)))
    return [ahead.label("changes"), (at.filled < at.fill).label("events")]


def parts_of(row: Record, *, by_user: bool) -> Sequence[Part]:
    """Returns the parts that have events, from a row with these columns."""
    kinds = (*ADDING, *([MOVED] if by_user else [])) if row.changes else ()
    return [*kinds, *([None] if row.events else ())]


def within(query: Select[Any], part: Part, engine: Engine) -> Select[Any]:
    """Restricts a query of events to the unindexed ones."""
    if part is None:
        return query.where(unfilled())
    if part == MOVED:
        moved = sa.select(changes.c.session).where(changes.c.kind == MOVED, _ahead(engine))
        # The others are in the other parts.
        return query.where(events.c.session.in_(moved), sa.exists().where(event_text.c.id == events.c.id))
    return query.join(changes, added_by(part)).where(_ahead(engine))


def newest_first(part: Part, engine: Engine) -> Sequence[ColumnElement[Any]]:
    """The order in which a query of this part, see within, has the newest events first."""
    if part is None or part == MOVED:
        return [events.c.id.desc()]
    return [*(column.desc() for column in engine.sql.change_order), events.c.position.desc()]


def _ahead(engine: Engine) -> ColumnElement[bool]:
    """Selects unindexed changes."""
    xid, change = (sa.select(column).scalar_subquery() for column in (index_progress.c.xid, index_progress.c.change))
    return beyond(engine, xid, change)
