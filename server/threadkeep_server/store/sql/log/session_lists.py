"""The unit of work that lists sessions.

Appends change update_time, so no index has it: on PostgreSQL every append would then write to all indexes of the session.
Indexes have active_minute, which the database derives from it. The sessions of the minutes that a page reaches into are sorted
by update_time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column
from sqlalchemy.sql import ColumnElement, Select

from ....domain.model import StoredEvent
from ...contract.sessions import MOST_COUNTED, SessionPage, SessionQuery
from ..schema.tables import MINUTE, events, session_labels, sessions
from ..search.event_lookup import stored_events
from .rows import session_of
from .scan import Scanner

_s = sessions.c
_NEVER = 1 << 62


def list_page(scanner: Scanner, tenant: str, query: SessionQuery) -> SessionPage:
    matching = _matching(scanner, tenant, query)
    key = _s.update_time if query.order.by_update else _s.create_time
    rows = scanner.connection.execute(_page_query(query, matching, key)).all()
    page = rows[: query.limit]
    cursor = (getattr(page[-1], key.name), page[-1].id) if len(rows) > len(page) else None
    total = None
    if query.count:
        some = sa.select(_s.id).where(*matching).limit(MOST_COUNTED + 1).subquery()
        total = scanner.connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()
    newest = _newest(scanner, [row.id for row in page], query.max_bytes) if query.newest and page else ()
    return SessionPage([session_of(row) for row in page], cursor, total, newest)


def _matching(scanner: Scanner, tenant: str, query: SessionQuery) -> list[ColumnElement[bool]]:
    wanted = [_s.tenant == tenant]
    if query.user_id is not None:
        wanted.append(_s.user_id == query.user_id)
    if query.app is not None:
        wanted.append(_s.app == query.app)
    if query.prefix:
        wanted.append(sa.func.substr(_s.session_id, 1, len(query.prefix)) == query.prefix)
    for name, value in query.labels.items():
        label = sa.select(session_labels.c.session).where(session_labels.c.key == name, session_labels.c.value == value)
        wanted.append(_s.id.in_(label))
    if query.updated_after is not None:
        wanted += [_s.update_time > query.updated_after, _s.active_minute >= query.updated_after // MINUTE]
    if query.updated_before is not None:
        wanted += [_s.update_time < query.updated_before, _s.active_minute <= query.updated_before // MINUTE]
    return wanted


def _page_query(query: SessionQuery, matching: Sequence[ColumnElement[bool]], key: Column[Any]) -> Select[Any]:
    """Selects the page and one more."""
    ascending = query.order.ascending
    place = sa.tuple_(key, _s.id)
    wanted = list(matching)
    if query.cursor is not None:
        at = sa.tuple_(*map(sa.literal, query.cursor))
        wanted.append(place > at if ascending else place < at)
    if query.order.by_update:
        if query.cursor is not None:
            minute = query.cursor[0] // MINUTE
            wanted.append(_s.active_minute >= minute if ascending else _s.active_minute <= minute)
        wanted.append(_near(query, wanted))
    columns = (key, _s.id) if ascending else (key.desc(), _s.id.desc())
    return sa.select(sessions).where(*wanted).order_by(*columns).limit(query.limit + 1).offset(query.offset or None)


def _near(query: SessionQuery, wanted: Sequence[ColumnElement[bool]]) -> ColumnElement[bool]:
    """Selects the minutes that have the page: as many sessions as it needs are in them or beyond, in the order of the index."""
    ascending = query.order.ascending
    columns = (_s.active_minute, _s.id) if ascending else (_s.active_minute.desc(), _s.id.desc())
    last = sa.select(_s.active_minute).where(*wanted).order_by(*columns).limit(1).offset(query.limit + query.offset)
    bound = last.correlate(None).scalar_subquery()
    if ascending:
        return _s.active_minute <= sa.func.coalesce(bound, _NEVER)
    return _s.active_minute >= sa.func.coalesce(bound, -1)


def _newest(scanner: Scanner, keys: Sequence[int], max_bytes: int) -> Sequence[StoredEvent | None]:
    """Returns the last event of each session in the order of the window, as many as fit."""
    e = events.alias("e").c
    newest = sa.select(e.id).where(e.session == _s.id).order_by(e.position.desc()).limit(1)
    last = newest.correlate(sessions).scalar_subquery()
    joined = sa.select(events.c.session, events.c.id, events.c.size).select_from(sa.join(sessions, events, events.c.id == last))
    rows = scanner.connection.execute(joined.where(_s.id.in_(keys))).all()
    fitting = _fitting({row.session: row for row in rows}, keys, max_bytes)
    found = {key: event for key, _, event in stored_events(scanner, list(fitting.values()))}
    return [found.get(fitting.get(key, 0)) for key in keys]


def _fitting(newest: dict[int, Any], keys: Sequence[int], left: int) -> dict[int, int]:
    """Returns the events that fit, by session."""
    fitting: dict[int, int] = {}
    for key in keys:
        row = newest.get(key)
        if row is not None and row.size <= left:
            left -= row.size
            fitting[key] = row.id
    return fitting
