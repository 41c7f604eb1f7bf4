"""The unit of work that applies a compaction: archives in place, inserts between, renumbers nothing.

The cost depends on the archived and inserted events. The session's row is locked as by an append, so the log has one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ....domain.errors import EventIdConflict
from ....domain.model import Compaction, EventDraft, SessionRef, Versions
from ...contract.compaction import (
    Compacted,
    CompactionPage,
    CompactionRequest,
    check_versions,
    compaction_of,
)
from ..encryption.codec import StoredCodec
from ..engine.base import Engine
from ..history.changes import record_window
from ..log import change_details
from ..log.rows import compaction_row, counters_of, event_row, record_of, require
from ..log.slices.archivings import archive_later, mark_all, mark_events
from ..log.writing.window_places import WindowPlaces
from ..schema.tables import COMPACTED, COUNTED, USED, changes, compactions, events, sessions
from .selections import Selection, in_chunks, select_events

_e = events.c


def compact(
    connection: Connection, engine: Engine, codec: StoredCodec, request: CompactionRequest, selection: Selection | None
) -> Compacted:
    """`selection`: what `select_ahead` returned."""
    engine.locks.acquire(connection, [(request.tenant, request.ref.session_id)])
    session = require(connection, request.tenant, request.ref, columns=sa.select(sessions).with_for_update())
    replayed = _stored(connection, session.id, request.compaction_id)
    if replayed is not None:
        return Compacted(replayed, replayed=True)
    check_versions(request, session.log_version, session.window_version)
    mark_all(connection, session.id)
    if selection is None or selection.window_version != session.window_version:
        selection = select_events(connection, session, request)
    _refuse_stored(connection, session.id, request)
    versions = Versions(session.log_version, session.window_version, session.last_seq, counters_of(session))
    compaction = compaction_of(request, versions, selection.seqs, selection.counters)
    if not request.dry_run:
        _Application(connection, codec, session, request).write(compaction, selection)
    return Compacted(compaction)


def _refuse_stored(connection: Connection, session: int, request: CompactionRequest) -> None:
    for chunk in in_chunks([draft.event_id for draft in request.drafts]):
        query = sa.select(_e.event_id, _e.seq).where(_e.session == session, _e.event_id.in_(chunk))
        stored = {row.event_id: row.seq for row in connection.execute(query)}
        for event_id in chunk:
            if event_id in stored:
                raise EventIdConflict("inserts", event_id, stored[event_id])


class _Application:
    """Writes a compaction that was checked."""

    def __init__(self, connection: Connection, codec: StoredCodec, session: Row[Any], request: CompactionRequest) -> None:
        self._connection = connection
        self._codec = codec
        self._session = session
        self._request = request
        self._last_seq = int(session.last_seq)
        self._window = WindowPlaces(connection, session.id)
        self._places: list[int] = []

    def write(self, compaction: Compaction, selection: Selection) -> None:
        version = compaction.log_version
        mark_events(self._connection, selection.mark, version)
        inserted: list[int] = []
        for before, drafts in self._request.inserts.items():
            if drafts:
                inserted += self._insert(drafts, None if before is None else selection.anchors[before].id)
        if selection.through is not None or selection.listing is not None:
            # After the insertions, which may move it.
            through = 0 if selection.through is None else self._window.position(selection.through)
            archive_later(self._connection, self._session.id, through, selection.listing, version)
        self._write_session(compaction, selection.content)
        after = Versions(version, compaction.window_version, self._last_seq, compaction.after)
        record_window(self._connection, self._session.id, after, self._places)
        row = compaction_row(compaction) | {"session": self._session.id}
        record = compactions.insert().values(row).returning(compactions.c.id)
        self._record(after, self._connection.execute(record).scalar_one(), inserted)

    def _record(self, after: Versions, record: int, inserted: Sequence[int]) -> None:
        """Adds the change to the feed."""
        change = {
            "kind": COMPACTED,
            "session": self._session.id,
            "time": self._request.now,
            "first": min(inserted, default=0),
            "last": max(inserted, default=0),
            "size": sum(len(draft.body) for draft in self._request.drafts),
            "detail": change_details.compacted(record, len(inserted)),
        }
        self._connection.execute(changes.insert(), change | change_details.state_columns(after))

    def _insert(self, drafts: Sequence[EventDraft], anchor: int | None) -> Sequence[int]:
        """Returns the row ids of the inserted events."""
        positions = self._window.positions(anchor, len(drafts), self._last_seq)
        self._places += positions
        rows = []
        for draft, position in zip(drafts, positions, strict=True):
            self._last_seq += 1
            rows.append(self._event(draft, position))
        return self._connection.execute(events.insert().returning(_e.id), rows).scalars().all()

    def _event(self, draft: EventDraft, position: int) -> dict[str, Any]:
        session, tenant = self._session, self._request.tenant
        version = session.log_version + 1
        return event_row(self._codec, tenant, draft, session.id, self._last_seq, self._request.now, position, version)

    def _write_session(self, compaction: Compaction, archived_content: int) -> None:
        spent = sum((draft.usage for draft in self._request.drafts), self._request.usage)
        values: dict[str, Any] = {
            "log_version": compaction.log_version,
            "window_version": compaction.window_version,
            "last_seq": self._last_seq,
            "update_time": max(self._session.update_time, self._request.now),
        }
        values |= {f"window_{name}": getattr(compaction.after, name) for name in COUNTED}
        added = sum(draft.content_bytes for draft in self._request.drafts)
        values["window_content"] = self._session.window_content - archived_content + added
        values |= {f"usage_{name}": getattr(self._session, f"usage_{name}") + getattr(spent, name) for name in USED}
        self._connection.execute(sessions.update().where(sessions.c.id == self._session.id).values(values))


def get_compaction(connection: Connection, tenant: str, ref: SessionRef, compaction_id: str) -> Compaction | None:
    key = require(connection, tenant, ref, columns=sa.select(sessions.c.id)).id
    return _stored(connection, key, compaction_id)


def _stored(connection: Connection, session: int, compaction_id: str) -> Compaction | None:
    same = sa.and_(compactions.c.session == session, compactions.c.compaction_id == compaction_id)
    row = connection.execute(sa.select(compactions).where(same)).one_or_none()
    return None if row is None else record_of(row)


def list_compactions(connection: Connection, tenant: str, ref: SessionRef, limit: int, cursor: int | None) -> CompactionPage:
    key = require(connection, tenant, ref, columns=sa.select(sessions.c.id)).id
    wanted = [compactions.c.session == key, *([] if cursor is None else [compactions.c.id < cursor])]
    query = sa.select(compactions).where(*wanted).order_by(compactions.c.id.desc()).limit(limit + 1)
    rows = connection.execute(query).all()
    page = rows[:limit]
    return CompactionPage([record_of(row) for row in page], page[-1].id if len(rows) > len(page) else None)
