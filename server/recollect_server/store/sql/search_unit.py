"""Units of work that search one session, or all sessions of a user."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Row
from sqlalchemy.sql import ColumnElement, Select

from ...domain.model import SessionRef
from ..base import Cursor, EventQuery, SearchCursor, SearchHit, SearchPage, SearchQuery, UserScope
from .conditions import conditions
from .indexer import beyond
from .list_unit import SessionLog
from .rows import ref_of, require
from .scan import EVENT_COLUMNS, Scanner, fitting
from .schema import APPENDED, POSITION_STEP, changes, event_text, events, index_progress, sessions
from .text_index import TextIndex, scope_of

_ORDER = (events.c.time, events.c.session, events.c.position)


def search_session(scanner: Scanner, tenant: str, ref: SessionRef, query: SearchQuery) -> SearchPage:
    session = require(scanner.connection, tenant, ref)
    cursor = None if query.cursor is None else Cursor(query.cursor.position)
    wanted = EventQuery(query.filter, limit=query.most, max_bytes=query.max_bytes, cursor=cursor)
    page = SessionLog(scanner, session.id, query.filter).page(wanted)
    hits = [SearchHit(ref_of(session), event) for event in page.events]
    if page.cursor is None:
        return SearchPage(hits)
    onward = SearchCursor.after(0, session.id, page.cursor.position, query=query, taken=len(hits))
    return SearchPage(hits, onward)


def search_user(scanner: Scanner, index: TextIndex | None, tenant: str, scope: UserScope, query: SearchQuery) -> SearchPage:
    skip = query.filter.offset if query.cursor is None else 0
    rows = _UserSearch(scanner, index, tenant, scope, query).matches(skip + query.most + 1)
    found = _taken(rows, skip, query.most + 1)
    page = fitting(found, query.most, query.max_bytes)
    cursor = None
    if len(page) < len(found):
        last = page[-1]
        cursor = SearchCursor.after(last.time, last.session, last.position, query=query, taken=len(page))
    hits = [SearchHit(ref_of(row), event) for row in page if (event := scanner.stored(row, row.session))]
    return SearchPage(hits, cursor)


def _taken(rows: Iterator[Row[Any]], skip: int, count: int) -> list[Row[Any]]:
    """The rows in order, each once: one that was indexed between two statements turns up in both."""
    taken: list[Row[Any]] = []
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


class _UserSearch:
    """A search over a user's sessions: what the index has, and the tail that it has not."""

    def __init__(self, scanner: Scanner, index: TextIndex | None, tenant: str, scope: UserScope, query: SearchQuery) -> None:
        self._scanner = scanner
        self._index = index
        self._wanted = query.filter
        self._scope_key = scope_of(tenant, scope.user_id)
        filtered = conditions(query.filter)
        self._where: list[ColumnElement[bool]] = [
            sessions.c.tenant == tenant,
            sessions.c.user_id == scope.user_id,
            *([] if scope.app is None else [sessions.c.app == scope.app]),
            *filtered.where,
        ]
        self._params = filtered.values
        if (cursor := query.cursor) is not None:
            self._where.append(sa.tuple_(*_ORDER) > sa.tuple_(cursor.time, cursor.session, cursor.position))

    def matches(self, most: int) -> Iterator[Row[Any]]:
        """In order; an event may come twice. At least the first `most`, if there are so many."""
        if self._index is None:
            return self._scanner.matching(self._candidates(), self._wanted, self._params)
        # The tail first: what is indexed after this statement is found by the next, so nothing falls between them.
        indexed = self._indexed(self._index).limit(most)
        if not self._scanner.connection.execute(sa.select(changes.c.id).where(self._ahead()).limit(1)).first():
            return self._streamed(indexed)
        decoded = self._scanner.decoded_matches
        tail = (row for row in self._streamed(self._tail()) if decoded(row, self._wanted, row.session))
        return heapq.merge(list(islice(tail, most)), self._streamed(indexed), key=_sort_key)

    def _ahead(self) -> ColumnElement[bool]:
        """Changes that are not indexed."""
        xid, change = (sa.select(column).scalar_subquery() for column in (index_progress.c.xid, index_progress.c.change))
        return beyond(self._scanner.engine, xid, change)

    def _streamed(self, query: Select[Any]) -> Iterator[Row[Any]]:
        return self._scanner.streamed(query, self._params)

    def _candidates(self) -> Select[Any]:
        columns = [*EVENT_COLUMNS, events.c.session, events.c.time, sessions.c.app, sessions.c.user_id, sessions.c.session_id]
        joined = sa.join(events, sessions, events.c.session == sessions.c.id)
        return sa.select(*columns).select_from(joined).where(*self._where).order_by(*_ORDER)

    def _indexed(self, index: TextIndex) -> Select[Any]:
        return (
            self._candidates()
            .join(event_text, event_text.c.id == events.c.id)
            .where(index.candidates(self._scope_key, self._wanted), self._scanner.text_condition(self._wanted))
        )

    def _tail(self) -> Select[Any]:
        within = events.c.position.between(changes.c.first * POSITION_STEP, changes.c.last * POSITION_STEP)
        return (
            self._candidates()
            .join(changes, sa.and_(changes.c.session == events.c.session, changes.c.kind == APPENDED, within))
            .where(self._ahead())
        )


def _sort_key(row: Row[Any]) -> tuple[int, int, int]:
    return row.time, row.session, row.position
