"""Units of work on sessions: lists, expiry, totals.

Appends change update_time, so no index has it: on PostgreSQL every append would then write to all indexes of the session.
Indexes have active_minute, which the database derives from it. The sessions of the minutes that a page reaches into are sorted
by update_time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, ColumnElement, Connection, Row
from sqlalchemy.sql import Select

from ....domain.model import Session, StoredEvent
from ....domain.sweeping import FEW_SESSIONS, SweepFacts
from ...contract.maintenance import Totals
from ...contract.sessions import EXPIRED, MOST_COUNTED, Expired, SessionPage, SessionQuery
from ..engine.base import Engine
from ..schema.minutes import MINUTE
from ..schema.state import state_totals
from ..schema.tables import changes, events, session_labels, sessions
from ..state.queries import whole_states
from .rows import find, session_of
from .scan import Scanner, stored_events
from .session_deletions import SessionDeletions

_s = sessions.c
_NEVER = 1 << 62


def list_page(scanner: Scanner, tenant: str, query: SessionQuery) -> SessionPage:
    matching = _matching(scanner, tenant, query)
    key = _s.update_time if query.order.by_update else _s.create_time
    rows = scanner.connection.execute(_page_query(query, matching, key)).all()
    page = rows[: query.limit]
    places = [(getattr(row, key.name), row.id) for row in page]
    cursor = places[-1] if len(rows) > len(page) else None
    total = None
    if query.count:
        some = sa.select(_s.id).where(*matching).limit(MOST_COUNTED + 1).subquery()
        total = scanner.connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()
    keys = [row.id for row in page]
    newest = [event for event, _ in newest_events(scanner, keys, query.max_bytes)] if query.newest and page else ()
    states = whole_states(scanner, keys, query.max_bytes // 2) if query.states and page else ()
    return SessionPage([session_of(row) for row in page], cursor, total, newest, states, places)


def _matching(scanner: Scanner, tenant: str, query: SessionQuery) -> list[ColumnElement[bool]]:
    wanted = [_s.tenant == tenant]
    user_id: ColumnElement[str] = _s.user_id
    app: ColumnElement[str] = _s.app
    if query.forked_from:
        wanted.append(_s.parent_session_id == query.forked_from)
        # No columns, so that the database does not prefer the index of the owner's sessions, of which there are more.
        user_id, app = user_id.concat(""), app.concat("")
    if query.user_id is not None:
        wanted.append(user_id == query.user_id)
    if query.app is not None:
        wanted.append(app == query.app)
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
        if not query.forked_from:
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


def newest_events(scanner: Scanner, keys: Sequence[int], max_bytes: int) -> Sequence[tuple[StoredEvent | None, int]]:
    """Returns the last event of each session in the order of the window, as many as fit, each with its size."""
    sql = scanner.engine.sql

    def build() -> Select[Any]:
        e = events.alias("e").c
        newest = sa.select(e.id).where(e.session == _s.id).order_by(e.position.desc()).limit(sa.literal_column("1"))
        last = newest.correlate(sessions).scalar_subquery()
        columns = (events.c.session, events.c.id, events.c.size)
        return sa.select(*columns).select_from(sa.join(sessions, events, events.c.id == last)).where(sql.in_list(_s.id, "keys"))

    prepared = scanner.statements.get("newest events", scanner.connection, build)
    last_events = prepared.run(scanner.connection, {"keys": sql.listed(keys)})
    fitting = _fitting({row.session: row for row in last_events}, keys, max_bytes)
    found = {key: event for key, _, event in stored_events(scanner, [row.id for row in fitting.values()])}
    rows = [fitting.get(key) for key in keys]
    return [(None, 0) if row is None or row.id not in found else (found[row.id], int(row.size)) for row in rows]


def _fitting(newest: dict[int, Any], keys: Sequence[int], left: int) -> dict[int, Any]:
    """Returns the events that fit, by session."""
    fitting: dict[int, Any] = {}
    for key in keys:
        row = newest.get(key)
        if row is not None and row.size <= left:
            left -= row.size
            fitting[key] = row
    return fitting


def delete_expired(
    connection: Connection,
    engine: Engine,
    deletions: SessionDeletions,
    tenant: str | None,
    now: int,
    limit: int,
    which: Expired = EXPIRED,
) -> int:
    rows = _free_expired(connection, engine, expired(tenant, now, which), limit)
    deletions.remove(connection, rows, now, expired=True)
    return len(rows)


def delete_seen(
    connection: Connection, engine: Engine, deletions: SessionDeletions, tenant: str, seen: Session, now: int
) -> bool:
    engine.locks.acquire(connection, [(tenant, seen.ref.session_id)])
    row = find(connection, tenant, seen.ref)
    if row is None or (row.uid, row.last_seq) != (seen.uid, seen.last_seq):
        return False
    if row.expire_time is None or row.expire_time > now:
        return False
    deletions.remove(connection, [row], now, expired=True)
    return True


def delete_unchanged(
    connection: Connection,
    engine: Engine,
    deletions: SessionDeletions,
    tenant: str,
    seen: Session,
    state_version: int,
    now: int,
) -> bool:
    engine.locks.acquire(connection, [(tenant, seen.ref.session_id)])
    row = find(connection, tenant, seen.ref)
    if row is None or session_of(row) != seen:
        return False
    stored = sa.select(state_totals.c.version).where(state_totals.c.owner == row.id)
    if (connection.execute(stored).scalar() or 0) != state_version:
        return False
    deletions.remove(connection, [row], now, expired=False)
    return True


def tenants(connection: Connection) -> list[str]:
    named = sa.select(sessions.c.tenant).distinct().order_by(sessions.c.tenant)
    return list(connection.execute(named).scalars())


def expired(tenant: str | None, now: int, which: Expired) -> list[ColumnElement[bool]]:
    """Conditions on sessions."""
    held = {"tenant": tenant, "app": which.app, "user_id": which.user_id}
    wanted = [sessions.c[name] == value for name, value in held.items() if value is not None]
    return [sessions.c.expire_time <= which.until(now), *wanted]


def _free_expired(connection: Connection, engine: Engine, expired: Sequence[ColumnElement[bool]], limit: int) -> list[Row[Any]]:
    """Returns expired sessions whose names this transaction has locked. Skips those that another server deletes or extends."""
    order = (sessions.c.expire_time, sessions.c.id)
    ahead: list[ColumnElement[bool]] = []
    taken: list[Row[Any]] = []
    while len(taken) < limit:
        columns = (sessions.c.id, sessions.c.tenant, sessions.c.session_id, sessions.c.expire_time)
        query = sa.select(*columns).where(*expired, *ahead).order_by(*order).limit(limit - len(taken))
        candidates = connection.execute(query).all()
        if not candidates:
            break
        free = engine.locks.try_acquire(connection, {(row.tenant, row.session_id) for row in candidates})
        keys = [row.id for row in candidates if (row.tenant, row.session_id) in free]
        # Read again: the previous holder of the lock may have extended or deleted it.
        taken += connection.execute(sa.select(sessions).where(*expired, sessions.c.id.in_(keys))).all()
        ahead = [sa.tuple_(*order) > sa.tuple_(sa.literal(candidates[-1].expire_time), sa.literal(candidates[-1].id))]
    return taken


def sweep_facts(connection: Connection, engine: Engine, now: int) -> SweepFacts:
    late = sa.select(sessions.c.id).where(*expired(None, now, EXPIRED))
    few = connection.execute(sa.select(sa.func.count()).select_from(late.limit(FEW_SESSIONS + 1).subquery())).scalar_one()
    newest = sa.select(changes.c.time).order_by(*(column.desc() for column in engine.sql.change_order)).limit(1)
    time: int | None = connection.execute(newest).scalar()
    if time is None:  # retention has trimmed the feed
        last = sa.select(sessions.c.create_time).order_by(sessions.c.id.desc()).limit(1)
        time = connection.execute(last).scalar()
    if few <= FEW_SESSIONS:
        return SweepFacts(few, 0, time)
    count = connection.execute(sa.select(sa.func.count()).select_from(late.subquery())).scalar_one()
    return SweepFacts(count, connection.execute(sa.select(sa.func.count()).select_from(sessions)).scalar_one(), time)


def totals(connection: Connection, tenant: str) -> Totals:
    # seq has no gaps and events are never deleted from a log, so its length is last_seq.
    statement = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(sessions.c.last_seq), 0)).where(
        sessions.c.tenant == tenant
    )
    count, stored = connection.execute(statement).one()
    return Totals(count, int(stored))
