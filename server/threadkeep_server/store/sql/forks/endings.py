"""The last transaction of a fork: everybody sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Connection, Table

from ....domain.errors import SessionNotFound, StoreUnavailable
from ....domain.model import NO_COUNTERS, NOWHERE, Session
from ....domain.removals import Outcome, RemovalKind
from ...contract.forks import ForkRequest, fork_of, fork_outcome
from ..encryption.codec import StoredCodec
from ..engine.base import Engine
from ..history.changes import record_window
from ..log import change_details
from ..log.writing.operations import outcome_of, remember
from ..log.writing.version_names import name_versions
from ..schema.forks import unfinished_forks
from ..schema.history import past_archivings, window_changes
from ..schema.removals import superseded_events
from ..schema.state import state_totals
from ..schema.tables import COPIED, CREATED, INSERTED, REMOVED, changes, compactions, events, session_labels, sessions
from ..state.group import session_change
from ..state.records import sealed
from .beginnings import Run, refuse_existing, session_row
from .copying import REWOUND, Part

_e, _x = events.c, superseded_events.c


def finish(
    connection: Connection, engine: Engine, codec: StoredCodec, request: ForkRequest, run: Run, parts: Sequence[Part], past: int
) -> Session | Outcome:
    """Returns the fork; the outcome of another call that has made it. `past`: the number of copied earlier values of state.
    Raises SessionNotFound, SessionAlreadyExists, OperationConflict, StoreUnavailable."""
    names = {(request.tenant, run.parent.ref.session_id), (request.tenant, request.session_id)}
    engine.locks.acquire(connection, names)
    # It may have another owner by now, who has not forked it.
    same = (sessions.c.id == run.origin, sessions.c.user_id == run.parent.ref.user_id)
    origin = sa.select(sessions.c.id).where(*same).with_for_update()
    if connection.execute(origin).scalar() is None:
        raise SessionNotFound(run.parent.ref)
    known = outcome_of(connection, run.origin, request.operation, request.now)
    if known is not None:
        return known
    refuse_existing(connection, request, run.parent)
    _refuse_rewound(connection, run)
    ended = unfinished_forks.delete().where(unfinished_forks.c.session == run.session)
    if not connection.execute(ended).rowcount:
        raise StoreUnavailable("the copy of the session took too long; repeat the call")
    window = sum((part.active for part in parts), NO_COUNTERS)
    fork = fork_of(request, run.parent, run.point, window, sum(part.content for part in parts))
    connection.execute(sessions.insert(), {"id": run.session} | session_row(request.tenant, fork))
    if fork.labels:
        labels = [{"session": run.session, "key": key, "value": value} for key, value in fork.labels.items()]
        connection.execute(session_labels.insert(), labels)
    _place_inserted(connection, run)
    _name_versions(connection, run)
    for table in (window_changes, compactions):
        _copy_records(connection, table, run)
    _copy_past_archivings(connection, run)
    record_window(connection, run.session, fork.versions)
    _begin_history(connection, run)
    _write_changes(connection, codec, request, run, fork, parts)
    _write_totals(connection, run, past)
    remember(connection, run.origin, request.operation, fork_outcome(fork), request.now)
    return fork


def _refuse_rewound(connection: Connection, run: Run) -> None:
    """A rewind may have exchanged the ids of two versions of an event, of which one was copied before it and one after."""
    c = changes.c
    since = (c.session == run.origin, c.kind == REMOVED, c.log_version > run.parent.log_version)
    for detail in connection.execute(sa.select(c.detail).where(*since)).scalars():
        removal = change_details.read(detail).removal
        if removal is not None and removal.kind is RemovalKind.REWOUND:
            raise StoreUnavailable(REWOUND)


def _place_inserted(connection: Connection, run: Run) -> None:
    """Gives the inserted events the places that they have in the origin, which is locked."""
    o = events.alias("origin").c
    inserted = sa.text(INSERTED.replace("position", "origin.position"))
    place = sa.select(o.position).where(o.session == run.origin, inserted, o.seq == _e.seq).correlate(events).scalar_subquery()
    waiting = (_e.session == run.session, _e.position < 0)
    connection.execute(events.update().where(*waiting).values(position=place))


def _name_versions(connection: Connection, run: Run) -> None:
    """Notes the earlier versions of events, which have names of their own, and decides which versions have the ids."""
    o, f = events.alias("origin").c, events.alias("fork").c
    session = sa.literal(run.session, BigInteger)
    kept = sa.select(f.id, session, _x.event_id).where(
        _x.session == run.origin, o.id == _x.event, f.session == run.session, f.event_id == o.event_id
    )
    connection.execute(superseded_events.insert().from_select(["event", "session", "event_id"], kept))
    name_versions(connection, run.session, run.point.seq)


def _copy_records(connection: Connection, table: Table, run: Run) -> None:
    """Copies the rows of a table with a log version, up to that of the fork."""
    names = [column.name for column in table.c if column.name not in ("id", "session")]
    source = sa.select(sa.literal(run.session, BigInteger), *(table.c[name] for name in names))
    source = source.where(table.c.session == run.origin, table.c.log_version <= run.point.log_version)
    connection.execute(table.insert().from_select(["session", *names], source.order_by(table.c.log_version)))


def _copy_past_archivings(connection: Connection, run: Run) -> None:
    """Copies what is known of events that a rewind made active again."""
    p, o, f = past_archivings.c, events.alias("origin").c, events.alias("fork").c
    columns = (f.id, p.until, p.since, sa.literal(run.session, BigInteger))
    source = sa.select(*columns).where(
        p.session == run.origin,
        p.until <= run.point.log_version,
        o.id == p.event,
        f.session == run.session,
        f.position == o.position,
    )
    connection.execute(past_archivings.insert().from_select(["event", "until", "since", "session"], source))


def _begin_history(connection: Connection, run: Run) -> None:
    """Has the history of the fork begin with it, if that of the origin begins later: the point was found in the feed."""
    w, then = window_changes.c, run.point.log_version
    unknown = sa.select(w.log_version).where(w.session == run.origin, w.migrated, w.log_version > then)
    if connection.execute(unknown).first() is not None:
        mine = (w.session == run.session, w.log_version == then + 1)
        connection.execute(window_changes.update().where(*mine).values(migrated=True))


def _write_changes(
    connection: Connection, codec: StoredCodec, request: ForkRequest, run: Run, fork: Session, parts: Sequence[Part]
) -> None:
    """Adds the changes to the feed. The versions before the events are those of an empty log, so that versions ascend."""
    key, now = run.session, request.now
    created: dict[str, Any] = {"kind": CREATED, "session": key, "time": now, "first": 0, "last": 0}
    created |= {"detail": change_details.created(fork)} | change_details.state_columns(NOWHERE)
    connection.execute(changes.insert(), created)
    if run.state is not None and run.state[1] is not None:
        state = sealed(codec, request.tenant, run.state[1])
        connection.execute(changes.insert(), session_change(key, now, NOWHERE, state))
    copied = []
    for part in parts:
        row: dict[str, Any] = {"kind": COPIED, "session": key, "time": now, "first": part.first, "last": part.last}
        row |= {"size": part.size, "detail": change_details.copied(part.count)}
        copied.append(row | change_details.state_columns(replace(fork.versions, last_seq=part.last_seq)))
    if copied:
        connection.execute(changes.insert(), copied)


def _write_totals(connection: Connection, run: Run, past: int) -> None:
    if run.state is None:
        return
    totals = run.state[0]
    row = {"owner": run.session, "version": totals.version, "keys": totals.keys, "bytes": totals.bytes, "past": past}
    connection.execute(state_totals.insert(), row)
