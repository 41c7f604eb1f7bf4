"""Units of work on compaction policies and leases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from ....domain.model import SessionRef
from ...contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from ..log.rows import find, require
from ..schema.tables import leases, policies, sessions

_p = policies.c


def put_policy(connection: Connection, policy: StoredPolicy) -> None:
    key = policy.key
    if key.scope is PolicyScope.SESSION:
        # Locked, so that the session is not deleted in the meantime.
        require(connection, key.tenant, key.ref, columns=sa.select(sessions.c.id).with_for_update())
    named = dict(zip(PolicyKey._fields, key, strict=True))
    _put(connection, policies, named, {"body": policy.body, "time": policy.time})


def policies_since(connection: Connection, since: int) -> Sequence[StoredPolicy]:
    rows = connection.execute(sa.select(policies).where(_p.time >= since)).all()
    return [
        StoredPolicy(PolicyKey(row.tenant, PolicyScope(row.scope), row.app, row.user_id, row.session_id), row.body, row.time)
        for row in rows
    ]


def lease(connection: Connection, tenant: str, ref: SessionRef, owner: str, now: int, until: int) -> bool:
    # Locked, so that one of two servers takes it.
    key = require(connection, tenant, ref, columns=sa.select(sessions.c.id).with_for_update()).id
    held = connection.execute(sa.select(leases).where(leases.c.session == key)).one_or_none()
    if held is not None and held.owner != owner and held.until > now:
        return False
    _put(connection, leases, {"session": key}, {"owner": owner, "until": until})
    return True


def release(connection: Connection, tenant: str, ref: SessionRef, owner: str) -> None:
    row = find(connection, tenant, ref, columns=sa.select(sessions.c.id))
    if row is not None:
        connection.execute(leases.delete().where(leases.c.session == row.id, leases.c.owner == owner))


def _put(connection: Connection, table: sa.Table, key: dict[str, Any], values: dict[str, Any]) -> None:
    """Inserts or updates the row; if another transaction inserts it at the same time, the later one wins."""
    update = table.update().where(*(table.c[name] == value for name, value in key.items())).values(values)
    if connection.execute(update).rowcount:
        return
    try:
        with connection.begin_nested():
            connection.execute(table.insert().values(key | values))
    except IntegrityError:
        connection.execute(update)
