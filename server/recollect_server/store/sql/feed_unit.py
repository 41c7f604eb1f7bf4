"""The unit of work that reads a page of the feed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

import sqlalchemy as sa
from sqlalchemy import Connection

from ...domain.feed import Change, ChangeKind, ChangePage, FeedTrimmed, Position
from ...domain.model import Compaction, SessionRef
from . import change_details, compact_unit
from .feed_reading import PageQuery, floor_of, head_of
from .prepared import Record
from .scan import Scanner
from .schema import compactions

_KINDS = {int(kind): kind for kind in ChangeKind}


def read_changes(scanner: Scanner, query: PageQuery) -> ChangePage:
    """Raises FeedTrimmed."""
    connection, engine = scanner.connection, scanner.engine
    prepared = scanner.statements.get(query.shape, connection, lambda: query.statement(engine))
    rows = prepared.run(connection, query.values)
    ends = rows[0]
    floor, head = floor_of(ends), head_of(ends)
    if query.after < floor:
        raise FeedTrimmed(floor)
    found = sorted([row for row in rows if row.id is not None], key=_place)
    if len(found) > query.limit:
        del found[query.limit :]
        reached = Position(*_place(found[-1]))
    else:
        reached = max(query.after, _looked_at(ends) or min(head, query.upto))
    page = changes_of(connection, found)
    if query.scope is not None:
        page = [change for change in page if query.scope.admits(change)]
    return ChangePage(page, reached, more=reached < head, unsettled=bool(ends.unsettled))


_place = attrgetter("xid", "id")


def _looked_at(ends: Record) -> Position | None:
    """The end of the window, if it is full."""
    change = getattr(ends, "window_change", None)
    return None if change is None else Position(ends.window_xid, change)


@lru_cache(4096)
def _labels(stored: bytes) -> Mapping[str, str]:
    labels: dict[str, str] = json.loads(stored)
    return labels


def changes_of(connection: Connection, rows: Sequence[Record]) -> list[Change]:
    """The changes of these rows, but for what a deletion has taken away."""
    found: list[Change] = []
    recorded: dict[int, Change] = {}
    refs: dict[int, SessionRef] = {}
    for row in rows:
        kind = _KINDS[row.kind]
        if row.labels_json is None and kind is not ChangeKind.DELETED:
            continue
        session = row.session
        ref = refs.get(session)
        if ref is None:
            ref = refs[session] = SessionRef(row.app, row.user_id, row.session_id)
        change = Change(
            Position(row.xid, row.id),
            kind,
            row.tenant,
            ref,
            session,
            row.time,
            row.first,
            row.last,
            row.size,
            row.log_version,
            row.window_version,
            row.last_seq,
            row.window_events,
            row.window_turns,
            row.window_bytes,
            row.window_tokens,
            {} if row.labels_json is None else _labels(row.labels_json),
        )
        if row.detail is not None:
            detail = change_details.read(row.detail)
            change.after, change.labels_before, change.expired = detail.after, detail.labels_before, detail.expired
            if kind is ChangeKind.DELETED and detail.after is not None:
                change.labels = detail.after.labels
            if detail.compaction is not None:
                recorded[detail.compaction] = change
        found.append(change)
    return _with_compactions(connection, found, recorded) if recorded else found


def _with_compactions(connection: Connection, found: list[Change], recorded: Mapping[int, Change]) -> list[Change]:
    records = _records(connection, list(recorded))
    for key, change in recorded.items():
        change.compaction = records.get(key)
    # Without its record the session has been deleted since.
    return [change for change in found if change.kind is not ChangeKind.COMPACTED or change.compaction is not None]


def _records(connection: Connection, keys: Sequence[int]) -> dict[int, Compaction]:
    rows = connection.execute(sa.select(compactions).where(compactions.c.id.in_(keys)))
    return {row.id: compact_unit.record_of(row) for row in rows}
