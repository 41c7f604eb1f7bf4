"""The events that a compaction archives, and the places of those that it inserts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ....domain.errors import EventNotFound
from ....domain.model import Counters
from ...contract.compaction import CompactionRequest
from ..log.rows import content_of, require
from ..log.slices.archivings import ARCHIVED_AT_ONCE, window_of
from ..schema.tables import LEAD, events

_e = events.c
_IDS_AT_ONCE = 500
_ROWS_AT_ONCE = 1000
# No column is converted: that would double the time of a row.
_TURN_START = sa.type_coerce(_e.turn_start, sa.Integer).label("turn_start")
_COLUMNS = (_e.id, _e.event_id, _e.seq, _e.position, _TURN_START, _e.size, _e.tokens, _e.content_bytes)


@dataclass(frozen=True, slots=True)
class Selection:
    """`mark`: row ids of events to mark in the transaction. `through`: the row id of the event through which the others, if
    there are any, are archived at once. `listing`: of events that are archived at once and not in `mark`. `anchors`: rows of
    the events that others are inserted before, by event id."""

    window_version: int
    seqs: Sequence[int]
    counters: Counters
    content: int
    mark: Sequence[int]
    anchors: Mapping[str, Row[Any]]
    through: int | None = None
    listing: int | None = None


def is_long(request: CompactionRequest) -> bool:
    """Whether its events are selected before the transaction, and may be archived at once."""
    return len(request.archive) > ARCHIVED_AT_ONCE


def select_ahead(connection: Connection, request: CompactionRequest) -> Selection | None:
    """Selects the events of a long compaction before its transaction. None if it is a replay, or invalid."""
    session = require(connection, request.tenant, request.ref)
    try:
        return _select_many(connection, session, request)
    except EventNotFound:
        return None


def select_events(connection: Connection, session: Row[Any], request: CompactionRequest) -> Selection:
    """Raises EventNotFound."""
    if is_long(request):
        return _select_many(connection, session, request)
    archived = _active(connection, session.id, request, request.archive)
    anchors = _active(connection, session.id, request, _anchors(request))
    if gone := archived.keys() & anchors.keys():
        raise EventNotFound(request.ref, min(gone))
    rows = archived.values()
    counters = Counters(len(rows), *(sum(int(getattr(row, name)) for row in rows) for name in ("turn_start", "size", "tokens")))
    content = sum(map(content_of, rows))
    return Selection(session.window_version, [row.seq for row in rows], counters, content, [row.id for row in rows], anchors)


def _select_many(connection: Connection, session: Row[Any], request: CompactionRequest) -> Selection:
    """Reads the whole window: the events of a prefix of the conversation need not be marked one by one."""
    archive, before = set(request.archive), _anchors(request)
    wanted = set(before)
    missing = archive | wanted
    found = _Found()
    query = sa.select(*_COLUMNS, sa.literal_column(f"({LEAD})", sa.Integer).label("lead"))
    query = query.where(*window_of(session.id)).order_by(_e.position)
    for row in connection.execute(query.execution_options(yield_per=_ROWS_AT_ONCE)):
        if row.event_id in archive:
            found.add(row)
        else:
            found.in_prefix = found.in_prefix and row.lead
            if row.event_id in wanted:
                found.anchors[row.event_id] = row
        missing.discard(row.event_id)
    for event_id in (*request.archive, *before):
        if event_id in missing:
            raise EventNotFound(request.ref, event_id)
    if gone := archive & wanted:
        raise EventNotFound(request.ref, min(gone))
    behind = all(row.position > found.prefix_end for row in found.anchors.values())
    at_once = behind and len(found.prefix) > ARCHIVED_AT_ONCE
    return Selection(
        window_version=session.window_version,
        seqs=found.seqs,
        counters=Counters(len(found.seqs), found.turns, found.bytes, found.tokens),
        content=found.content,
        mark=found.others if at_once else found.prefix + found.others,
        anchors=found.anchors,
        through=found.prefix[-1] if at_once else None,
    )


@dataclass(slots=True)
class _Found:
    """The events to archive, in window order: numbers instead of rows, since there may be hundreds of thousands. `prefix`: row
    ids of the conversation until the first event that stays."""

    prefix: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    anchors: dict[str, Row[Any]] = field(default_factory=dict)
    turns: int = 0
    bytes: int = 0
    tokens: int = 0
    content: int = 0
    in_prefix: bool = True
    prefix_end: int = 0

    def add(self, row: Row[Any]) -> None:
        key, _, seq, position, turn_start, size, tokens, _, lead = tuple(row)
        self.seqs.append(seq)
        self.turns += turn_start
        self.bytes += size
        self.tokens += tokens
        self.content += content_of(row)
        if self.in_prefix and not lead:
            self.prefix.append(key)
            self.prefix_end = position
        else:
            self.others.append(key)


def _anchors(request: CompactionRequest) -> list[str]:
    return [before for before in request.inserts if before is not None]


def _active(connection: Connection, session: int, request: CompactionRequest, ids: Sequence[str]) -> Mapping[str, Row[Any]]:
    """Returns the active events of these ids. Raises EventNotFound."""
    found: dict[str, Row[Any]] = {}
    for chunk in in_chunks(ids):
        # The statement does not select active events: the database might scan all of them.
        query = sa.select(*_COLUMNS, _e.archived).where(_e.session == session, _e.event_id.in_(chunk))
        found |= {row.event_id: row for row in connection.execute(query) if not row.archived}
    for event_id in ids:
        if event_id not in found:
            raise EventNotFound(request.ref, event_id)
    return found


def in_chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yields as many as a statement may name."""
    for start in range(0, len(items), _IDS_AT_ONCE):
        yield items[start : start + _IDS_AT_ONCE]
