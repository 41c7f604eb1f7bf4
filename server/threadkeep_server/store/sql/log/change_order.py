"""The order of the feed, as conditions on `changes`. They use the dialect's change_order, so that an index serves them."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from ..engine.base import Engine
from ..schema.tables import changes

_c = changes.c


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
