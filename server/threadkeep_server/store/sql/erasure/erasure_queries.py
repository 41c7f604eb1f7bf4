"""Units of work of erasures: each erases a part, and records it in the same transaction.

A unit locks the names that it deletes before it writes (see Locks), and the row of its erasure next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.sql import ColumnElement

from ....domain.erasure import SESSION, Erasure, ErasureScope, digest_of, id_line, memory_line
from ....domain.errors import InvalidField
from ....domain.memories import Forget, MemoryScope
from ...contract.erasure import RECEIPTS_KEPT_NS, REQUEST_ID_USED, erased_policies
from ..engine.base import Engine
from ..engine.statements import ROWS_AT_ONCE
from ..log.session_deletions import SessionDeletions
from ..memories import memory_queries
from ..schema.erasures import COUNTS, erased_ids, erasures
from ..schema.memories import memories, memory_tombstones
from ..schema.tables import CREATED, MOVED, REMOVED, UPDATED, consumers, parked_changes, policies, session_labels, sessions
from ..search.term_index import TermIndex

_SESSIONS_AT_ONCE = 20
_ROWS_AT_ONCE = 1000

_s, _e, _i = sessions.c, erasures.c, erased_ids.c


class Place(NamedTuple):
    """A session's place in the order in which sessions are erased: that of the indexes."""

    create_time: int
    id: int


BEFORE_ALL = Place(-1, 0)


def begin(connection: Connection, engine: Engine, wanted: Erasure) -> Row[Any]:
    """Returns the row of the erasure, which an earlier call may have begun or ended. Raises InvalidField."""
    engine.locks.acquire(connection, [(wanted.tenant, f"erasure {wanted.key}")])
    connection.execute(erasures.delete().where(_e.tenant == wanted.tenant, _e.finish_time < wanted.now - RECEIPTS_KEPT_NS))
    mine = (_e.tenant == wanted.tenant, _e.request == wanted.key)
    row = connection.execute(sa.select(erasures).where(*mine)).one_or_none()
    if row is not None and row.scope != wanted.scope.digest:
        raise InvalidField("request_id", REQUEST_ID_USED)
    if row is not None and (row.finish_time is None or wanted.request_id):
        return row
    connection.execute(erasures.delete().where(*mine))
    fresh = {"tenant": wanted.tenant, "request": wanted.key, "scope": wanted.scope.digest, "start_time": wanted.now}
    fresh |= {"newest": _newest(connection, _s, wanted.tenant), "ids_digest": ""} | dict.fromkeys(COUNTS, 0)
    return connection.execute(erasures.insert().values(fresh).returning(erasures)).one()


def current(connection: Connection, erasure: int) -> Row[Any]:
    """Returns the row of an erasure."""
    return connection.execute(sa.select(erasures).where(_e.id == erasure)).one()


def _newest(connection: Connection, of: Any, tenant: str) -> int:
    """Returns the highest id of a tenant's rows. `of`: columns."""
    return int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(of.id), 0)).where(of.tenant == tenant)).scalar_one())


def newest_memory(connection: Connection, tenant: str) -> int:
    return _newest(connection, memories.c, tenant)


def erase_sessions(
    connection: Connection,
    engine: Engine,
    deletions: SessionDeletions,
    erasure: Row[Any],
    scope: ErasureScope,
    after: Place,
    now: int,
) -> Place | None:
    """Erases the next sessions after a place. Returns the place to continue from; None if nothing is left."""
    which = [_s.tenant == erasure.tenant, _s.id <= erasure.newest, *named(scope, _s), *_labeled(scope)]
    place = sa.tuple_(_s.create_time, _s.id)
    next_ones = sa.select(_s.create_time, _s.id, _s.session_id).where(*which, place > sa.tuple_(*map(sa.literal, after)))
    found = connection.execute(next_ones.order_by(_s.create_time, _s.id).limit(_SESSIONS_AT_ONCE)).all()
    if not found:
        return None
    engine.locks.acquire(connection, {(erasure.tenant, row.session_id) for row in found})
    if not is_open(connection, erasure.id):
        return None
    # Read again: the previous holder of a lock may have changed or deleted it.
    rows = connection.execute(sa.select(sessions).where(_s.id.in_([row.id for row in found]), *which)).all()
    deletions.remove(connection, rows, now, expired=False)
    parked = parked_changes.c
    of_data = sa.or_(parked.kind.in_((CREATED, UPDATED, MOVED, REMOVED)), parked.state.is_not(None))
    held = (parked.session.in_([row.id for row in rows]), of_data)
    connection.execute(parked_changes.delete().where(*held))
    lines = [id_line(SESSION, row.app, row.user_id, row.session_id) for row in rows]
    _record(connection, erasure.id, lines, sessions=len(rows), events=sum(row.last_seq for row in rows))
    return Place(found[-1].create_time, found[-1].id)


def named(scope: ErasureScope, of: Any) -> list[ColumnElement[bool]]:
    """Conditions on rows of a user and an app. `of`: their columns."""
    return [of[name] == value for name, value in (("user_id", scope.user_id), ("app", scope.app)) if value is not None]


def _labeled(scope: ErasureScope) -> list[ColumnElement[bool]]:
    label = session_labels.c
    return [
        sa.exists().where(label.session == _s.id, label.key == key, label.value == value) for key, value in scope.labels.items()
    ]


