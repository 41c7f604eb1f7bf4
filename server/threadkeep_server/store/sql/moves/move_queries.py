"""The unit of work that gives a session to another user. Its cost does not depend on the number of events: they belong to the
row of the session, which stays. Only the search index contains their owner; the indexer corrects it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ....domain.errors import SessionAlreadyExists, SessionNotFound
from ....domain.model import Session, SessionRef
from ....domain.removals import Outcome
from ...contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from ...contract.moves import Moved, MoveRequest, moved
from ..compaction.policy_queries import put_policy
from ..engine.base import Engine
from ..engine.statements import Statements
from ..log import change_details
from ..log.rows import find, require_prepared, session_of
from ..log.writing.operations import outcome_of, remember
from ..schema.tables import DELETED, MOVED, changes, leases, policies, sessions

_c = changes.c
_s = sessions.c
_p = policies.c


def move(connection: Connection, engine: Engine, statements: Statements, request: MoveRequest) -> Moved:
    """See MoveStore.move_session."""
    # Names have no user, so this is the lock of both.
    engine.locks.acquire(connection, [(request.tenant, request.ref.session_id)])
    if not request.ref.is_bare:  # under the old name there may be another session by now
        there = _find(connection, request.tenant, request.ref._replace(user_id=request.user_id))
        if there is not None and _is_known(connection, there, request):
            return Moved(session_of(there), replayed=True)
    # Locked, because writers of policies and leases lock the row and not the name.
    locked = find(connection, request.tenant, request.ref, columns=sa.select(_s.id).with_for_update())
    if locked is None:
        return _repeated(connection, request)
    key = locked.id
    row = require_prepared(connection, statements, request.tenant, request.ref)
    session = session_of(row)
    if _is_known(connection, row, request):
        return Moved(session, replayed=True)
    if session.ref.user_id == request.user_id:
        return Moved(session)
    after = moved(session, request)
    if _find(connection, request.tenant, after.ref) is not None:
        raise SessionAlreadyExists(after.ref)
    _write(connection, key, request, session, after)
    _move_policy(connection, request, session.ref, after.ref)
    connection.execute(leases.delete().where(leases.c.session == key))
    remember(connection, key, request.operation, Outcome(versions=after.versions), request.now)
    return Moved(after)


def _repeated(connection: Connection, request: MoveRequest) -> Moved:
    """Answers a request for a name that no session has any more. Raises SessionNotFound unless one that had it knows the
    operation."""
    for row in _former(connection, request.tenant, request.ref):
        if _is_known(connection, row, request):
            return Moved(session_of(row), replayed=True)
    raise SessionNotFound(request.ref)


def _former(connection: Connection, tenant: str, ref: SessionRef) -> Sequence[Row[Any]]:
    """Returns the sessions that had the name, by the moves that the feed still has. No session has it now."""
    left = sa.select(_c.session).where(sa.text(f"kind = {DELETED}"), _c.tenant == tenant, _c.session_id == ref.session_id)
    left = left.where(_c.app == ref.app, _c.user_id == ref.user_id)
    return connection.execute(sa.select(sessions).where(_s.tenant == tenant, _s.id.in_(left)).order_by(_s.id)).all()


def _find(connection: Connection, tenant: str, ref: SessionRef) -> Row[Any] | None:
    # Not `named`: a ref without app and user would mean any.
    mine = (_s.tenant == tenant, _s.app == ref.app, _s.user_id == ref.user_id, _s.session_id == ref.session_id)
    return connection.execute(sa.select(sessions).where(*mine)).one_or_none()


def _is_known(connection: Connection, row: Any, request: MoveRequest) -> bool:
    """Raises OperationConflict."""
    return outcome_of(connection, row.id, request.operation, request.now) is not None


def _write(connection: Connection, key: int, request: MoveRequest, before: Session, after: Session) -> None:
    """Adds both changes to the feed, and gives the row its new owner and the position of the second one."""
    gone = change_details.session_change(
        DELETED, key, request.now, before, change_details.deleted(before, expired=False, moved=True)
    )
    connection.execute(changes.insert(), gone | before.ref._asdict() | {"tenant": request.tenant})
    here = change_details.session_change(MOVED, key, request.now, after, change_details.created(after))
    place = connection.execute(changes.insert().values(here).returning(changes.c.xid, changes.c.id)).one()
    values = {"user_id": after.ref.user_id, "update_time": after.update_time, "moved_xid": place.xid, "moved_change": place.id}
    connection.execute(sessions.update().where(_s.id == key).values(values))


def _move_policy(connection: Connection, request: MoveRequest, old: SessionRef, new: SessionRef) -> None:
    """The policy of a session goes with it. The row under the old name stays, so that other servers notice."""
    mine = {"tenant": request.tenant, "scope": int(PolicyScope.SESSION), **old._asdict()}
    where = [_p[name] == value for name, value in mine.items()]
    body = connection.execute(sa.select(_p.body).where(*where)).scalar()
    if body is not None:
        connection.execute(policies.update().where(*where).values(body=None, time=request.now))
        key = PolicyKey(request.tenant, PolicyScope.SESSION, *new)
        put_policy(connection, StoredPolicy(key, body, request.now))
