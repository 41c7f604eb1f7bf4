"""Units of work that read events by their keys, with their neighbors: a few statements for any number of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, Select

from ....domain.filters import EventFilter
from ....domain.model import StoredEvent
from ....domain.scopes import EventScope
from ...contract.search import FoundEvent, neighbor_filter
from ..engine.statements import Record
from ..log.conditions import conditions
from ..log.rows import ref_of
from ..log.scan import EVENT_COLUMNS, Scanner, stored_events
from ..schema.tables import events, sessions
from .scopes import Place, place_of

_e = events.c
_hit = events.alias("hit")
_start = events.alias("start")
_COMMA: Any = sa.literal_column("','")
_Placed = tuple[int, StoredEvent]
"""The position of an event, and the event."""


def events_by_key(
    scanner: Scanner, tenant: str, scope: EventScope, keys: Sequence[int], wanted: EventFilter, neighbors: int
) -> Sequence[FoundEvent]:
    """Runs in a snapshot if it takes more than one statement: see of_one_moment."""
    place = place_of(scanner, tenant, scope)
    rows = {row.id: row for row in _events(scanner, place, keys, wanted)}
    around = {row.id: row for row in _around(scanner, list(rows), wanted, neighbors)} if rows and neighbors else {}
    near = [key for row in around.values() for key in (*_keys(row.before), *_keys(row.after))]
    beyond = {key: (position, event) for key, position, event in stored_events(scanner, near)}
    return [found for key in keys if key in rows and (found := _found(scanner, rows[key], around.get(key), beyond))]


def of_one_moment(wanted: EventFilter, neighbors: int) -> bool:
    """Returns whether reading events by their keys needs no snapshot: one statement reads everything."""
    return not neighbors and not wanted.reads_body


def neighbor_keys(scanner: Scanner, keys: Sequence[int], wanted: EventFilter) -> Sequence[int]:
    """Returns the keys of the event before and the one after each of these, in any scope."""
    around = _around(scanner, keys, wanted, 1) if keys else ()
    return list(dict.fromkeys(key for row in around for key in (*_keys(row.before), *_keys(row.after))))


def _found(scanner: Scanner, row: Record, around: Record | None, beyond: Mapping[int, _Placed]) -> FoundEvent | None:
    event = scanner.stored(row, row.session)
    if event is None:
        return None
    return FoundEvent(
        key=row.id,
        session=row.session,
        ref=ref_of(row),
        event=event,
        time=row.time,
        turn=row.turn or 0,
        before=() if around is None else _in_order(around.before, beyond),
        after=() if around is None else _in_order(around.after, beyond),
    )


def _keys(joined: str | None) -> Sequence[int]:
    return list(map(int, joined.split(","))) if joined else []


def _in_order(joined: str | None, beyond: Mapping[int, _Placed]) -> Sequence[StoredEvent]:
    placed = sorted((beyond[key] for key in _keys(joined) if key in beyond), key=itemgetter(0))
    return [event for _, event in placed]


def _events(scanner: Scanner, place: Place, keys: Sequence[int], wanted: EventFilter) -> Iterator[Record]:
    holding = place.holding() & conditions(wanted, scanner.engine.sql)
    values = {**holding.values, "keys": scanner.engine.sql.listed(keys)}

    def build() -> Select[Any]:
        names = (sessions.c.app, sessions.c.user_id, sessions.c.session_id)
        columns = (*EVENT_COLUMNS, _e.id, _e.session, _e.time, *names, _turn().label("turn"))
        query = sa.select(*columns).select_from(sa.join(events, sessions, sessions.c.id == _e.session))
        return query.where(scanner.engine.sql.in_list(_e.id, "keys"), *holding.where)

    if wanted.reads_body:
        return scanner.matching(build(), wanted, values)
    prepared = scanner.statements.get(("found", holding.shape), scanner.connection, build)
    return iter(prepared.run(scanner.connection, values))


def _turn() -> ColumnElement[Any]:
    """Returns the key of the start of the event's turn."""
    starts = sa.select(_start.c.id).where(_start.c.session == _e.session, sa.text("start.turn_start"))
    before = starts.where(_start.c.position <= _e.position).order_by(_start.c.position.desc()).limit(sa.literal_column("1"))
    return before.correlate(events).scalar_subquery()


def _around(scanner: Scanner, keys: Sequence[int], wanted: EventFilter, neighbors: int) -> Sequence[Record]:
    """Returns the keys of the neighbors of each of these events."""
    near = conditions(neighbor_filter(wanted), scanner.engine.sql)

    def build() -> Select[Any]:
        columns: list[ColumnElement[Any]] = [_hit.c.id]
        for name, beyond, order in (
            ("before", _e.position < _hit.c.position, _e.position.desc()),
            ("after", _e.position > _hit.c.position, _e.position),
        ):
            rows = sa.select(_e.id).where(_e.session == _hit.c.session, beyond, *near.where).order_by(order)
            nearest = rows.limit(sa.bindparam("neighbors", type_=sa.BigInteger)).correlate(_hit).subquery()
            joined = sa.func.aggregate_strings(sa.cast(nearest.c.id, sa.Text), _COMMA)
            columns.append(sa.select(joined).select_from(nearest).scalar_subquery().label(name))
        return sa.select(*columns).where(scanner.engine.sql.in_list(_hit.c.id, "keys"))

    prepared = scanner.statements.get(("around", near.shape), scanner.connection, build)
    values = {**near.values, "keys": scanner.engine.sql.listed(keys), "neighbors": neighbors}
    return prepared.run(scanner.connection, values)
