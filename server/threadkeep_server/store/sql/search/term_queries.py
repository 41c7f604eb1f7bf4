"""Units of work that find candidates to rank: a coarse selection of the events of a scope that have terms of a query.

Indexed events are looked up by term. Unindexed ones, or without an index the whole scope, are read and analyzed. Both give
events by term; only selected ones (see candidate_selection) are read, with the other conditions.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from operator import attrgetter
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, Select

from ....domain.filters import EventFilter
from ....domain.scopes import EventScope
from ....domain.search import ALL_FIELDS, Candidate, Candidates, Field, WordQuery
from ...contract.terms import matched, selected
from ..engine.statements import Record
from ..log.conditions import conditions
from ..log.scan import EVENT_COLUMNS, Scanner, stored_events
from ..scan_budget import ScanBudget, ScanLimits, affordable
from ..schema.tables import event_words, events, sessions
from . import renewal, unindexed
from .analysis_cache import AnalysisCache
from .candidate_selection import Choice, Unindexed
from .common_terms import CommonTerms
from .event_lookup import neighbor_keys
from .renewal import Earlier
from .scopes import Place, place_of
from .term_index import TermIndex

T = TypeVar("T")
R = TypeVar("R")
Part = unindexed.Part | str
"""A part of the unindexed events; a string: the whole log."""

_e = events.c
_EVENT = (_e.id, _e.session, _e.time, _e.role, _e.author)
# Not joined: with the statistics of a small table a planner would read all of it.
_WORDS = sa.select(event_words.c.words).where(event_words.c.id == _e.id).scalar_subquery().label("words")
# Events that are analyzed in one batch.
_MOST_AT_ONCE, _BYTES_AT_ONCE = 256, 1 << 20
_MOST_COUNTED = 100_000


def word_candidates(
    scanner: Scanner,
    analyzed: AnalysisCache,
    index: TermIndex | None,
    common: CommonTerms,
    tenant: str,
    scope: EventScope,
    query: WordQuery,
    wanted: EventFilter,
    limits: ScanLimits,
) -> Candidates:
    """Runs in a snapshot. `limits`: for analyzing events that are not indexed, and again for decoding candidates, which a
    filter on bodies may refuse one after another."""
    budget, decoding = ScanBudget(limits), ScanBudget(limits)
    connection = scanner.connection
    if not connection.in_transaction():
        connection.begin()  # prepared statements do not begin one, and a result must be of one snapshot
    place = place_of(scanner, tenant, scope)
    documents, parts, earlier = _size_and_parts(scanner, index, place, query)
    if not (query.terms or query.also) or query.limit < 1:
        return Candidates([], documents)
    reader = _Reader(scanner, analyzed, place, query.fields, wanted, decoding, earlier)
    choice = Choice(query, place.marker, documents, common, earlier=earlier)
    unindexed_postings = reader.unindexed(parts, choice.terms, choice.most, budget)
    return choice.candidates(connection, scanner.engine, index, unindexed_postings, reader.named, decoding)


def _size_and_parts(
    scanner: Scanner, index: TermIndex | None, place: Place, query: WordQuery
) -> tuple[int, Sequence[Part], Earlier]:
    """Returns the number of events in the scope, at least 1, the parts to read, and which terms are of an earlier version. One
    statement: the round trip costs more than the query."""

    def build() -> Select[Any]:
        of_index = () if index is None else (*unindexed.behind(scanner.engine), *renewal.columns())
        return sa.select(place.size().label("documents"), *of_index)

    shape = ("scope size", index is None, *place.key)
    row = scanner.statements.get(shape, scanner.connection, build).run(scanner.connection, place.key)[0]
    documents = max(1, int(row.documents))
    if index is None:
        return documents, ["all"], renewal.NONE
    earlier = renewal.earlier(row, scanner.codec.words_version, query.earlier)
    return documents, unindexed.parts_of(row, by_user="user_id" in place.key), earlier


def neighbor_candidates(
    scanner: Scanner,
    analyzed: AnalysisCache,
    tenant: str,
    scope: EventScope,
    keys: Sequence[int],
    fields: Field,
    wanted: EventFilter,
) -> Sequence[Candidate]:
    """Runs in a snapshot."""
    place = place_of(scanner, tenant, scope)
    near = neighbor_keys(scanner, keys, wanted)
    return list(_Reader(scanner, analyzed, place, fields, wanted).named(near).values()) if near else []


@dataclass(slots=True)
class _Postings:
    """Keys by term, up to `most` of each, and the number of documents per term."""

    most: int
    keys: dict[str, list[int]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, term: str, key: int) -> None:
        """Keeps the greatest keys."""
        heap = self.keys.setdefault(term, [])
        if len(heap) < self.most:
            heapq.heappush(heap, key)
        else:
            heapq.heappushpop(heap, key)


class _Reader:
    """Reads the events of a scope that match a filter, as candidates with the terms of the fields. `decoding`: what a filter on
    bodies may decode of events that are named; None: any number."""

    def __init__(
        self,
        scanner: Scanner,
        analyzed: AnalysisCache,
        place: Place,
        fields: Field,
        wanted: EventFilter,
        decoding: ScanBudget | None = None,
        earlier: Earlier = renewal.NONE,
    ) -> None:
        self._scanner = scanner
        self._analyzed = analyzed
        self._place = place
        self._fields = fields
        self._wanted = wanted
        self._decoding = decoding
        self._earlier = earlier

    # --- by key

    def named(self, keys: Sequence[int]) -> Mapping[int, Candidate]:
        """Returns those of these events that are in the scope and match the filter."""
        rows = list(self._rows(keys))
        unknown = self._words_of([row for row in rows if row.words is None])
        every = self._fields & ALL_FIELDS == ALL_FIELDS
        found: dict[int, Candidate] = {}
        for row in rows:
            words = unknown.get(row.id, "") if row.words is None else self._earlier.present(row.id, row.words)
            words = words if every else selected(words, self._fields)
            found[row.id] = Candidate(row.id, row.session, row.position, row.time, row.role, row.author, words)
        return found

    def _rows(self, keys: Sequence[int]) -> Iterable[Record]:
        holding = self._place.holding() & conditions(self._wanted, self._scanner.engine.sql)
        values = {**holding.values, "keys": self._scanner.engine.sql.listed(keys)}

        def build(*columns: ColumnElement[Any]) -> Select[Any]:
            query = sa.select(*columns, *_EVENT, _WORDS)
            return query.where(self._scanner.engine.sql.in_list(_e.id, "keys"), *holding.where)

        if self._wanted.reads_body:
            return self._scanner.matching(build(*EVENT_COLUMNS), self._wanted, values, budget=self._decoding)
        shape = ("candidates", holding.shape)
        prepared = self._scanner.statements.get(shape, self._scanner.connection, lambda: build(_e.position))
        return prepared.run(self._scanner.connection, values)

    def _words_of(self, rows: Sequence[Record]) -> Mapping[int, str]:
        """Returns the terms of unindexed events, without events that were deleted in the meantime."""
        words = self._analyzed.words
        times = {row.id: row.time for row in rows}
        bodies = ((key, event.body) for key, _, event in stored_events(self._scanner, list(times)))
        return dict(self._aside(bodies, lambda key, body: words(body, times[key])))

    # --- unindexed events, or the whole log

    def unindexed(self, parts: Sequence[Part], terms: Sequence[str], most: int, budget: ScanBudget) -> Unindexed:
        """Returns the documents of these parts, as many of the newest as the budget admits. Counts are of all of them, keys of
        those that match the filter."""
        found = _Postings(most)
        wanted_terms = frozenset(terms)
        words = self._analyzed.words

        def read(row: Record, body: bytes) -> tuple[AbstractSet[str], bool]:
            having = matched(words(body, row.time), wanted_terms, self._fields)
            return having, bool(having) and row.wanted and self._scanner.holds(body, self._wanted)

        for part in takewhile(lambda _: not budget.used_up, parts):
            # The rows are sorted, so they have no bodies: only those that the budget admits are read.
            for rows in affordable(self._unindexed(part), budget, attrgetter("size")):
                by_key = {row.id: row for row in rows}
                bodies = ((by_key[key], event.body) for key, _, event in stored_events(self._scanner, list(by_key)))
                for row, (having, holds) in self._aside(bodies, read):
                    found.counts.update(having)
                    if holds:
                        for term in having:
                            found.add(term, row.id)
        return Unindexed(found.keys, found.counts, self._unread(parts, budget) if budget.used_up else 0)

    def _unindexed(self, part: Part) -> Iterator[Record]:
        filtering = conditions(self._wanted, self._scanner.engine.sql)

        def build() -> Select[Any]:
            wanted: ColumnElement[bool] = sa.and_(sa.true(), *filtering.where)
            query = self._within(part, _e.id, _e.time, _e.size, wanted.label("wanted"))
            return query.order_by(*unindexed.newest_first(None if isinstance(part, str) else part, self._scanner.engine))

        reading = self._place.reading()
        shape = ("unindexed words", part, reading.shape, filtering.shape)
        prepared = self._scanner.statements.get(shape, self._scanner.connection, build)
        return prepared.stream(self._scanner.connection, reading.values | filtering.values)

    def _within(self, part: Part, *columns: ColumnElement[Any]) -> Select[Any]:
        joined = sa.join(events, sessions, _e.session == sessions.c.id)
        query = sa.select(*columns).select_from(joined).where(*self._place.reading().where)
        return query if isinstance(part, str) else unindexed.within(query, part, self._scanner.engine)

    def _unread(self, parts: Sequence[Part], budget: ScanBudget) -> int:
        """Counts the events of these parts that the budget did not admit."""
        reading = self._place.reading()

        def build(part: Part) -> Select[Any]:
            some = self._within(part, _e.id).limit(sa.literal_column(str(_MOST_COUNTED))).subquery()
            return sa.select(sa.func.count().label("events")).select_from(some)

        total = 0
        for part in parts:
            shape = ("unindexed events", part, reading.shape)
            prepared = self._scanner.statements.get(shape, self._scanner.connection, partial(build, part))
            total += prepared.run(self._scanner.connection, reading.values)[0].events
        return max(1, min(total, _MOST_COUNTED) - budget.taken)

    def _aside(self, bodies: Iterable[tuple[T, bytes]], make: Callable[[T, bytes], R]) -> Iterator[tuple[T, R]]:
        """Returns the result of `make` for each body: in batches, each in a thread."""

        def made(batch: Sequence[tuple[T, bytes]]) -> Sequence[tuple[T, R]]:
            return [(of, make(of, body)) for of, body in batch]

        for batch in _batches(bodies):
            yield from self._scanner.engine.run_in_thread(partial(made, batch))


def _batches(bodies: Iterable[tuple[T, bytes]]) -> Iterator[list[tuple[T, bytes]]]:
    """Splits into batches that are analyzed, and held in memory, at once."""
    batch: list[tuple[T, bytes]] = []
    size = 0
    for of, body in bodies:
        batch.append((of, body))
        size += len(body)
        if len(batch) >= _MOST_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
