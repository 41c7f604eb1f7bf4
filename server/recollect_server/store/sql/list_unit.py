"""Units of work that read one session's log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Row
from sqlalchemy.sql import ColumnElement, Select

from ...domain.errors import EventNotFound
from ...domain.filters import EventFilter
from ...domain.model import SessionRef, StoredEvent
from ..base import Cursor, EventPage, EventQuery
from .conditions import conditions, seq_bounds
from .rows import find, require
from .scan import EVENT_COLUMNS, Scanner, fitting
from .schema import events, sessions

_position = events.c.position
# Before every position that can be.
_LOWEST = 1


def get_event(scanner: Scanner, tenant: str, ref: SessionRef, event_id: str) -> StoredEvent:
    key = require(scanner.connection, tenant, ref, columns=sa.select(sessions.c.id)).id
    query = sa.select(*EVENT_COLUMNS).where(events.c.session == key, events.c.event_id == event_id)
    found = scanner.stored(scanner.connection.execute(query).all())
    if not found:
        raise EventNotFound(ref, event_id)
    return found[0]


def list_events(scanner: Scanner, tenant: str, ref: SessionRef, query: EventQuery) -> EventPage:
    # The session is read before its events: a version that is older than what was seen is safe to expect, a newer is not.
    columns = sa.select(sessions.c.id, sessions.c.log_version, sessions.c.last_seq)
    session = find(scanner.connection, tenant, ref, columns=columns)
    if session is None:
        return EventPage([])
    page = SessionLog(scanner, session.id, query.filter).page(query)
    return EventPage(page.events, page.cursor, session.log_version, session.last_seq)


class SessionLog:
    """One session's log under one filter."""

    def __init__(self, scanner: Scanner, session: int, wanted: EventFilter) -> None:
        self._scanner = scanner
        self._wanted = wanted
        where = [events.c.session == session, *seq_bounds(session, wanted), *conditions(wanted)]
        self._query = sa.select(*EVENT_COLUMNS).where(*where)

    def page(self, query: EventQuery) -> EventPage:
        """The page that the query asks for; versions are left to the caller."""
        if query.cursor is not None:
            return self._onward(query, query.cursor)
        if self._wanted.last_n is not None:
            return self._newest(query, self._wanted.last_n)
        if self._wanted.page_size is not None:
            return self._numbered(query, self._wanted.page_size)
        return self._cut(query, list(self._rows(query.descending, limit=query.limit + 1)))

    def _rows(self, descending: bool, *where: ColumnElement[bool], limit: int | None = None) -> Any:
        return self._scanner.rows(self._ordered(descending).where(*where), self._wanted, limit=limit)

    def _ordered(self, descending: bool) -> Select[Any]:
        return self._query.order_by(_position.desc() if descending else _position)

    def _onward(self, query: EventQuery, cursor: Cursor) -> EventPage:
        beyond = _position < cursor.position if query.descending else _position > cursor.position
        where = [beyond]
        if cursor.stop is not None:
            where.append(_position >= cursor.stop if query.descending else _position <= cursor.stop)
        rows = list(self._rows(query.descending, *where, limit=query.limit + 1))
        return self._cut(query, rows, stop=cursor.stop)

    def _newest(self, query: EventQuery, count: int) -> EventPage:
        if count > query.limit:
            return self._newest_many(query, count)
        newest = list(self._rows(True, limit=count + 1))
        rows, more = newest[:count], len(newest) > count
        start = self._turn_start(rows[-1]) if more else None
        if start is not None:
            between = (_position < rows[-1].position, _position >= start)
            rows += self._rows(True, *between, limit=query.limit - count + 1)
            if len(rows) > query.limit:
                return self._between(query, start, rows[0].position)
        return self._window(query, rows if query.descending else rows[::-1])

    def _newest_many(self, query: EventQuery, count: int) -> EventPage:
        """More than a page: find where the window starts and ends, then page through it."""
        newest = next(iter(self._rows(True, limit=1)), None)
        if newest is None:
            return EventPage([])
        first = next(islice(self._rows(True), count - 1, None), None)
        lowest = _LOWEST if first is None else self._turn_start(first) or first.position
        return self._between(query, lowest, newest.position)

    def _between(self, query: EventQuery, lowest: int, highest: int) -> EventPage:
        """The first page of a window that is known by its ends."""
        return self._onward(query, Cursor(highest + 1, lowest) if query.descending else Cursor(lowest - 1, highest))

    def _turn_start(self, first: Row[Any]) -> int | None:
        """Where the turn begins that a window from `first` on would cut; None: nowhere among the matches, or no cut."""
        if self._wanted.terms or first.turn_start:
            return None
        # The condition is spelled like the partial index's, so that a log without turns costs nothing.
        starts = self._query.with_only_columns(sa.func.max(_position)).where(
            sa.text("events.turn_start"), _position < first.position
        )
        found: int | None = self._scanner.connection.execute(starts).scalar()
        return found

    def _numbered(self, query: EventQuery, size: int) -> EventPage:
        offset = self._wanted.offset
        if self._wanted.terms:
            rows = list(islice(self._rows(False, limit=offset + size), offset, None))
        else:
            rows = list(self._scanner.rows(self._ordered(False).offset(offset), self._wanted, limit=size))
        return self._window(query, rows[::-1] if query.descending else rows)

    def _window(self, query: EventQuery, rows: Sequence[Row[Any]]) -> EventPage:
        """A window that is at hand as a whole."""
        return self._cut(query, rows, stop=rows[-1].position if rows else None)

    def _cut(self, query: EventQuery, rows: Sequence[Row[Any]], *, stop: int | None = None) -> EventPage:
        """The rows that fit into a page, and where the rest goes on."""
        page = fitting(rows, query.limit, query.max_bytes)
        cursor = Cursor(page[-1].position, stop) if len(page) < len(rows) else None
        return EventPage(self._scanner.stored(page), cursor)
