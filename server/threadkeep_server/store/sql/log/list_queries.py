"""Units of work that read one session's log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Row
from sqlalchemy.sql import ColumnElement, Select

from ....domain.errors import EventNotFound
from ....domain.filters import EventFilter
from ....domain.model import SessionRef, StoredEvent
from ...contract.events import Cursor, EventPage, EventQuery
from ..engine.statements import Record
from ..history.moments import Moment, Moments
from ..scan_budget import ScanBudget, ScanLimits
from ..schema.history import ALL_LEADS
from ..schema.tables import events, sessions
from .conditions import session_conditions
from .rows import find_head, require
from .scan import EVENT_COLUMNS, EVENT_COLUMNS_THEN, Scanner, fitting

_position = events.c.position
# Below and above every position.
_LOWEST, _HIGHEST = 1, 1 << 62


def get_event(scanner: Scanner, tenant: str, ref: SessionRef, event_id: str) -> StoredEvent:
    key = require(scanner.connection, tenant, ref, columns=sa.select(sessions.c.id)).id
    query = sa.select(*EVENT_COLUMNS).where(events.c.session == key, events.c.event_id == event_id)
    row = scanner.connection.execute(query).one_or_none()
    event = None if row is None else scanner.stored(row, key)
    if event is None:
        raise EventNotFound(ref, event_id)
    return event


def list_events(scanner: Scanner, tenant: str, ref: SessionRef, query: EventQuery, limits: ScanLimits) -> EventPage:
    # The session is read before its events: expecting a version older than the events is safe, a newer one is not.
    return events_of(scanner, ref, find_head(scanner.connection, scanner.statements, tenant, ref), query, limits)


def events_of(scanner: Scanner, ref: SessionRef, session: Record | None, query: EventQuery, limits: ScanLimits) -> EventPage:
    """Like list_events, of a session whose row was read."""
    if session is None:
        if query.as_of is not None:
            query.as_of.refuse_future(0, 0)
        return EventPage([])
    wanted = query.filter
    moment = None
    if query.as_of is not None:
        moment = Moments(scanner.connection, scanner.statements, ref, session).find(query.as_of)
    # A window has no place at which it could continue before it is known.
    budget = ScanBudget(limits) if wanted.reads_body and (query.cursor is not None or not wanted.has_window) else None
    page = SessionLog(scanner, session.id, wanted, budget, moment).page(query)
    versions = session if moment is None else moment.versions
    return EventPage(page.events, page.cursor, versions.log_version, versions.last_seq)


def most_rows(query: EventQuery) -> int:
    """Returns the largest number of rows that the query reads, without the search for a turn start; a numbered page counts
    rows."""
    wanted = query.filter
    if query.cursor is not None or not wanted.has_window:
        return query.limit
    return wanted.newest or wanted.offset + (wanted.page_size or 0)


class SessionLog:
    """One session's log under one filter. `budget`: for decoding events, where the filter has conditions on bodies; a
    page that uses it up ends early. `moment`: the log is read as of then."""

    def __init__(
        self,
        scanner: Scanner,
        session: int,
        wanted: EventFilter,
        budget: ScanBudget | None = None,
        moment: Moment | None = None,
    ) -> None:
        self._scanner = scanner
        self._session = session
        self._wanted = wanted
        self._budget = budget
        self._moment = moment
        then = None if moment is None else moment.params
        self._conditions = session_conditions(session, wanted, scanner.engine.sql, then)
        self._columns = EVENT_COLUMNS if moment is None else EVENT_COLUMNS_THEN

    def page(self, query: EventQuery) -> EventPage:
        """Returns the page of the query; the caller sets the versions."""
        if query.cursor is not None:
            return self._onward(query, query.cursor)
        if self._wanted.newest is not None:
            return self._newest(query, self._wanted.newest)
        if self._wanted.page_size is not None:
            return self._numbered(query, self._wanted.page_size)
        return self._onward(query, Cursor(_HIGHEST if query.descending else _LOWEST - 1))

    # --- windows

    def _onward(self, query: EventQuery, cursor: Cursor) -> EventPage:
        """Returns events after a position, up to the cursor's stop."""
        if query.descending:
            bounds = {"low": cursor.stop or _LOWEST, "high": cursor.position - 1}
        else:
            bounds = {"low": cursor.position + 1, "high": cursor.stop or _HIGHEST}
        rows = self._rows(query.descending, query.limit + 1, bounds)
        return self._cut(query, rows, stop=cursor.stop)

    def _newest(self, query: EventQuery, count: int) -> EventPage:
        if self._wanted.splits_turns:
            return self._newest_exactly(query, count)
        # One more than fits shows that the window, with the start of its turn, is larger than a page.
        rows = self._run("newest", self._newest_statement, {"skip": count - 1, "limit": query.limit + 1})
        if len(rows) > query.limit:
            return self._between(query, self._window_start(count), rows[0].position)
        return self._window(query, rows if query.descending else rows[::-1])

    def _newest_exactly(self, query: EventQuery, count: int) -> EventPage:
        if count <= query.limit:
            rows = self._rows(True, count)
            return self._window(query, rows if query.descending else rows[::-1])
        newest, first = self._ends_by_body(count) if self._wanted.reads_body else self._ends(count)
        return EventPage([]) if newest is None else self._between(query, first or _LOWEST, newest)

    def _ends_by_body(self, count: int) -> tuple[int | None, int | None]:
        """Returns the places of the newest and of the count-th newest match; `count` is at least 2."""
        found = self._matching(True)
        newest, first = next(found, None), next(islice(found, count - 2, None), None)
        return None if newest is None else newest.position, None if first is None else first.position

    def _ends(self, count: int) -> tuple[int | None, int | None]:
        """As _ends_by_body, without conditions on bodies."""
        newest, first = (self._run("place", self._place_statement, {"skip": skip}) for skip in (0, count - 1))
        return newest[0].position if newest else None, first[0].position if first else None

    def _between(self, query: EventQuery, lowest: int, highest: int) -> EventPage:
        """Returns the first page of a window with known ends."""
        return self._onward(query, Cursor(highest + 1, lowest) if query.descending else Cursor(lowest - 1, highest))

    def _numbered(self, query: EventQuery, size: int) -> EventPage:
        offset = self._wanted.offset
        rows: Sequence[Row[Any]]
        if self._wanted.reads_body:
            rows = list(islice(self._matching(False), offset, offset + size))
        else:
            rows = self._run("numbered", self._numbered_statement, {"skip": offset, "limit": size})
        return self._window(query, rows[::-1] if query.descending else rows)

    def _window(self, query: EventQuery, rows: Sequence[Row[Any]]) -> EventPage:
        """Returns the page of a window that was read completely."""
        return self._cut(query, rows, stop=rows[-1].position if rows else None)

    def _cut(self, query: EventQuery, rows: Sequence[Row[Any]], *, stop: int | None) -> EventPage:
        """Returns the rows that fit into a page, and the cursor of the rest."""
        page = fitting(rows, query.limit, query.max_bytes)
        cursor = Cursor(page[-1].position, stop) if len(page) < len(rows) else self._unread(query, page)
        # Events deleted between two statements are left out.
        return EventPage([event for row in page if (event := self._scanner.stored(row, self._session))], cursor)

    def _unread(self, query: EventQuery, page: Sequence[Row[Any]]) -> Cursor | None:
        """Returns where the budget ended, if it did. Without matches there is no place within a numbered page."""
        if self._budget is None or not self._budget.used_up or (query.cursor is None and query.filter.has_window and not page):
            return None
        return Cursor(self._budget.reached.position, None if query.cursor is None else query.cursor.stop)

    # --- statements

    def _rows(self, descending: bool, limit: int, bounds: dict[str, int] | None = None) -> Sequence[Row[Any]]:
        bounds = bounds or {"low": _LOWEST, "high": _HIGHEST}
        if self._wanted.reads_body:
            return list(islice(self._matching(descending, bounds), limit))
        if self._moment is not None and self._wanted.exclude_archived:
            return self._active_rows(self._moment, descending, limit, bounds)
        return self._range(descending, limit, bounds)

    def _active_rows(self, moment: Moment, descending: bool, limit: int, bounds: dict[str, int]) -> Sequence[Row[Any]]:
        """Only leads were active up to the floor of the conversation; what was archived there is not passed."""
        floor = moment.conversation_floor
        lowest = min(moment.summaries_floor, moment.prompts_floor) + 1
        leads = {"low": max(bounds["low"], lowest), "high": min(bounds["high"], floor)}
        others = {"low": max(bounds["low"], floor + 1), "high": bounds["high"]}
        parts = [(False, others), (True, leads)] if descending else [(True, leads), (False, others)]
        rows: list[Row[Any]] = []
        for only_leads, part in parts:
            if len(rows) < limit and part["low"] <= part["high"]:
                rows += self._range(descending, limit - len(rows), part, only_leads=only_leads)
        return rows

    def _range(self, descending: bool, limit: int, bounds: dict[str, int], *, only_leads: bool = False) -> Sequence[Row[Any]]:
        def build() -> Select[Any]:
            query = self._range_statement(descending).limit(_parameter("limit"))
            return query.where(sa.text(ALL_LEADS)) if only_leads else query

        name = f"{'descending' if descending else 'ascending'}{' leads' if only_leads else ''}"
        return self._run(name, build, {"limit": limit, **bounds})

    def _matching(self, descending: bool, bounds: dict[str, int] | None = None) -> Iterator[Row[Any]]:
        params = {"low": _LOWEST, "high": _HIGHEST, **(bounds or {}), **self._conditions.values}
        query = self._range_statement(descending)
        return self._scanner.matching(query, self._wanted, params, session=self._session, budget=self._budget)

    def _run(self, name: str, build: Callable[[], Select[Any]], params: dict[str, int]) -> Sequence[Row[Any]]:
        shape = (name, *self._conditions.shape)
        prepared = self._scanner.statements.get(shape, self._scanner.connection, build)
        return prepared.run(self._scanner.connection, params | self._conditions.values)

    def _range_statement(self, descending: bool) -> Select[Any]:
        bounds = (_position >= _parameter("low"), _position <= _parameter("high"))
        query = sa.select(*self._columns).where(*self._conditions.where, *bounds)
        return query.order_by(_position.desc() if descending else _position)

    def _numbered_statement(self) -> Select[Any]:
        query = sa.select(*self._columns).where(*self._conditions.where)
        return query.order_by(_position).limit(_parameter("limit")).offset(_parameter("skip"))

    def _newest_statement(self) -> Select[Any]:
        """Selects the newest matches, newest first, from the start of the window."""
        query = sa.select(*self._columns).where(*self._conditions.where, _position >= self._start_expression())
        return query.order_by(_position.desc()).limit(_parameter("limit"))

    def _place_statement(self) -> Select[Any]:
        query = sa.select(_position).where(*self._conditions.where).order_by(_position.desc())
        return query.limit(sa.literal_column("1")).offset(_parameter("skip"))

    def _window_start(self, count: int) -> int:
        start = self._run("start", lambda: sa.select(self._start_expression()), {"skip": count - 1})
        return int(start[0][0])

    def _start_expression(self) -> ColumnElement[int]:
        """Where the window of the newest matches starts: at the n-th newest, or at the latest turn start among the matches up
        to there, so that no turn is cut; with fewer matches, at the beginning. One expression, so one round trip."""
        nth = (
            sa.select(_position)
            .where(*self._conditions.where)
            .order_by(_position.desc())
            .limit(1)
            .offset(_parameter("skip"))
            .correlate(None)
            .cte("nth")
        )
        # The condition equals that of the partial index, so that a log without turns costs nothing.
        turn = (
            sa.select(sa.func.max(_position))
            .where(
                *self._conditions.where, sa.text("events.turn_start"), _position <= sa.select(nth.c.position).scalar_subquery()
            )
            .correlate(None)
            .scalar_subquery()
        )
        lowest: ColumnElement[int] = sa.literal_column(str(_LOWEST))
        return sa.func.coalesce(turn, sa.select(nth.c.position).scalar_subquery(), lowest)


def _parameter(name: str) -> ColumnElement[int]:
    return sa.bindparam(name, type_=BigInteger)
