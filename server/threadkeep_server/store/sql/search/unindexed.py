"""The tail: events that are committed and that the indexer has not come to. Searches look at them directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, Select

from ..engine.base import Engine
from ..engine.statements import Record
from ..log.change_order import beyond
from ..log.scan import Scanner
from ..schema.tables import ADDING, changes, index_progress
from .indexer import added_by, unfilled

Part = int | None
"""Of the tail: what changes of this kind added, or (None) what was there when the index was begun."""


def parts(scanner: Scanner) -> Sequence[Part]:
    """Which parts of the tail have events. To be asked before the index is: what is indexed after this is found by it then, so
    nothing falls between them; it may be found by both."""
    statement = scanner.statements.get("search behind", scanner.connection, lambda: sa.select(*behind(scanner.engine)))
    return told(statement.run(scanner.connection, {})[0])


def behind(engine: Engine) -> Sequence[ColumnElement[Any]]:
    """The same as columns, to be asked together with something else: see told."""
    at = index_progress.c
    ahead = sa.exists(sa.select(changes.c.id).where(_ahead(engine)))
    return [ahead.label("changes"), (at.filled < at.fill).label("events")]


def told(row: Record) -> Sequence[Part]:
    """Which parts have events, by what a row has in these columns."""
    return [*(ADDING if row.changes else ()), *([None] if row.events else ())]


def within(query: Select[Any], part: Part, engine: Engine) -> Select[Any]:
    """A query of events, of the tail's only."""
    if part is None:
        return query.where(unfilled())
    return query.join(changes, added_by(part)).where(_ahead(engine))


def _ahead(engine: Engine) -> ColumnElement[bool]:
    """Changes that are not indexed."""
    xid, change = (sa.select(column).scalar_subquery() for column in (index_progress.c.xid, index_progress.c.change))
    return beyond(engine, xid, change)
