"""Units of work on sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row

from ....domain.model import Session, SessionRef
from ...contract.compaction import PolicyScope
from ...contract.maintenance import Totals
from ...contract.sessions import EXPIRED, Expired, SessionPage, SessionQuery
from ..engine.base import Engine
from ..schema.tables import CREATED, DELETED, UPDATED, changes, compactions, events, leases, policies, session_labels, sessions
from . import change_details
from .rows import find, ref_of, session_of
from .slices.removals import REMOVED_AT_ONCE, remove_events


def list_page(connection: Connection, tenant: str, query: SessionQuery) -> SessionPage:
    order = (sessions.c.create_time, sessions.c.id)
    wanted = [sessions.c.tenant == tenant]
    if query.user_id is not None:
        wanted.append(sessions.c.user_id == query.user_id)
    if query.app is not None:
        wanted.append(sessions.c.app == query.app)
    for name, value in query.labels.items():
        label = sa.select(session_labels.c.session).where(session_labels.c.key == name, session_labels.c.value == value)
        wanted.append(sessions.c.id.in_(label))
    if query.cursor is not None:
        wanted.append(sa.tuple_(*order) < sa.tuple_(*map(sa.literal, query.cursor)))
    newest = sa.select(sessions).where(*wanted).order_by(*(column.desc() for column in order))
    rows = connection.execute(newest.limit(query.limit + 1)).all()
    page = rows[: query.limit]
    cursor = (page[-1].create_time, page[-1].id) if len(rows) > len(page) else None
    return SessionPage([session_of(row) for row in page], cursor)


def delete(connection: Connection, engine: Engine, tenant: str, ref: SessionRef, now: int) -> int | None:
    engine.locks.acquire(connection, [(tenant, ref.session_id)])
    row = find(connection, tenant, ref)
    if row is None:
        return None
    _delete_row(connection, row, now, expired=False)
    return int(row.last_seq)  # events never leave a log, so this is their number


def delete_expired(
    connection: Connection, engine: Engine, tenant: str | None, now: int, limit: int, which: Expired = EXPIRED
) -> int:
    rows = _free_expired(connection, engine, expired(tenant, now, which), limit)
    room = REMOVED_AT_ONCE
    for row in rows:
        room -= _delete_row(connection, row, now, expired=True, room=room)
    return len(rows)


def delete_seen(connection: Connection, engine: Engine, tenant: str, seen: Session, now: int) -> bool:
    engine.locks.acquire(connection, [(tenant, seen.ref.session_id)])
    row = find(connection, tenant, seen.ref)
    if row is None or (row.uid, row.last_seq) != (seen.uid, seen.last_seq):
        return False
    if row.expire_time is None or row.expire_time > now:
        return False
    _delete_row(connection, row, now, expired=True)
    return True


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


def _delete_row(connection: Connection, row: Row[Any], now: int, *, expired: bool, room: int = REMOVED_AT_ONCE) -> int:
    """Deletes a session, whose name is locked, with its log. Returns how many events this removed: see remove_events."""
    key = row.id
    # Locked, because writers of policies and leases lock the row and not the name.
    connection.execute(sa.select(sessions.c.id).where(sessions.c.id == key).with_for_update())
    # In a subquery, or PostgreSQL would look for the lowest and the highest id among all events.
    ids = sa.select(events.c.id).where(events.c.session == key).offset(sa.literal_column("0")).subquery()
    first, last = connection.execute(sa.select(sa.func.min(ids.c.id), sa.func.max(ids.c.id))).one()
    removed = remove_events(connection, key, row.last_seq, room)
    for table in (session_labels, compactions, leases):
        connection.execute(table.delete().where(table.c.session == key))
    ref = ref_of(row)
    _forget_policy(connection, row.tenant, ref, now)
    connection.execute(sessions.delete().where(sessions.c.id == key))
    # They are not read any more, and their session data must not remain.
    stale = (changes.c.session == key, changes.c.kind.in_((CREATED, UPDATED)))
    connection.execute(changes.update().where(*stale).values(detail=None))
    gone = session_of(row)
    name = {"tenant": row.tenant, "app": ref.app, "user_id": ref.user_id, "session_id": ref.session_id}
    span = {"first": first or 0, "last": last or 0}
    change = change_details.session_change(DELETED, key, now, gone, change_details.deleted(gone, expired=expired))
    connection.execute(changes.insert(), change | name | span)
    return removed


def _forget_policy(connection: Connection, tenant: str, ref: SessionRef, now: int) -> None:
    """Removes the policy of a session, if it has one."""
    of = policies.c
    mine = (of.tenant == tenant, of.scope == PolicyScope.SESSION, of.app == ref.app, of.user_id == ref.user_id)
    connection.execute(policies.update().where(*mine, of.session_id == ref.session_id).values(body=None, time=now))


def totals(connection: Connection, tenant: str) -> Totals:
    # seq has no gaps and events are never deleted from a log, so its length is last_seq.
    statement = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(sessions.c.last_seq), 0)).where(
        sessions.c.tenant == tenant
    )
    count, stored = connection.execute(statement).one()
    return Totals(count, int(stored))