def memory_scope(connection: Connection, erasure: Row[Any], scope: ErasureScope, newest: int) -> MemoryScope | None:
    """Returns a user and an app of the scope that still have memories; None once the erasure has ended."""
    m = memories.c
    running = sa.exists().where(_e.id == erasure.id, _e.finish_time.is_(None))
    some = sa.select(m.app, m.user_id).where(m.tenant == erasure.tenant, m.id <= newest, *named(scope, m), running)
    row = connection.execute(some.limit(1)).one_or_none()
    return None if row is None else MemoryScope(*row)


def erased_sessions(connection: Connection, engine: Engine, erasure: int, after: str) -> Sequence[str]:
    """Returns the lines of the next erased sessions."""
    line = engine.sql.by_code_point(_i.line)
    sessions_only = sa.func.substr(_i.line, 1, len(SESSION)) == SESSION
    query = sa.select(_i.line).where(_i.erasure == erasure, line > after, sessions_only).order_by(line)
    return connection.execute(query.limit(_ROWS_AT_ONCE)).scalars().all()


def erase_memories(
    connection: Connection,
    engine: Engine,
    index: TermIndex | None,
    erasure: Row[Any],
    scope: MemoryScope,
    what: Forget,
    newest: int,
    now: int,
) -> bool:
    """Returns whether more may be left. Entries of a session stay deleted if it is ingested again."""
    memory_queries.take_turn(connection, engine, erasure.tenant, scope)
    if not is_open(connection, erasure.id):
        return False
    bury = what.session_id is not None
    gone = memory_queries.forget_some(connection, index, erasure.tenant, scope, what, newest, now, bury=bury)
    lines = [memory_line(*scope, name) for name in gone.names]
    _record(connection, erasure.id, lines, memories=len(gone.names), embeddings=gone.embeddings)
    return bool(gone.names)


def erase_tombstones(connection: Connection, tenant: str, scope: ErasureScope) -> bool:
    """Removes ids of deleted memories: their sessions are gone. Returns whether more may be left."""
    t = memory_tombstones.c
    name = sa.tuple_(t.app, t.user_id, t.memory_id)
    some = sa.select(t.app, t.user_id, t.memory_id).where(t.tenant == tenant, *named(scope, t)).limit(_ROWS_AT_ONCE)
    return connection.execute(memory_tombstones.delete().where(t.tenant == tenant, name.in_(some))).rowcount > 0


def ids_digest(connection: Connection, engine: Engine, erasure: int) -> tuple[str, int]:
    """Returns the digest of the lines of an erasure, and their number. Runs in a snapshot."""
    query = sa.select(_i.line).where(_i.erasure == erasure).order_by(engine.sql.by_code_point(_i.line))
    count = _count(connection, erasure)
    return digest_of(connection.execute(query.execution_options(yield_per=ROWS_AT_ONCE)).scalars()), count


def _count(connection: Connection, erasure: int) -> int:
    count = sa.select(sa.func.count()).select_from(erased_ids).where(_i.erasure == erasure)
    return int(connection.execute(count).scalar_one())


def finish(connection: Connection, erasure: int, wanted: Erasure, digest: str, count: int, now: int) -> Row[Any] | None:
    """Returns the row of the erasure, which has ended; None: another call has erased more since the digest was made."""
    if is_open(connection, erasure):
        if _count(connection, erasure) != count:
            return None
        scope = wanted.scope
        _forget_policies(connection, wanted.tenant, scope, now)
        dropped = 0
        if scope.is_whole_user:
            owned = (consumers.c.tenant == wanted.tenant, consumers.c.owner == scope.user_id)
            dropped = connection.execute(consumers.delete().where(*owned)).rowcount
        ended = {"finish_time": now, "ids_digest": digest, "consumers": dropped}
        connection.execute(erasures.update().where(_e.id == erasure).values(ended))
    return current(connection, erasure)


def _forget_policies(connection: Connection, tenant: str, scope: ErasureScope, now: int) -> None:
    levels = [int(level) for level in erased_policies(scope)]
    which = (
        policies.c.tenant == tenant,
        policies.c.scope.in_(levels),
        *named(scope, policies.c),
        policies.c.body.is_not(None),
    )
    connection.execute(policies.update().where(*which).values(body=None, time=now))


def forget_ids(connection: Connection) -> bool:
    """Removes the lines of erasures that have ended. Returns whether more may be left."""
    running = sa.select(_e.id).where(_e.finish_time.is_(None))
    erasure = connection.execute(sa.select(_i.erasure).where(_i.erasure.not_in(running)).limit(1)).scalar()
    if erasure is None:
        return False
    some = sa.select(_i.line).where(_i.erasure == erasure).limit(_ROWS_AT_ONCE)
    connection.execute(erased_ids.delete().where(_i.erasure == erasure, _i.line.in_(some)))
    return True


def is_open(connection: Connection, erasure: int) -> bool:
    """Locks the row of the erasure. Returns whether it has not ended: another call may have ended it."""
    query = sa.select(_e.id).where(_e.id == erasure, _e.finish_time.is_(None)).with_for_update()
    return connection.execute(query).scalar() is not None


def _record(connection: Connection, erasure: int, lines: Sequence[str], **counts: int) -> None:
    if not lines:
        return
    insert = "INSERT INTO erased_ids (erasure, line) VALUES (:erasure, :line) ON CONFLICT (erasure, line) DO NOTHING"
    connection.execute(sa.text(insert), [{"erasure": erasure, "line": line} for line in lines])
    more = {name: _e[name] + count for name, count in counts.items()}
    connection.execute(erasures.update().where(_e.id == erasure).values(more))
