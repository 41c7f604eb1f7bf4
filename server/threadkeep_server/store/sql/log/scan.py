"""Reads candidate events and decides which ones match by text.

The text of an event is not a column of its table: the indexer derives it after the commit. The database compares derived text;
events without it (unindexed ones, or all without an index) are decoded here. So a result is always complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy import BindParameter, Connection, Row
from sqlalchemy.sql import ColumnElement, Select

from ....domain.filters import EventFilter
from ....domain.model import POSITION_STEP, StoredEvent
from ..encryption.codec import StoredCodec
from ..engine.base import Engine
from ..engine.statements import ROWS_AT_ONCE, Record, Statements
from ..scan_budget import UNLIMITED, ScanBudget, affordable
from ..schema.tables import INSERTED, event_text, events
from .conditions import Conditions, text_conditions
from .slices.archivings import is_archived, was_active

# Larger bodies are read one by one once they are needed, so that a page of them is never in memory.
SMALL_BODY = 32_768

_e = events.c


def small_body() -> ColumnElement[bytes | None]:
    return sa.case((_e.size <= sa.literal_column(str(SMALL_BODY)), _e.body)).label("body")


def _columns(archived: ColumnElement[bool]) -> list[ColumnElement[Any]]:
    """As few as a page needs: each adds a tenth to the time of the row."""
    return [_e.seq, _e.position, archived.label("archived"), _e.size, small_body()]


EVENT_COLUMNS = _columns(is_archived())
EVENT_COLUMNS_THEN = _columns(sa.not_(was_active()))
"""Of events as of a moment."""


@dataclass(frozen=True, slots=True)
class Scanner:
    """Runs event queries on one connection."""

    connection: Connection
    engine: Engine
    codec: StoredCodec
    statements: Statements

    def matching(
        self,
        query: Select[Any],
        wanted: EventFilter,
        params: Mapping[str, Any],
        *,
        session: int | None = None,
        budget: ScanBudget | None = None,
    ) -> Iterator[Row[Any]]:
        """Returns the rows of `query` whose body matches, in its order. `session`: the session, if rows do not contain it.
        `budget`: for decoding events, because they have no derived text or it is not enough; without one there is no limit."""
        texts = event_text.c
        joined = query.add_columns(texts.id.is_not(None).label("indexed")).outerjoin(event_text, texts.id == _e.id)
        holds = self.text_conditions(wanted)
        joined = joined.where(sa.or_(texts.id.is_(None), sa.and_(sa.true(), *holds.where)))
        # Without loading all rows.
        joined = joined.execution_options(yield_per=ROWS_AT_ONCE)
        rows = self.connection.execute(joined, {**params, **holds.values})
        enough = not wanted.decodes
        for some in affordable(rows, budget or ScanBudget(UNLIMITED), lambda row: 0 if enough and row.indexed else row.size):
            unread = [row for row in some if not (enough and row.indexed)]
            stored = (self.stored(row, row.session if session is None else session) for row in unread)
            held = self.holding([None if event is None else event.body for event in stored], wanted)
            yield from (row for row in some if (enough and row.indexed) or next(held))

    def text_conditions(self, wanted: EventFilter) -> Conditions:
        """EventFilter.holds over the derived text."""

        def has(term: BindParameter[str]) -> ColumnElement[bool]:
            # The engines insert the term into an expression; a parameter works like a string.
            return self.engine.sql.contains(event_text.c.text, cast("str", term))

        return text_conditions(wanted, "term", has)

    def holding(self, bodies: Sequence[bytes | None], wanted: EventFilter) -> Iterator[bool]:
        """Returns `holds` of each body, False for None; in a thread if that may take long."""

        def work() -> list[bool]:
            return [body is not None and self.holds(body, wanted) for body in bodies]

        size = sum(len(body) for body in bodies if body is not None)
        return iter(work() if size <= SMALL_BODY and wanted.pattern is None else self.engine.run_in_thread(work))

    def holds(self, body: bytes, wanted: EventFilter) -> bool:
        """Whether the body of an event satisfies the conditions on it, if there are any."""
        return not wanted.reads_body or wanted.holds_body(self.codec.facts(body))

    def stored(self, row: Row[Any] | Record, session: int) -> StoredEvent | None:
        """Returns the event; None if it was too large for the row and has been deleted since."""
        body = row.body if row.body is not None else self._large_body(session, row)
        return None if body is None else StoredEvent(row.seq, self.codec.decrypt(body), bool(row.archived))

    def _large_body(self, session: int, row: Row[Any] | Record) -> bytes | None:
        # A compaction may have moved inserted events in the meantime; their seq never changes, but only theirs is indexed.
        appended = row.position % POSITION_STEP == 0
        place = _e.position == row.position if appended else sa.and_(sa.text(INSERTED), _e.seq == row.seq)
        body: bytes | None = self.connection.execute(sa.select(_e.body).where(_e.session == session, place)).scalar()
        return body


def fitting(rows: Sequence[Row[Any]], limit: int, max_bytes: int) -> Sequence[Row[Any]]:
    """Returns as many of the first rows as fit; at least one."""
    total = 0
    for count, row in enumerate(rows[:limit]):
        total += row.size
        if total > max_bytes and count:
            return rows[:count]
    return rows[:limit]


def stored_events(scanner: Scanner, keys: Sequence[int]) -> Iterator[tuple[int, int, StoredEvent]]:
    """Returns key, position and event of each of these events, unordered, in any scope."""
    if not keys:
        return

    def build() -> Select[Any]:
        return sa.select(*EVENT_COLUMNS, _e.id, _e.session).where(scanner.engine.sql.in_list(_e.id, "keys"))

    prepared = scanner.statements.get("stored events", scanner.connection, build)
    for row in prepared.run(scanner.connection, {"keys": scanner.engine.sql.listed(keys)}):
        if (event := scanner.stored(row, row.session)) is not None:
            yield row.id, row.position, event
