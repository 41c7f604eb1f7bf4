"""The unit of work of an erasure that deletes the state of users and apps."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ....domain.erasure import ErasureScope
from ....domain.model import SessionRef
from ....domain.state.state import StateName, StatePatch, StateRecord, StateScope
from ..encryption.codec import StoredCodec
from ..engine.base import Engine
from ..log.slices.removals import REMOVED_AT_ONCE, remove_some
from ..schema.state import shared_states, state_totals, state_values
from ..schema.tables import changes, parked_changes
from ..state.group import lock_name, shared_change
from ..state.records import sealed
from ..state.statements import StateStatements
from .erasure_queries import is_open, named

_s = shared_states.c


def newest_state(connection: Connection, tenant: str) -> int:
    query = sa.select(sa.func.coalesce(sa.func.max(_s.id), 0)).where(_s.tenant == tenant)
    return int(connection.execute(query).scalar_one())


def erase_state(
    connection: Connection,
    engine: Engine,
    codec: StoredCodec,
    statements: StateStatements,
    erasure: Row[Any],
    scope: ErasureScope,
    newest: int,
    now: int,
) -> bool:
    """Erases the next part of the state of a user or an app, up to the row `newest`. Returns whether more may be left. The
    tenant is `ready`."""
    which = (_s.tenant == erasure.tenant, _s.id <= newest, *named(scope, _s))
    row = connection.execute(sa.select(shared_states).where(*which).order_by(_s.id).limit(1)).one_or_none()
    if row is None:
        return False
    name = StateName(StateScope.USER if row.user_id else StateScope.APP, SessionRef(row.app, row.user_id, ""))
    engine.locks.acquire(connection, [lock_name(erasure.tenant, name)])
    if not is_open(connection, erasure.id):
        return False
    owner = -row.id
    if remove_some(connection, state_values.c.owner, owner) or _forget_changes(connection, owner):
        return True
    parked = parked_changes.c
    connection.execute(parked_changes.delete().where(parked.session == owner, parked.state.is_not(None)))
    ended = state_totals.delete().where(state_totals.c.owner == owner).returning(state_totals.c.version)
    version = connection.execute(ended).scalar() or 0
    if connection.execute(shared_states.delete().where(_s.id == row.id)).rowcount:
        record = StateRecord(name.scope, version + 1, StatePatch(), deleted=True)
        state = sealed(codec, erasure.tenant, record)
        statements.record(connection, [shared_change(owner, erasure.tenant, name, now, state)])
    return True


def _forget_changes(connection: Connection, owner: int) -> bool:
    """Removes the data of the next changes in the feed. Their rows stay: positions refer to them. Returns whether more may be
    left."""
    c = changes.c
    some = sa.select(c.id).where(c.session == owner, c.state.is_not(None)).limit(REMOVED_AT_ONCE)
    return connection.execute(changes.update().where(c.id.in_(some)).values(state=None)).rowcount == REMOVED_AT_ONCE
