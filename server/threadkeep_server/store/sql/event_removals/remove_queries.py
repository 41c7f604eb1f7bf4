"""The unit of work that removes events and adds others, in one change of the log.

The cost depends on these events. The session's row is locked as by an append, so the log has one order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ....domain.erasure import Erased, digest_of
from ....domain.model import NO_COUNTERS, NO_USAGE, POSITION_STEP, Counters, EventDraft, SessionRef, StoredEvent, Versions
from ....domain.removals import (
    MOST_REMOVED,
    Outcome,
    Removal,
    RemovalKind,
    after_removal,
    event_line,
    event_lines,
    given_id,
    superseded_id,
)
from ....domain.state.state import StateRecord
from ...contract.removals import Pop, RemovalRequest, Removed, Rewind, check_log_version, in_order
from ..encryption.codec import StoredCodec
from ..engine.base import Engine
from ..engine.statements import Statements
from ..history.changes import record_window
from ..log import change_details
from ..log.rows import content_of, counters_of, event_row, ref_of, require
from ..log.slices.archivings import ARCHIVED_AT_ONCE, archive_later, is_archived, mark_all, mark_events
from ..log.writing.operations import outcome_of, remember
from ..log.writing.window_places import WindowPlaces
from ..schema.removals import operations, superseded_events
from ..schema.tables import ACTIVE_LEAD, APPENDED, INSERTED, REMOVED, USED, changes, events, sessions
from ..state.group import session_change
from ..state.records import sealed
from .plans import Plan, plan
from .rewinds import Rewinding, restore, restore_state
from .tombstones import bury, erase_log

_e = events.c
_ROWS_AT_ONCE = 500
_RENAME = events.update().where(_e.id == sa.bindparam("row")).values(event_id=sa.bindparam("name"))


@dataclass(frozen=True, slots=True)
class Done:
    """What the transaction did. `session`: the id of the row; `added`: the events that it added."""

    session: int
    removed: Removed
    added: Sequence[EventDraft] = ()


def remove(connection: Connection, engine: Engine, codec: StoredCodec, statements: Statements, request: RemovalRequest) -> Done:
    engine.locks.acquire(connection, [(request.tenant, request.ref.session_id)])
    session = require(connection, request.tenant, request.ref, columns=sa.select(sessions).with_for_update())
    operation = request.operation
    if operation is not None:
        known = outcome_of(connection, session.id, operation, request.now)
        if known is not None:
            return Done(session.id, Removed(known, _events(connection, codec, session.id, request, known), replayed=True))
    versions = Versions(session.log_version, session.window_version, session.last_seq, counters_of(session))
    mark_all(connection, session.id)
    wanted = plan(connection, codec, statements, session, request)
    nothing = wanted.changes_nothing and not request.always_changes
    if not (nothing and wanted.replays):
        check_log_version(request, versions)
    if nothing:
        outcome = Outcome(
            added=in_order(request.drafts, {}, wanted.replays), versions=versions, erased=_erased(request, session, ())
        )
        done = Done(session.id, Removed(outcome))
    else:
        done = _Application(connection, codec, session, request, versions).apply(wanted)
    if operation is not None:
        remember(connection, session.id, operation, done.removed.outcome, request.now)
    return done


class _Application:
    """Writes a removal that was checked."""

    def __init__(
        self, connection: Connection, codec: StoredCodec, session: Row[Any], request: RemovalRequest, versions: Versions
    ) -> None:
        self._connection = connection
        self._codec = codec
        self._session = session
        self._request = request
        self._versions = versions
        self._version = versions.log_version + 1
        self._places: list[int] = []

    def apply(self, wanted: Plan) -> Done:
        gone = wanted.gone
        popped: Sequence[StoredEvent] = ()
        if gone is None:
            removed = self._versions.window
            self._clear()
        else:
            removed = _counted([*(row for row in gone if not row.archived), *wanted.again])
            if isinstance(self._request.what, Pop):
                popped = _bodies(self._connection, self._codec, [row.id for row in gone])
            self._take_out(gone, wanted.superseded)
        seqs, inserted = self._insert(wanted)
        restored, state = self._rewind(wanted)
        drafts = [draft for draft, _ in wanted.added]
        fresh = sum((each.counters for each in drafts), restored)
        versions = after_removal(self._versions, removed, fresh, len(drafts))
        if wanted.appends_only:
            versions = replace(versions, window_version=self._versions.window_version)
        outcome = Outcome(
            removed=removed.events if gone is None else len(gone) + len(wanted.again),
            seqs=() if gone is None or isinstance(self._request.what, Rewind) else tuple(row.seq for row in gone),
            added=in_order(self._request.drafts, seqs, wanted.replays),
            versions=versions,
            erased=_erased(self._request, self._session, gone),
            restored=restored.events,
        )
        self._write_session(versions, drafts, wanted)
        # Also if it only appends: its events have no counters, which reads as of a moment look for.
        record_window(self._connection, self._session.id, versions, self._places)
        self._record(wanted, outcome, inserted, sum(len(draft.body) for draft in drafts))
        if state is not None:
            record = sealed(self._codec, self._request.tenant, state)
            self._connection.execute(changes.insert(), session_change(self._session.id, self._request.now, versions, record))
        return Done(self._session.id, Removed(outcome, popped), drafts)

    def _clear(self) -> None:
        session, through = self._session.id, (self._session.last_seq + 1) * POSITION_STEP - 1
        lead = sa.select(_e.id).where(_e.session == session, sa.text(ACTIVE_LEAD))
        mark_events(self._connection, self._connection.execute(lead).scalars().all(), self._version)
        if self._versions.window.events > ARCHIVED_AT_ONCE:
            archive_later(self._connection, session, through, None, self._version)
        else:
            left = sa.select(_e.id).where(_e.session == session, sa.text("NOT archived"))
            mark_events(self._connection, self._connection.execute(left).scalars().all(), self._version)
        self._connection.execute(operations.delete().where(operations.c.session == session))
        if self._request.erase:
            erase_log(self._connection, session, self._session.last_seq, self._version)

    def _take_out(self, gone: Sequence[Row[Any]], superseded: Sequence[Row[Any]]) -> None:
        if self._request.erase:
            bury(self._connection, self._codec, self._request.tenant, self._session.id, [row.id for row in gone], self._version)
        else:
            mark_events(self._connection, [row.id for row in gone if not row.archived], self._version)
        if superseded:
            named = [{"row": row.id, "name": superseded_id(row.event_id, row.seq)} for row in superseded]
            self._connection.execute(_RENAME, named)
            kept = [{"event": row.id, "session": self._session.id, "event_id": row.event_id} for row in superseded]
            self._connection.execute(superseded_events.insert(), kept)

    def _rewind(self, wanted: Plan) -> tuple[Counters, StateRecord | None]:
        """Brings back what a rewind brings back. Returns the counters of the events, and the record of the state."""
        if not isinstance(self._request.what, Rewind):
            return NO_COUNTERS, None
        rewinding = wanted.rewinding or Rewinding(wanted.through)
        restore(self._connection, self._session.id, rewinding, self._version)
        self._places += [row.position for row in rewinding.restored]
        return rewinding.counters, restore_state(self._connection, rewinding, self._version)

    def _insert(self, wanted: Plan) -> tuple[dict[str, int], list[int]]:
        """Returns the seqs by id, and the row ids, of the added events."""
        places = WindowPlaces(self._connection, self._session.id)
        seqs: dict[str, int] = {}
        inserted: list[int] = []
        for seq, (draft, anchor) in enumerate(wanted.added, self._session.last_seq + 1):
            position = seq * POSITION_STEP if anchor is None else places.positions(anchor, 1, seq - 1)[0]
            row = event_row(
                self._codec, self._request.tenant, draft, self._session.id, seq, self._request.now, position, self._version
            )
            self._places.append(position)
            key = self._connection.execute(events.insert().returning(_e.id), row).scalar_one()
            seqs[draft.event_id] = seq
            inserted.append(int(key))
        return seqs, inserted

    def _write_session(self, versions: Versions, drafts: Sequence[EventDraft], wanted: Plan) -> None:
        session, gone = self._session, wanted.gone
        added = sum(draft.content_bytes for draft in drafts) + (wanted.rewinding.content if wanted.rewinding else 0)
        active = [*wanted.again, *(row for row in gone or () if not row.archived)]
        left = session.window_content if gone is None else sum(map(content_of, active))
        spent = sum((draft.usage for draft in drafts), NO_USAGE)
        values: dict[str, Any] = change_details.state_columns(versions)
        values["update_time"] = max(session.update_time, self._request.now)
        values["window_content"] = session.window_content - left + added
        values |= {f"usage_{name}": getattr(session, f"usage_{name}") + getattr(spent, name) for name in USED}
        self._connection.execute(sessions.update().where(sessions.c.id == session.id).values(values))

    def _record(self, wanted: Plan, outcome: Outcome, inserted: Sequence[int], size: int) -> None:
        """Adds the change to the feed."""
        seqs = [seq for _, seq, replayed in outcome.added if not replayed]
        change = {"session": self._session.id, "time": self._request.now, "size": size}
        if wanted.appends_only:
            change |= {"kind": APPENDED, "first": seqs[0], "last": seqs[-1], "detail": None}
        else:
            left = sorted([*(wanted.gone or ()), *wanted.again], key=lambda row: row.position)[:MOST_REMOVED]
            removal = Removal(
                self._request.kind,
                self._request.erase or self._request.kind is RemovalKind.ERASED,
                outcome.removed,
                tuple(given_id(row.event_id) for row in left),
                tuple(row.seq for row in left),
                self._session.last_seq if wanted.gone is None else wanted.through,
                len(inserted),
                outcome.restored,
            )
            span = {"first": min(inserted, default=0), "last": max(inserted, default=0)}
            change |= {"kind": REMOVED, "detail": change_details.removed(removal), **span}
        self._connection.execute(changes.insert(), change | change_details.state_columns(outcome.versions))


def _counted(rows: Iterable[Row[Any]]) -> Counters:
    return sum((Counters(1, int(row.turn_start), row.size, row.tokens) for row in rows), NO_COUNTERS)


def _erased(request: RemovalRequest, session: Row[Any], gone: Sequence[Row[Any]] | None) -> Erased | None:
    """Returns the facts of the receipt; of a clear they are complete when the log is erased."""
    if not request.erase:
        return None
    if gone is None:
        return Erased(request.now, None, sessions=0, events=session.last_seq)
    lines = sorted((event_line(*ref_of(session), row.event_id, row.seq) for row in gone), key=str.encode)
    return Erased(request.now, request.now, events=len(gone), ids_digest=digest_of(lines))


def log_digest(connection: Connection, engine: Engine, tenant: str, ref: SessionRef, last_seq: int) -> str:
    """Returns the digest of every event of a log up to a seq. Never holds all ids: the log may be long."""
    session = require(connection, tenant, ref)
    named = sa.select(_e.event_id, _e.seq).where(_e.session == session.id, _e.seq <= last_seq)
    rows = connection.execute(named.order_by(engine.sql.by_code_point(_e.event_id)).execution_options(yield_per=_ROWS_AT_ONCE))
    return digest_of(event_lines(*ref_of(session), ((row.event_id, row.seq) for row in rows)))


def _bodies(connection: Connection, codec: StoredCodec, keys: Sequence[int]) -> list[StoredEvent]:
    """Returns events that leave the window, in window order."""
    found: dict[int, StoredEvent] = {}
    for start in range(0, len(keys), _ROWS_AT_ONCE):
        query = sa.select(_e.id, _e.seq, _e.body).where(_e.id.in_(keys[start : start + _ROWS_AT_ONCE]))
        found |= {row.id: StoredEvent(row.seq, codec.decrypt(row.body), archived=True) for row in connection.execute(query)}
    return [found[key] for key in keys]


def _events(
    connection: Connection, codec: StoredCodec, session: int, request: RemovalRequest, known: Outcome
) -> Sequence[StoredEvent]:
    """Returns the events that an earlier pop removed, as they are now."""
    if not isinstance(request.what, Pop):
        return ()
    found: dict[int, StoredEvent] = {}
    columns = (_e.seq, _e.body, is_archived().label("archived"))
    for start in range(0, len(known.seqs), _ROWS_AT_ONCE):
        chunk = known.seqs[start : start + _ROWS_AT_ONCE]
        appended = _e.position.in_([seq * POSITION_STEP for seq in chunk])
        inserted = sa.and_(sa.text(INSERTED), _e.seq.in_(chunk))
        for place in (appended, inserted):
            for row in connection.execute(sa.select(*columns).where(_e.session == session, place)):
                found[row.seq] = StoredEvent(row.seq, codec.decrypt(row.body), bool(row.archived))
    return [found[seq] for seq in known.seqs]
