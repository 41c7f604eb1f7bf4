"""Units of work on sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row

from ....domain.model import Session
from ....domain.sweeping import FEW_SESSIONS, SweepFacts
from ...contract.maintenance import Totals
from ...contract.sessions import EXPIRED, Expired
from ..engine.base import Engine
from ..schema.tables import changes, sessions
from .rows import find
from .session_deletions import SessionDeletions


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
