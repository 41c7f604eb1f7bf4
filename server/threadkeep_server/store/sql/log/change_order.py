"""The order of the feed, as conditions on `changes`, and the events of a change. Indexes serve them: the order is the dialect's
change_order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Connection, FromClause, Select
from sqlalchemy.sql import ColumnElement

from ..engine.base import Engine
from ..engine.statements import Statements
from ..schema.tables import APPENDED, INSERTED, changes, events
from .slices.removals import is_there

_c = changes.c
_e = events.c
_SPAN = ("number", "session", "low", "high")


def beyond(engine: Engine, xid: ColumnElement[int], change: ColumnElement[int]) -> ColumnElement[bool]:
    """Selects the changes after this position."""
    values = {_c.xid: xid, _c.id: change}
    if len(engine.sql.change_order) == 1:
        return engine.sql.change_order[0] > values[engine.sql.change_order[0]]
    return sa.tuple_(*engine.sql.change_order) > sa.tuple_(*(values[column] for column in engine.sql.change_order))


def not_beyond(engine: Engine, xid: ColumnElement[int], change: ColumnElement[int]) -> ColumnElement[bool]:
    """Selects the changes up to this position: the negation of `beyond`, written so that an index serves it."""
    values = {_c.xid: xid, _c.id: change}
    if len(engine.sql.change_order) == 1:
        return engine.sql.change_order[0] <= values[engine.sql.change_order[0]]
    return sa.tuple_(*engine.sql.change_order) <= sa.tuple_(*(values[column] for column in engine.sql.change_order))


def of_session(engine: Engine, key: ColumnElement[int]) -> list[ColumnElement[bool]]:
    """Selects the changes of a session, written so that the index of them also gives their order."""
    alike = [_c.xid == sa.literal_column("0")] if len(engine.sql.change_order) == 1 else []
    return [_c.session == key, *alike]


def added_events(
    statements: Statements,
    connection: Connection,
    kind: int,
    spans: Sequence[Sequence[int]],
    columns: Sequence[ColumnElement[Any]],
    *where: ColumnElement[bool],
) -> Sequence[Sequence[Any]]:
    """Returns rows of the events that changes of a kind added: the number of their span, and the columns, which identify the
    statement. A span is its number, a session, and from where to where: see _within."""
    given = statements.engine.sql.table(_SPAN, spans)

    def build() -> Select[Any]:
        table = given.build()
        return statements.engine.sql.each(table, columns, [*_within(kind, table), *where])

    shape = ("added", kind, tuple(column.key for column in columns), given.shape)
    return statements.get(shape, connection, build).rows(connection, given.values)


def _within(kind: int, spans: FromClause) -> list[ColumnElement[bool]]:
    """Selects the events that changes of a kind added, from `low` to `high` of a session: positions of appended events, row ids
    of inserted ones."""
    there = is_there(spans.c.session)
    if kind == APPENDED:
        # Events that a compaction inserted between those of an append belong to the compaction's change.
        appended = sa.literal_column(f"NOT ({INSERTED})", sa.Boolean)
        return [_e.session == spans.c.session, _e.position.between(spans.c.low, spans.c.high), appended, there]
    # The sign prevents the use of an index of the session's events, which would find all of them.
    session = sa.literal_column("+events.session", BigInteger)
    return [session == spans.c.session, _e.id.between(spans.c.low, spans.c.high), there]
