"""The unit of work that reads a page of the feed."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.feed import Change, ChangeKind, ChangePage, FeedTrimmed, Position
from ....domain.model import Compaction, SessionRef
from ..encryption.codec import StoredCodec
from ..log import change_details
from ..log.rows import record_of
from ..log.scan import Scanner
from ..schema.incarnations import SeenIncarnations
from ..schema.tables import DELETED, changes, compactions
from ..state.records import read as read_state
from .read_statements import COLUMNS, KIND, Ends, PageQuery, ends_of, floor_of, head_of

# Largest number of pages read for one call while no change matches the scope.
_MOST_LOOKS = 32

_KINDS = {int(kind): kind for kind in ChangeKind}
_place = itemgetter(COLUMNS.index("xid"), COLUMNS.index("id"))


def read_changes(scanner: Scanner, query: PageQuery, incarnations: SeenIncarnations) -> ChangePage:
    """Reads pages until one has a change, up to a limit. Raises FeedTrimmed."""
    page = _look(scanner, query, incarnations)
    for _ in range(_MOST_LOOKS - 1):
        if page.changes or not page.more or page.reached >= query.upto:
            break
        page = _look(scanner, query.onward(page.reached), incarnations)
    return page


def _look(scanner: Scanner, query: PageQuery, incarnations: SeenIncarnations) -> ChangePage:
    connection, engine = scanner.connection, scanner.engine
    prepared = scanner.statements.get(query.shape, connection, lambda: query.statement(engine))
    rows = prepared.rows(connection, query.values)
    ends = Ends(*next(ends_of(row) for row in rows if not row[KIND]))
    incarnations.see(ends.incarnations)
    floor, head = floor_of(ends), head_of(ends)
    if query.after < floor:
        raise FeedTrimmed(floor)
    # The departure of a session that came back to its owner is in both parts.
    found = sorted({_place(row): row for row in rows if row[KIND]}.values(), key=_place)
    if len(found) > query.limit:
        del found[query.limit :]
        reached = Position(*_place(found[-1]))
    elif ends.window_xid is not None and ends.window_change is not None:
        reached = Position(ends.window_xid, ends.window_change)
    else:
        reached = max(query.after, min(head, query.upto))
    page = _changes_of(connection, scanner.codec, found)
    if query.scope is None or query.windowed:
        _name_owners(connection, [change for change in page if change.former])
    elif query.scope.ref is not None:  # its row has departures from other owners
        page = [_renamed(change, query.scope.ref) for change in page if change.ref == query.scope.ref]
    if query.scope is not None and query.scope.labels:  # the query has decided the names already
        page = [change for change in page if query.scope.admits(change)]
    elif query.scope is not None and query.scope.session_id is None:
        page = [change for change in page if change.kind is not ChangeKind.COPIED]
    return ChangePage(page, reached, more=reached < head, unsettled=bool(ends.unsettled))


def _changes_of(connection: Connection, codec: StoredCodec, rows: Sequence[Sequence[Any]]) -> list[Change]:
    """Returns the changes of these rows, without those that a deletion or an erasure has removed."""
    found: list[Change] = []
    recorded: dict[int, Change] = {}
    sessions: dict[int, tuple[str, SessionRef, Mapping[str, str]]] = {}
    for row in rows:
        # COLUMNS; those of the name and the labels are last.
        key, xid, number, session, time, first, last, size, log, window, seq, events, turns, sent, tokens, *rest = row
        detail, state, former, *named = rest
        kind = _KINDS[number]
        if named[-1] is None and kind is not ChangeKind.DELETED and session > 0:
            continue
        if kind is ChangeKind.DELETED:
            tenant, ref, labels = _session(*named)
        else:
            if session not in sessions:
                sessions[session] = _session(*named)
            tenant, ref, labels = sessions[session]
        place = Position(xid, key)
        change = Change(
            place, kind, tenant, ref, session, time, first, last, size, log, window, seq, events, turns, sent, tokens, labels
        )
        if detail is not None:
            read = change_details.read(detail)
            change.after, change.labels_before, change.expired = read.after, read.labels_before, read.expired
            change.removal, change.moved = read.removal, read.moved
            if kind is ChangeKind.DELETED and read.after is not None:
                change.labels = read.after.labels
            if read.compaction is not None:
                recorded[read.compaction] = change
        change.former = bool(former)
        if state is not None:
            change.state = read_state(codec, state)
        if kind is not ChangeKind.STATE or change.state is not None:
            found.append(change)
    return _with_compactions(connection, found, recorded) if recorded else found


def _name_owners(connection: Connection, former: Sequence[Change]) -> None:
    """Gives changes the name that their session had then: that of its next departure."""
    c = changes.c
    departures: dict[int, list[tuple[Position, str]]] = {}
    for change in former:
        if change.session not in departures:
            # The index has the deletions of a session id.
            named = (sa.text(f"changes.kind = {DELETED}"), c.tenant == change.tenant, c.session_id == change.ref.session_id)
            query = sa.select(c.xid, c.id, c.user_id).where(*named, c.session == change.session).order_by(c.xid, c.id)
            departures[change.session] = [(Position(xid, id_), owner) for xid, id_, owner in connection.execute(query)]
        left = departures[change.session]
        following = bisect_right(left, change.position, key=itemgetter(0))
        if following < len(left):
            change.ref = change.ref._replace(user_id=left[following][1])


def _renamed(change: Change, ref: SessionRef) -> Change:
    """Returns a change for a reader of its session alone, by its present name."""
    if change.former:
        change.former = False
        change.after = None if change.after is None else replace(change.after, ref=ref)
    return change


def _session(
    tenant: str, app: str, user_id: str, session_id: str, labels_json: bytes | None
) -> tuple[str, SessionRef, Mapping[str, str]]:
    labels = {} if labels_json is None else _labels(labels_json)
    return tenant, SessionRef(app, user_id, session_id), labels


@lru_cache(4096)
def _labels(stored: bytes) -> Mapping[str, str]:
    labels: dict[str, str] = json.loads(stored)
    return labels


def _with_compactions(connection: Connection, found: list[Change], recorded: Mapping[int, Change]) -> list[Change]:
    records = _records(connection, list(recorded))
    for key, change in recorded.items():
        change.compaction = records.get(key)
    # Without a record, the session was deleted in the meantime.
    return [change for change in found if change.kind is not ChangeKind.COMPACTED or change.compaction is not None]


def _records(connection: Connection, keys: Sequence[int]) -> dict[int, Compaction]:
    rows = connection.execute(sa.select(compactions).where(compactions.c.id.in_(keys)))
    return {row.id: record_of(row) for row in rows}
