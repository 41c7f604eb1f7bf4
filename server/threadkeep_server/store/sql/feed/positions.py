"""Units of work on the ends of the feed, the positions of sessions in it, and retention."""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row, Select

from ....domain.errors import InvalidField, SessionNotFound
from ....domain.feed import FeedState, FeedTrimmed, Position
from ....domain.model import SessionRef
from ..engine.base import Engine
from ..log import change_details
from ..log.change_order import beyond, not_beyond, of_session
from ..log.rows import find
from ..log.scan import Scanner
from ..schema.incarnations import SeenIncarnations
from ..schema.tables import ADDING, APPENDED, changes, feed_floor, index_progress, sessions
from .read_statements import ends_statement, floor_of, head_of


def read_ends(scanner: Scanner, incarnations: SeenIncarnations) -> FeedState:
    prepared = scanner.statements.get("feed ends", scanner.connection, lambda: ends_statement(scanner.engine))
    row = prepared.run(scanner.connection, {})[0]
    incarnations.see(row.incarnations)
    return FeedState(floor_of(row), head_of(row), row.unsettled, row.oldest_time)


def locate(scanner: Scanner, incarnations: SeenIncarnations, tenant: str, ref: SessionRef, after_seq: int) -> Position:
    """Runs in a snapshot."""
    ends = read_ends(scanner, incarnations)
    row = find(scanner.connection, tenant, ref, columns=sa.select(sessions.c.id, sessions.c.last_seq))
    if row is None:
        if ref.is_bare:
            raise SessionNotFound(ref)
        return ends.head
    if after_seq > row.last_seq:
        raise InvalidField("after_seq", f"is beyond the session's last seq, {row.last_seq}")
    return _History(scanner.connection, scanner.engine, row.id, ends).locate(after_seq, row.last_seq)


class _History:
    """The changes of one session that the feed still has, in order; last_seq ascends with it. Positions are found as late as
    possible, because the feed may be trimmed before it is read from there."""

    def __init__(self, connection: Connection, engine: Engine, key: int, ends: FeedState) -> None:
        self._connection = connection
        self._lead = engine.sql.change_order[0]
        self._up = (changes.c.xid, changes.c.id)
        self._down = (changes.c.xid.desc(), changes.c.id.desc())
        self._ends = ends
        kept = beyond(engine, sa.literal(ends.floor.xid), sa.literal(ends.floor.change))
        self._query = sa.select(changes, self._lead.label("lead")).where(*of_session(engine, sa.literal(key)), kept)

    def locate(self, after_seq: int, last_seq: int) -> Position:
        first = self._one(self._query.order_by(*self._up))
        oldest_seq = last_seq if first is None else _starts_after(first)
        if after_seq < oldest_seq:
            raise FeedTrimmed(self._ends.floor, oldest_seq)
        if first is None:
            return self._ends.head
        if after_seq == 0:
            return _just_before(first)  # its creation, if the feed still has it
        return self._behind(after_seq, first)

    def _behind(self, after_seq: int, first: Row[Any]) -> Position:
        """Returns the position after the change that added the seq, or before it if it added later ones; before the first
        change if the one that added the seq is trimmed."""
        newest = self._before(None)
        low, high = first.lead, first.lead if newest is None else newest.lead
        while low < high:
            middle = (low + high) // 2
            found = self._before(middle)
            if found is not None and found.last_seq >= after_seq:
                high = found.lead
            else:
                low = middle + 1
        adding = self._query.where(changes.c.kind.in_(ADDING), changes.c.first > 0)
        brought = self._one(adding.where(self._lead >= high, changes.c.last_seq >= after_seq).order_by(*self._up))
        if brought is None or after_seq <= _starts_after(brought):
            return _just_before(first)
        return Position(brought.xid, brought.id) if brought.last_seq == after_seq else _just_before(brought)

    def _before(self, lead: int | None) -> Row[Any] | None:
        """Returns the last change up to this position."""
        return self._one((self._query if lead is None else self._query.where(self._lead <= lead)).order_by(*self._down))

    def _one(self, query: Select[Any]) -> Row[Any] | None:
        return self._connection.execute(query.limit(1)).one_or_none()


def _just_before(row: Row[Any]) -> Position:
    """Returns the position, whether or not a change has it."""
    return Position(row.xid, row.id - 1)


def _starts_after(row: Row[Any]) -> int:
    """Returns the last seq before the change."""
    if row.kind == APPENDED:
        return int(row.first) - 1
    return int(row.last_seq) - change_details.read(row.detail).inserted


# --- retention


def indexed_up_to(connection: Connection) -> Position:
    """Returns the position of the text index, which must exist when the index is opened again."""
    row = connection.execute(sa.select(index_progress.c.xid, index_progress.c.change)).one()
    return Position(row.xid, row.change)


def trim(connection: Connection, engine: Engine, before: int, limit: int, keep: Position | None) -> int:
    """Deletes the oldest changes, and none from `keep` on."""
    # Locked, so that two servers trim one after the other.
    row = connection.execute(sa.select(feed_floor).with_for_update()).one()
    oldest = sa.select(changes.c.xid, changes.c.id, changes.c.time).where(engine.sql.visible())
    found = connection.execute(oldest.order_by(*engine.sql.change_order).limit(limit))
    old = [Position(xid, change) for xid, change, _ in takewhile(lambda each: each.time < before, found)]
    if keep is not None:
        old = old[: bisect_left(old, keep)]
    if not old:
        return 0
    last = old[-1]
    connection.execute(changes.delete().where(not_beyond(engine, sa.literal(last.xid), sa.literal(last.change))))
    floor = max(last, Position(row.xid, row.change))
    connection.execute(feed_floor.update().values(xid=floor.xid, change=floor.change))
    return len(old)
