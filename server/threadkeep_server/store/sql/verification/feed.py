"""Checks the feed: the changes of each session, the ends of the feed, and who has a position in it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ....domain.feed import BEGINNING, Position
from ..log import change_details
from ..schema.incarnations import read as read_incarnations
from ..schema.tables import (
    APPENDED,
    COUNTED,
    DELETED,
    INCARNATIONS,
    changes,
    consumer_partitions,
    consumers,
    feed_floor,
    parked_changes,
)
from ..schema.versions import get
from .findings import Findings
from .logs import name_of

_HEAD = ("log_version", "window_version", "last_seq", *(f"window_{what}" for what in COUNTED))


def check_changes(session: Row[Any], rows: Iterable[Row[Any]], findings: Findings) -> None:
    """Compares the changes of a session, in their order, with each other and with the session."""
    name = name_of(session)
    last: Row[Any] | None = None
    for row in rows:
        _check_detail(row, name, findings)
        if not row.log_version:
            continue  # of an older server, or before the first event
        if last is not None and row.log_version < last.log_version:
            findings.add("feed", name, f"change {row.id} is of an earlier version than the one before it")
        if row.kind == APPENDED:
            before = None if last is None else last.last_seq
            if row.last != row.last_seq or row.first > row.last or (before is not None and row.first != before + 1):
                findings.add("feed", name, f"the append of change {row.id} does not follow the events before it")
        last = row
    if last is not None and any(getattr(last, each) != getattr(session, each) for each in _HEAD):
        findings.add("feed", name, "its newest change has other versions or counters than the session")


def check_changes_of_none(rows: Iterable[Row[Any]], findings: Findings) -> None:
    """Checks the changes of sessions that do not exist: each such session was deleted."""
    last = None
    for row in rows:
        if last is not None and last.session != row.session:
            _check_deleted(last, findings)
        last = row
    if last is not None:
        _check_deleted(last, findings)


def _check_deleted(last: Row[Any], findings: Findings) -> None:
    # The state of users and apps has negative ids.
    if last.session > 0 and last.kind != DELETED:
        findings.add("feed", f"session with the row id {last.session}", "it has changes, no row, and no change that deleted it")


def _check_detail(row: Row[Any], name: str, findings: Findings) -> None:
    try:
        change_details.read(row.detail)
    except (ValueError, TypeError, KeyError):
        findings.add("feed", name, f"the detail of change {row.id} cannot be read")


def check_positions(connection: Connection, findings: Findings) -> None:
    """Checks that no position is beyond the end of the feed."""
    floors = connection.execute(sa.select(feed_floor.c.xid, feed_floor.c.change)).all()
    if len(floors) != 1:
        findings.add("feed", "the feed", f"it has {len(floors)} beginnings")
    floor = max((Position(*row) for row in floors), default=BEGINNING)
    ordered = sa.select(changes.c.xid, changes.c.id)
    oldest = connection.execute(ordered.order_by(changes.c.xid, changes.c.id).limit(1)).one_or_none()
    newest = connection.execute(ordered.order_by(changes.c.xid.desc(), changes.c.id.desc()).limit(1)).one_or_none()
    if oldest is not None and Position(*oldest) <= floor:
        findings.add("feed", "the feed", "it has changes from before its beginning")
    end = floor if newest is None else max(floor, Position(*newest))
    _check_consumers(connection, end, findings)
    _check_incarnations(connection, end, findings)


def _check_consumers(connection: Connection, end: Position, findings: Findings) -> None:
    partitions: dict[int, set[int]] = {}
    p = consumer_partitions.c
    for row in connection.execute(sa.select(p.consumer, p.number, p.xid, p.change)):
        partitions.setdefault(row.consumer, set()).add(row.number)
        if Position(row.xid, row.change) > end:
            subject = f"partition {row.number} of the consumer with the row id {row.consumer}"
            findings.add("consumer", subject, "its position is beyond the end of the feed")
    for each in connection.execute(sa.select(consumers.c.id, consumers.c.name, consumers.c.partitions)):
        if partitions.pop(each.id, set()) != set(range(each.partitions)):
            findings.add("consumer", f"consumer {each.name!r}", f"it does not have its {each.partitions} partitions")
    for key in partitions:
        findings.add("consumer", f"consumer with the row id {key}", "it has partitions and no row")
    gone = parked_changes.c.consumer.not_in(sa.select(consumers.c.id))
    for parked in connection.execute(sa.select(parked_changes.c.id).where(gone)):
        findings.add("consumer", f"parked change {parked.id}", "its consumer does not exist")


def _check_incarnations(connection: Connection, end: Position, findings: Findings) -> None:
    stored = get(connection, INCARNATIONS)
    if stored is None:
        return  # no server has opened it since it was migrated
    try:
        known = read_incarnations(stored).known
    except (ValueError, KeyError, TypeError):
        findings.add("feed", "the incarnations", "they cannot be read")
        return
    starts = [each.start for each in known]
    if starts != sorted(starts) or (starts and starts[-1] > end):
        findings.add("feed", "the incarnations", f"they do not begin in order, within the feed: {json.dumps(starts)}")
