"""Units of work on sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from ...domain.errors import SessionAlreadyExists
from ...domain.model import NewSession, Session, SessionChange, SessionRef
from ..base import SessionPage, SessionQuery, Totals
from .policy_units import forget_policy
from .rows import find, labels_bytes, ref_of, require, session_of
from .schema import DELETED, changes, compactions, events, leases, session_labels, sessions

_ZEROS = {
    column.name: 0
    for column in sessions.c
    if column.name.startswith(("window_", "usage_")) or column.name in ("log_version", "last_seq")
}


def insert_session(connection: Connection, tenant: str, new: NewSession) -> int | None:
    """The new row's id, or None if another transaction was faster."""
    values: dict[str, Any] = _ZEROS | {
        "tenant": tenant,
        "app": new.ref.app,
        "user_id": new.ref.user_id,
        "session_id": new.ref.session_id,
        "uid": new.uid,
        "create_time": new.create_time,
        "update_time": new.create_time,
        "expire_time": new.expire_time,
        "metadata_json": new.metadata_json.encode(),
        "labels_json": labels_bytes(new.labels),
        "context_bytes": new.context_bytes,
    }
    try:
        with connection.begin_nested():
            key = connection.execute(sessions.insert().values(values).returning(sessions.c.id)).scalar_one()
    except IntegrityError:
        return None
    _set_labels(connection, key, new.labels)
    return int(key)


def create(connection: Connection, tenant: str, new: NewSession, return_existing: bool) -> tuple[Session, bool]:
    exact = sa.and_(
        sessions.c.tenant == tenant,
        sessions.c.app == new.ref.app,
        sessions.c.user_id == new.ref.user_id,
        sessions.c.session_id == new.ref.session_id,
    )
    stored = connection.execute(sa.select(sessions).where(exact)).one_or_none()
    created = stored is None and insert_session(connection, tenant, new) is not None
    if not created and not return_existing:
        raise SessionAlreadyExists(new.ref)
    return session_of(stored or connection.execute(sa.select(sessions).where(exact)).one()), created


def _set_labels(connection: Connection, key: int, labels: Any) -> None:
    connection.execute(session_labels.delete().where(session_labels.c.session == key))
    if labels:
        rows = [{"session": key, "key": name, "value": value} for name, value in labels.items()]
        connection.execute(session_labels.insert(), rows)


def update(connection: Connection, tenant: str, ref: SessionRef, change: SessionChange) -> Session:
    # Locked first, so that of two changes at once the labels of one and the columns of the other never mix.
    key = require(connection, tenant, ref, columns=sa.select(sessions.c.id).with_for_update()).id
    values: dict[str, Any] = {
        "update_time": sa.case((sessions.c.update_time > change.update_time, sessions.c.update_time), else_=change.update_time)
    }
    if "expiry" in change.fields:
        values["expire_time"] = change.expire_time
    if "metadata_json" in change.fields:
        values["metadata_json"] = change.metadata_json.encode()
    if "labels" in change.fields:
        values["labels_json"] = labels_bytes(change.labels)
        _set_labels(connection, key, change.labels)
    if "context_bytes" in change.fields:
        values["context_bytes"] = change.context_bytes
    connection.execute(sessions.update().where(sessions.c.id == key).values(values))
    return session_of(require(connection, tenant, ref))


def list_page(connection: Connection, tenant: str, query: SessionQuery) -> SessionPage:
    wanted = [sessions.c.tenant == tenant]
    if query.user_id is not None:
        wanted.append(sessions.c.user_id == query.user_id)
    if query.app is not None:
        wanted.append(sessions.c.app == query.app)
    for name, value in query.labels.items():
        label = sa.select(session_labels.c.session).where(session_labels.c.key == name, session_labels.c.value == value)
        wanted.append(sessions.c.id.in_(label))
    if query.cursor is not None:
        wanted.append(sessions.c.id < query.cursor)
    statement = sa.select(sessions).where(*wanted).order_by(sessions.c.id.desc()).limit(query.limit + 1)
    rows = connection.execute(statement).all()
    page = rows[: query.limit]
    return SessionPage([session_of(row) for row in page], page[-1].id if len(rows) > len(page) else None)


def delete(connection: Connection, tenant: str, ref: SessionRef, now: int) -> int | None:
    row = find(connection, tenant, ref, columns=sa.select(sessions.c.id))
    return None if row is None else _delete_rows(connection, [row.id], now).get(row.id)


def delete_expired(connection: Connection, tenant: str | None, now: int, limit: int) -> int:
    expired = [sessions.c.expire_time <= now, *([] if tenant is None else [sessions.c.tenant == tenant])]
    # Rows that another server is sweeping, or that somebody is extending, are left to them.
    candidates = sa.select(sessions.c.id).where(*expired).order_by(sessions.c.expire_time).limit(limit)
    keys = list(connection.execute(candidates.with_for_update(skip_locked=True)).scalars())
    return len(_delete_rows(connection, keys, now))


def _delete_rows(connection: Connection, keys: Sequence[int], now: int) -> dict[int, int]:
    """Deletes sessions with their logs; how many events each had. A session that is already gone is not in the answer."""
    gone: dict[int, int] = {}
    for key in keys:
        locked = connection.execute(sa.select(sessions).where(sessions.c.id == key).with_for_update()).one_or_none()
        if locked is None:
            continue
        # In a query of their own, or PostgreSQL would look for the lowest and the highest id among everybody's events.
        ids = sa.select(events.c.id).where(events.c.session == key).offset(sa.literal_column("0")).subquery()
        first, last = connection.execute(sa.select(sa.func.min(ids.c.id), sa.func.max(ids.c.id))).one()
        gone[key] = connection.execute(events.delete().where(events.c.session == key)).rowcount
        for table in (session_labels, compactions, leases):
            connection.execute(table.delete().where(table.c.session == key))
        forget_policy(connection, locked.tenant, ref_of(locked), now)
        connection.execute(sessions.delete().where(sessions.c.id == key))
        entry = {"kind": DELETED, "session": key, "time": now, "first": first or 0, "last": last or 0}
        connection.execute(changes.insert(), entry)
    return gone


def totals(connection: Connection, tenant: str) -> Totals:
    # seq is gapless and nothing is deleted from a log, so its length is last_seq.
    statement = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(sessions.c.last_seq), 0)).where(
        sessions.c.tenant == tenant
    )
    count, stored = connection.execute(statement).one()
    return Totals(count, int(stored))
