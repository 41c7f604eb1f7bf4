"""What a removal concerns: the events that leave, and those that come, as the session is when it is locked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.sql import Select

from ....domain.errors import EventIdConflict, EventNotFound, VersionMismatch
from ....domain.model import EventDraft, Tools
from ....domain.removals import MOST_REMOVED
from ...contract.removals import Chosen, Clear, Pop, RemovalRequest, Rewind, Suffix, Upsert, check_suffix, fitting_count
from ..encryption.codec import StoredCodec
from ..engine.statements import Statements
from ..log.append_group import Head
from ..log.append_queries import last_event_id
from ..schema.removals import superseded_events
from ..schema.tables import events
from . import rewinds
from .rewinds import Rewinding

_e = events.c
_COLUMNS = rewinds.COLUMNS
_IDS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """`gone`: the events that leave, in window order; of a clear None, which means all. `superseded`: those of them whose ids
    pass to new events. `added`: the new events, each with the row id of the event to insert it before; None: at the end.
    `replays`: seqs by id of drafts that are stored already. `rewinding`: what a rewind brings back, and `through` the last seq
    of its point."""

    gone: Sequence[Row[Any]] | None
    superseded: Sequence[Row[Any]] = ()
    added: Sequence[tuple[EventDraft, int | None]] = ()
    replays: Mapping[str, int] = field(default_factory=dict)
    rewinding: Rewinding | None = None
    through: int = 0

    @property
    def again(self) -> Sequence[Row[Any]]:
        """Active events that a rewind archives, though they are before its point."""
        return () if self.rewinding is None else self.rewinding.again

    @property
    def appends_only(self) -> bool:
        return self.gone is not None and not self.gone and bool(self.added)

    @property
    def changes_nothing(self) -> bool:
        return self.gone is not None and not self.gone and not self.added and not self.rewinding


def plan(
    connection: Connection, codec: StoredCodec, statements: Statements, session: Row[Any], request: RemovalRequest
) -> Plan:
    """Raises EventNotFound, EventIdConflict, VersionMismatch, and what a rewind raises."""
    match request.what:
        case Clear():
            return Plan(None)
        case Pop() as pop:
            newest = _newest(connection, session.id, pop.count, pop.branch)
            return Plan(newest[: fitting_count([row.size for row in newest], pop.max_bytes)][::-1])
        case Chosen(event_ids):
            return _chosen(connection, session, request, event_ids)
        case Suffix() as suffix:
            return _suffix(connection, session, request, suffix)
        case Rewind(at):
            gone, rewinding = rewinds.plan(connection, codec, statements, session, request, at)
            return Plan(gone, rewinding=rewinding or None, through=rewinding.through)
        case Upsert() as upsert:
            return _upsert(connection, codec, session, request, upsert)


def _newest(connection: Connection, session: int, count: int, branch: str | None) -> Sequence[Row[Any]]:
    """Returns the newest active events, newest first."""
    query: Select[Any] = sa.select(*_COLUMNS).where(_e.session == session, sa.text("NOT archived"))
    if branch is not None:
        query = query.where(_e.branch == branch)
    return connection.execute(query.order_by(_e.position.desc()).limit(count)).all()


def _chosen(connection: Connection, session: Row[Any], request: RemovalRequest, event_ids: Sequence[str]) -> Plan:
    stored = _stored(connection, session.id, event_ids)
    for event_id in event_ids:
        if event_id not in stored:
            raise EventNotFound(request.ref, event_id)
    rows = [*stored.values(), *_earlier_versions(connection, session.id, event_ids)]
    left = [row for row in rows if row.tools != int(Tools.ERASED)]
    return Plan(sorted(left, key=lambda row: row.position))


def _earlier_versions(connection: Connection, session: int, event_ids: Sequence[str]) -> Sequence[Row[Any]]:
    found: list[Row[Any]] = []
    for start in range(0, len(event_ids), _IDS_AT_ONCE):
        named = superseded_events.c.event_id.in_(event_ids[start : start + _IDS_AT_ONCE])
        joined = sa.select(*_COLUMNS).join(superseded_events, superseded_events.c.event == _e.id)
        found += connection.execute(joined.where(superseded_events.c.session == session, named))
    return found


def _suffix(connection: Connection, session: Row[Any], request: RemovalRequest, suffix: Suffix) -> Plan:
    assert len(suffix.expected) <= MOST_REMOVED  # noqa: S101 - the service checks it
    count = len(suffix.expected)
    gone = _newest(connection, session.id, count, suffix.branch)[::-1] if count else ()
    check_suffix(request.ref, suffix.expected, [row.event_id for row in gone])
    leaving = {row.event_id: row for row in gone}
    stored = _stored(connection, session.id, [draft.event_id for draft in suffix.drafts])
    for index, draft in enumerate(suffix.drafts):
        if draft.event_id in stored and draft.event_id not in leaving:
            raise EventIdConflict(f"events[{index}].event_id", draft.event_id, stored[draft.event_id].seq)
    superseded = [leaving[event_id] for event_id in stored]
    return Plan(gone, superseded, [(draft, None) for draft in suffix.drafts])


def _upsert(connection: Connection, codec: StoredCodec, session: Row[Any], request: RemovalRequest, upsert: Upsert) -> Plan:
    stored = _stored(connection, session.id, [draft.event_id for draft in upsert.drafts])
    alike = [row.id for draft in upsert.drafts if (row := stored.get(draft.event_id)) and row.size == len(draft.body)]
    bodies = dict(connection.execute(sa.select(_e.id, _e.body).where(_e.id.in_(alike))).all()) if alike else {}
    superseded: list[Row[Any]] = []
    added: list[tuple[EventDraft, int | None]] = []
    replays: dict[str, int] = {}
    for draft in upsert.drafts:
        row = stored.get(draft.event_id)
        if row is not None and row.id in bodies and codec.decrypt(bodies[row.id])[: row.size] == draft.body:
            replays[draft.event_id] = int(row.seq)
            continue
        if row is not None:
            superseded.append(row)
        added.append((draft, None if row is None or row.archived else int(row.id)))
    if added and upsert.expected_last_event_id is not None:
        last = last_event_id(connection, Head(session.id, last_seq=session.last_seq))
        if last != upsert.expected_last_event_id:
            raise VersionMismatch(request.ref, expected=upsert.expected_last_event_id, actual=last)
    gone = sorted(superseded, key=lambda row: row.position)
    return Plan(gone, superseded, added, replays)


def _stored(connection: Connection, session: int, event_ids: Sequence[str]) -> dict[str, Row[Any]]:
    """Returns the events with these ids, in their order."""
    found: dict[str, Row[Any]] = {}
    for start in range(0, len(event_ids), _IDS_AT_ONCE):
        chunk = event_ids[start : start + _IDS_AT_ONCE]
        query: Select[Any] = sa.select(*_COLUMNS).where(_e.session == session, _e.event_id.in_(chunk))
        rows = {row.event_id: row for row in connection.execute(query)}
        found |= {event_id: rows[event_id] for event_id in chunk if event_id in rows}
    return found
