"""The first transaction of a fork: decides what it contains, and copies the state, which has changed by the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.errors import SessionAlreadyExists
from ....domain.model import NO_COUNTERS, Session
from ....domain.removals import Outcome
from ....domain.state.state import StatePatch, StateRecord, StateScope, Totals, record_of, size_of
from ...contract.forks import ForkRequest, fork_of, fork_ref
from ...contract.history import LogPoint
from ..encryption.codec import StoredCodec
from ..engine.base import Engine
from ..engine.statements import Record, Statements
from ..history.points import find_point
from ..log.rows import labels_bytes, named, parent_columns, require_prepared, session_of
from ..log.slices.archivings import mark_all
from ..log.writing.operations import outcome_of
from ..schema.forks import unfinished_forks
from ..schema.removals import log_erasures
from ..schema.state import past_values, state_values
from ..schema.tables import COUNTED, USED, sessions

LEASE_NS = 60_000_000_000
"""For how long a fork whose server stopped stays."""

_s = sessions.c


@dataclass(frozen=True, slots=True)
class Run:
    """A fork that is being copied. `session`, `origin`: ids of rows; `parent`: the origin at the beginning. `state`: the totals
    of the copied state and its first record; None without any."""

    session: int
    origin: int
    parent: Session
    point: LogPoint
    state: tuple[Totals, StateRecord | None] | None = None


def look(connection: Connection, statements: Statements, request: ForkRequest) -> Outcome | tuple[Record, LogPoint]:
    """Returns the row of the origin and the point; the outcome of an earlier call with the operation. Raises SessionNotFound,
    AmbiguousSession, OperationConflict, SessionAlreadyExists, InvalidField, HistoryUnknown."""
    row = require_prepared(connection, statements, request.tenant, request.origin)
    known = outcome_of(connection, row.id, request.operation, request.now)
    if known is not None:
        return known
    origin = session_of(row)
    refuse_existing(connection, request, origin)
    if request.at is None:
        point = LogPoint(row.last_seq, row.log_version, row.window_version)
    else:
        point, _ = find_point(connection, statements, request.origin, row, request.at)
    fork_of(request, origin, point, NO_COUNTERS)  # refuses labels
    return row, point


def refuse_existing(connection: Connection, request: ForkRequest, origin: Session) -> None:
    ref = fork_ref(request, origin.ref)
    # Not `named`: a ref without app and user would mean any.
    mine = (_s.tenant == request.tenant, _s.app == ref.app, _s.user_id == ref.user_id, _s.session_id == ref.session_id)
    if connection.execute(sa.select(_s.id).where(*mine)).scalar() is not None:
        raise SessionAlreadyExists(ref)


def begin(
    connection: Connection, engine: Engine, codec: StoredCodec, statements: Statements, request: ForkRequest, until: int
) -> Run | Outcome | None:
    """Returns None while a cleared log is being erased: its content must not be copied."""
    engine.locks.acquire(connection, [(request.tenant, request.origin.session_id)])
    locked = sa.select(_s.id).where(named(request.tenant, request.origin)).with_for_update()
    connection.execute(locked)
    found = look(connection, statements, request)
    if isinstance(found, Outcome):
        return found
    row, point = found
    if connection.execute(sa.select(log_erasures.c.session).where(log_erasures.c.session == row.id)).scalar() is not None:
        return None
    mark_all(connection, row.id)
    origin = session_of(row)
    key = _new_id(connection, request, origin)
    connection.execute(unfinished_forks.insert(), {"session": key, "until": until})
    state = _copy_state(connection, codec, request.tenant, row.id, key, point.log_version)
    return Run(key, row.id, origin, point, state)


def _new_id(connection: Connection, request: ForkRequest, origin: Session) -> int:
    """Returns an id that no session has had."""
    session = fork_of(request, origin, LogPoint(0, 0, 0), NO_COUNTERS)
    # No caller's id has a control character.
    row = session_row(request.tenant, session) | {"session_id": f"\x1f{request.uid}", "expire_time": None}
    key = int(connection.execute(sessions.insert().returning(_s.id), row).scalar_one())
    connection.execute(sessions.delete().where(_s.id == key))
    return key


def session_row(tenant: str, session: Session) -> dict[str, Any]:
    """Returns the columns of the row of a fork, without its id."""
    versions = {name: getattr(session, name) for name in ("log_version", "window_version", "last_seq")}
    plain = ("uid", "create_time", "update_time", "expire_time", "context_bytes")
    return (
        {"tenant": tenant, "metadata_json": session.metadata_json.encode(), "labels_json": labels_bytes(session.labels)}
        | session.ref._asdict()
        | {name: getattr(session, name) for name in plain}
        | versions
        | {"window_content": session.content_bytes}
        | {f"window_{what}": getattr(session.window, what) for what in COUNTED}
        | {f"usage_{kind}": getattr(session.usage, kind) for kind in USED}
        | parent_columns(session.parent)
    )


# --- state


def _copy_state(
    connection: Connection, codec: StoredCodec, tenant: str, origin: int, key: int, then: int
) -> tuple[Totals, StateRecord | None] | None:
    """Copies the values of a log version. The earlier ones follow in later transactions; they do not change."""
    now, past = state_values.c, past_values.c
    present = sa.select(now.key, now.since, now.value).where(now.owner == origin, now.since <= then)
    replaced = sa.select(past.key, past.since, past.value).where(past.owner == origin, past.since <= then, past.until > then)
    rows = connection.execute(sa.union_all(present, replaced)).all()
    values = {row.key.decode(): codec.decrypt(row.value).decode() for row in rows}
    copies = [
        {"owner": key, "key": row.key, "since": row.since, "value": codec.encrypt(tenant, values[row.key.decode()].encode())}
        for row in rows
    ]
    if copies:
        connection.execute(state_values.insert(), copies)
    earlier = sa.select(past.id).where(past.owner == origin, past.until <= then).limit(1)
    if not copies and connection.execute(earlier).scalar() is None:
        return None
    record = record_of(StateScope.SESSION, 1, StatePatch(values)) if values else None
    return Totals(1, len(values), size_of(values.items())), record
