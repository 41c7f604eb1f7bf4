"""Units of work that search one session, or all sessions of a user or of an app."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, BindParameter
from sqlalchemy.sql import ColumnElement, Select

from ....domain.model import SessionRef
from ....domain.scopes import AppScope, UserScope
from ...contract.events import Cursor, EventQuery
from ...contract.search import SearchCursor, SearchHit, SearchPage, SearchQuery
from ..engine.base import Dialect
from ..engine.statements import Prepared, Record
from ..log.conditions import Conditions, conditions, parameter
from ..log.list_queries import SessionLog
from ..log.rows import ref_of, require
from ..log.scan import EVENT_COLUMNS, SMALL_BODY, Scanner, fitting, stored_events
from ..scan_budget import ScanBudget, affordable
from ..schema.tables import event_text, events, sessions
from . import unindexed
from .scopes import owned
from .text_index import TextIndex, scope_of

# The columns of an event without its body, and its key.
_LISTED = (*EVENT_COLUMNS[:-1], sa.null().label("body"), events.c.id)
_ORDER = (events.c.time, events.c.session, events.c.position)


def search_session(scanner: Scanner, tenant: str, ref: SessionRef, query: SearchQuery, budget: ScanBudget) -> SearchPage:
    session = require(scanner.connection, tenant, ref)
    cursor = None if query.cursor is None else Cursor(query.cursor.position)
    wanted = EventQuery(query.filter, limit=query.most, max_bytes=query.max_bytes, cursor=cursor)
    page = SessionLog(scanner, session.id, query.filter, budget).page(wanted)
    hits = [SearchHit(ref_of(session), event) for event in page.events]
    if page.cursor is None:
        return SearchPage(hits, incomplete=budget.used_up)
    onward = SearchCursor.after(0, session.id, page.cursor.position, query=query, taken=len(hits))
    ended = budget.used_up and page.cursor.position == budget.reached.position
    return SearchPage(hits, onward, incomplete=ended and onward is not None)


def search_sessions(
    scanner: Scanner,
    index: TextIndex | None,
    tenant: str,
    scope: UserScope | AppScope,
    query: SearchQuery,
    budget: ScanBudget,
) -> SearchPage:
    skip = query.filter.offset if query.cursor is None else 0
    found = _Search(scanner, index, tenant, scope, query, budget).matches(skip, query.most + 1)
    page = fitting(found, query.most, query.max_bytes)
    last = page[-1] if len(page) < len(found) else None
    incomplete = last is None and budget.used_up
    if incomplete and (page or query.cursor is not None or not query.filter.has_window):
        last = budget.reached
    cursor = None
    if last is not None:
        cursor = SearchCursor.after(last.time, last.session, last.position, query=query, taken=len(page))
    hits = [SearchHit(ref_of(row), event) for row in page if (event := scanner.stored(row, row.session))]
    return SearchPage(hits, cursor, incomplete and (cursor is not None or not page))


def _taken(rows: Iterator[Record], skip: int, count: int) -> list[Record]:
    """Returns the rows in order, each once: a row that was indexed between two statements is in both."""
    taken: list[Record] = []
    previous = (0, 0)
    for row in rows:
        if (row.session, row.seq) == previous:
            continue
        previous = (row.session, row.seq)
        if skip:
            skip -= 1
            continue
        taken.append(row)
        if len(taken) == count:
            break
    return taken


class _Search:
    """A search of a user's or an app's sessions: in the index, and in the unindexed events."""

    def __init__(
        self,
        scanner: Scanner,
        index: TextIndex | None,
        tenant: str,
        scope: UserScope | AppScope,
        query: SearchQuery,
        budget: ScanBudget,
    ) -> None:
        self._scanner = scanner
        self._budget = budget
        self._index = index
        self._wanted = query.filter
        self._scope_key = scope_of(tenant, scope.user_id) if isinstance(scope, UserScope) else None
        self._conditions = _search_conditions(tenant, scope, query, scanner.engine.sql)

    def matches(self, skip: int, count: int) -> Sequence[Record]:
        """Returns `count` matches in order after `skip`; fewer if there are no more up to where the budget ends."""
        connection, wanted = self._scanner.connection, self._wanted
        if self._index is None:
            scanned = self._scanner.matching(self._candidates(), wanted, self._conditions.values, budget=self._budget)
            return _taken(scanned, skip, count)
        if not connection.in_transaction():
            connection.begin()  # prepared statements do not begin one, and a result must be of one snapshot
        behind = unindexed.parts(self._scanner, by_user=self._scope_key is not None)
        if self._wanted.decodes:
            listed = (*map(self._listed, behind), self._listed_in(self._index))
            return _taken(self._admitted(heapq.merge(*listed, key=_sort_key)), skip, count)
        conditions, indexed = self._indexed(self._index)
        values = conditions.values
        if not behind:
            return indexed.run(connection, {**values, "skip": skip, "limit": count})
        rest = indexed.stream(connection, {**values, "skip": 0, "limit": skip + count})
        return _taken(self._reached(heapq.merge(self._tail(behind), rest, key=_sort_key)), skip, count)

    def _reached(self, rows: Iterator[Record]) -> Iterator[Record]:
        """Leaves out rows beyond the place where the budget ended: they would come before matches that were not found."""
        for row in rows:
            if self._budget.used_up and _sort_key(row) > _sort_key(self._budget.reached):
                return
            yield row

    def _indexed(self, index: TextIndex) -> tuple[Conditions, Prepared]:
        """Returns the search of indexed events, and its conditions."""
        texts = self._texts(index)
        conditions = self._conditions & texts

        def build() -> Select[Any]:
            joined = self._candidates().join(event_text, event_text.c.id == events.c.id).where(*texts.where)
            return joined.limit(_parameter("limit")).offset(_parameter("skip"))

        # Two shapes: concatenated, the flags of one could be mistaken for those of the other.
        shape = ("search indexed", self._conditions.shape, texts.shape)
        return conditions, self._scanner.statements.get(shape, self._scanner.connection, build)

    def _tail(self, parts: Sequence[unindexed.Part]) -> Iterator[Record]:
        """Returns matches in these parts of the unindexed events, as many as the budget admits."""
        return self._admitted(heapq.merge(*map(self._listed, parts), key=_sort_key))

    def _admitted(self, listed: Iterator[Record]) -> Iterator[Record]:
        """Returns those of these rows whose bodies match, as many as the budget admits."""
        for rows in affordable(listed, self._budget, attrgetter("size")):
            bodies = {key: event.body for key, _, event in stored_events(self._scanner, [row.id for row in rows])}
            held = self._scanner.holding([bodies.get(row.id) for row in rows], self._wanted)
            for row in rows:
                if next(held):
                    yield row._replace(body=bodies[row.id]) if row.size <= SMALL_BODY else row

    def _listed(self, part: unindexed.Part) -> Iterator[Record]:
        """Returns the rows of a part without their bodies: they are sorted, and most do not match."""
        shape = ("search tail", part, self._conditions.shape)

        def build() -> Select[Any]:
            query = self._candidates(*_LISTED)
            return unindexed.within(query, part, self._scanner.engine)

        statement = self._scanner.statements.get(shape, self._scanner.connection, build)
        return statement.stream(self._scanner.connection, self._conditions.values)

    def _listed_in(self, index: TextIndex) -> Iterator[Record]:
        """As _listed, of the indexed events whose text matches."""
        texts = self._texts(index)
        shape = ("search listed", self._conditions.shape, texts.shape)

        def build() -> Select[Any]:
            return self._candidates(*_LISTED).join(event_text, event_text.c.id == events.c.id).where(*texts.where)

        statement = self._scanner.statements.get(shape, self._scanner.connection, build)
        return statement.stream(self._scanner.connection, (self._conditions & texts).values)

    def _texts(self, index: TextIndex) -> Conditions:
        return index.candidates(self._scope_key, self._wanted) & self._scanner.text_conditions(self._wanted)

    def _candidates(self, *of_event: ColumnElement[Any]) -> Select[Any]:
        own = of_event or EVENT_COLUMNS
        columns = [*own, events.c.session, events.c.time, sessions.c.app, sessions.c.user_id, sessions.c.session_id]
        joined = sa.join(events, sessions, events.c.session == sessions.c.id)
        return sa.select(*columns).select_from(joined).where(*self._conditions.where).order_by(*_ORDER)


def _search_conditions(tenant: str, scope: UserScope | AppScope, query: SearchQuery, sql: Dialect) -> Conditions:
    """Returns the conditions on a hit's session and columns, and on the start of the page."""
    found = conditions(query.filter, sql) & owned(tenant, scope)
    if (cursor := query.cursor) is not None:
        places = {"cursor_time": cursor.time, "cursor_session": cursor.session, "cursor_position": cursor.position}
        found.add(lambda: sa.tuple_(*_ORDER) > sa.tuple_(*map(parameter, places, _ORDER)), **places)
    return found


def _parameter(name: str) -> BindParameter[int]:
    return sa.bindparam(name, type_=BigInteger)


def _sort_key(row: Record) -> tuple[int, int, int]:
    return row.time, row.session, row.position
