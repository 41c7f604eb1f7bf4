"""Units of work that find candidates to rank: a coarse choice among the events of a scope that have terms of a question.

What is indexed is looked up by term. The tail, or where there is no index the whole scope, is read and analysed. Both give
events by term; those with the rarest terms are the candidates, and are read only then, with whatever else they must satisfy.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, Select

from ...domain.filters import EventFilter
from ...domain.recall import ALL_FIELDS, Candidate, Candidates, Field, WordQuery
from ..base import EventScope
from ..recall import most_counted, rarity
from ..words import asked, held
from . import tail
from .conditions import conditions
from .found_unit import neighbor_keys
from .prepared import Record
from .scan import EVENT_COLUMNS, SMALL_BODY, Scanner
from .schema import event_words, events, sessions
from .scopes import Place, place_of, size_of
from .word_index import Asked, NewestPage, WordIndex

_e = events.c
_EVENT = (_e.id, _e.session, _e.time, _e.role, _e.author)
# Without the bodies of those whose words are known.
_UNINDEXED_COLUMNS = [
    *EVENT_COLUMNS[:-1],
    sa.case((sa.and_(event_words.c.id.is_(None), _e.size <= sa.literal_column(str(SMALL_BODY))), _e.body)).label("body"),
]
_BEYOND_ALL = 1 << 62
# Ids that are looked at in one go when terms alone say little.
_FEWEST, _MOST = 256, 8192
# Of the tail, what is analysed in one go.
_MOST_AT_ONCE, _BYTES_AT_ONCE = 256, 1 << 20


def word_candidates(
    scanner: Scanner, index: WordIndex | None, tenant: str, scope: EventScope, query: WordQuery, wanted: EventFilter
) -> Candidates:
    """In a snapshot."""
    connection = scanner.connection
    if not connection.in_transaction():
        connection.begin()  # prepared statements do not, and all of an answer is to be of one moment
    place = place_of(scanner, tenant, scope)
    documents = size_of(scanner, place)
    if not query.terms or query.limit < 1:
        return Candidates([], documents)
    return _Choice(scanner, index, place, query, wanted, documents).candidates()


def candidates_beside(
    scanner: Scanner, tenant: str, scope: EventScope, keys: Sequence[int], fields: Field, wanted: EventFilter
) -> Sequence[Candidate]:
    """In a snapshot."""
    place = place_of(scanner, tenant, scope)
    return _Choice(scanner, None, place, WordQuery((), fields), wanted).named(neighbor_keys(scanner, keys, wanted))


@dataclass(slots=True)
class _Postings:
    """Keys by term, up to `most` of each, and how many there are."""

    most: int
    keys: dict[str, list[int]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, term: str, key: int) -> None:
        """Keeps the greatest."""
        heap = self.keys.setdefault(term, [])
        if len(heap) < self.most:
            heapq.heappush(heap, key)
        else:
            heapq.heappushpop(heap, key)


class _Choice:
    """The choice of candidates for one query."""

    def __init__(
        self,
        scanner: Scanner,
        index: WordIndex | None,
        place: Place,
        query: WordQuery,
        wanted: EventFilter,
        documents: int = 1,
    ) -> None:
        self._scanner = scanner
        self._index = index
        self._place = place
        self._query = query
        self._wanted = wanted
        self._documents = documents
        self._most = most_counted(documents, query.limit)
        self._terms = list(dict.fromkeys(query.terms))
        self._every_field = query.fields & ALL_FIELDS == ALL_FIELDS

    def candidates(self) -> Candidates:
        read = self._read()
        indexed = self._indexed(self._terms) if self._index is not None else {}
        counts = {term: min(self._most, len(indexed.get(term, ())) + read.counts[term]) for term in self._terms}
        counts = {term: count for term, count in counts.items() if count}
        # One more than wanted tells whether there are more.
        chosen = _Chosen(self._query.limit + 1)
        self._take(chosen, self._best(indexed, read, counts))
        common = [term for term in self._terms if len(indexed.get(term, ())) >= self._most]
        if common:
            self._fill(chosen, common)
        found = list(chosen.found.values())[: self._query.limit]
        return Candidates(found, self._documents, counts, complete=len(chosen.found) <= self._query.limit)

    def _best(self, indexed: Mapping[str, Sequence[int]], read: _Postings, counts: Mapping[str, int]) -> Sequence[int]:
        """Keys of events with terms that are rare, the most telling first, and of what was read with any, the newest first."""
        scores: dict[int, float] = {}
        for term, count in counts.items():
            worth = rarity(count, self._documents) if count < self._most else 0.0
            keys, unindexed = indexed.get(term, ()), read.keys.get(term, ())
            if len(keys) >= self._most:
                keys = ()
            # What was indexed meanwhile is in both.
            for key in {*keys, *unindexed} if unindexed else keys:
                scores[key] = scores.get(key, 0.0) + worth
        return [key for _, key in sorted(zip(scores.values(), scores, strict=True), reverse=True)]

    def _fill(self, chosen: _Chosen, common: Sequence[str]) -> None:
        """Goes on with events that have common terms only, those with all of them first, until there are enough."""
        assert self._index is not None  # noqa: S101 - it told that they are common
        terms = Asked(self._place.marker, common, self._query.fields)
        for every in (True, False) if len(common) > 1 else (False,):
            page = NewestPage(_BEYOND_ALL, max(_FEWEST, chosen.missing), every)
            while chosen.missing:
                keys = self._index.newest(self._scanner.connection, self._scanner.engine, terms, page)
                self._take(chosen, keys)
                if len(keys) < page.most:
                    break
                page = NewestPage(keys[-1], min(_MOST, page.most * 4), every)

    def _indexed(self, terms: Sequence[str]) -> Mapping[str, Sequence[int]]:
        assert self._index is not None  # noqa: S101 - asked by who has looked
        asked_for = Asked(self._place.marker, terms, self._query.fields)
        return self._index.postings(self._scanner.connection, self._scanner.engine, asked_for, self._most)

    # --- reading what is chosen

    def named(self, keys: Sequence[int]) -> Sequence[Candidate]:
        """Those of these that are in the scope and satisfy the filter."""
        return [self._candidate(row) for row in self._rows(keys)] if keys else []

    def _take(self, chosen: _Chosen, keys: Sequence[int]) -> None:
        """Reads the events in this order until there are enough; what is gone or does not satisfy the filter is left out."""
        start = 0
        while chosen.missing and start < len(keys):
            batch = keys[start : start + max(_FEWEST, chosen.missing)]
            start += len(batch)
            rows = {row.id: row for row in self._rows([key for key in batch if key not in chosen.found])}
            for key in batch:
                if key in rows and chosen.missing:
                    chosen.found[key] = self._candidate(rows[key])

    def _rows(self, keys: Sequence[int]) -> Iterable[Record]:
        holding = self._place.holding() & conditions(self._wanted)
        values = {**holding.values, "keys": self._scanner.engine.keys(keys)}

        def build(*columns: ColumnElement[Any]) -> Select[Any]:
            query = sa.select(*columns, *_EVENT, event_words.c.words).outerjoin(event_words, event_words.c.id == _e.id)
            return query.where(self._scanner.engine.among(_e.id, "keys"), *holding.where)

        if self._wanted.terms:
            return self._scanner.matching(build(*EVENT_COLUMNS), self._wanted, values)
        shape = ("candidates", holding.shape)
        prepared = self._scanner.statements.get(shape, self._scanner.connection, lambda: build(*_UNINDEXED_COLUMNS))
        return prepared.run(self._scanner.connection, values)

    def _candidate(self, row: Record) -> Candidate:
        words = row.words if row.words is not None else self._analysed(row, row.time)
        if not self._every_field:
            words = asked(words, self._query.fields)
        return Candidate(row.id, row.session, row.position, row.time, row.role, row.author, words)

    def _analysed(self, row: Record, time: int) -> str:
        event = self._scanner.stored(row, row.session)
        return "" if event is None else self._scanner.analysed.words(event.body, time)

    # --- the tail, or everything

    def _read(self) -> _Postings:
        """What is not indexed, by term. Counts are of all, keys of what satisfies the filter."""
        found = _Postings(self._most)
        wanted_terms = frozenset(self._terms)
        parts: Sequence[tail.Part | str] = ["all"] if self._index is None else tail.parts(self._scanner)
        for part in parts:
            for row, terms in self._having(part, wanted_terms):
                found.counts.update(terms)
                if terms and row.wanted and self._holds(row):
                    for term in terms:
                        found.add(term, row.id)
        return found

    def _having(self, part: tail.Part | str, wanted_terms: frozenset[str]) -> Iterator[tuple[Record, Collection[str]]]:
        """The part's events, and which of the terms each has: a batch after the other, each analysed aside."""
        analysed, fields = self._scanner.analysed, self._query.fields

        def terms_of(batch: Sequence[tuple[Record, bytes]]) -> Sequence[Collection[str]]:
            return [held(analysed.words(body, row.time), wanted_terms, fields) for row, body in batch]

        for batch in _batches(self._bodies(part)):
            told = self._scanner.engine.aside(partial(terms_of, batch))
            yield from ((row, terms) for (row, _), terms in zip(batch, told, strict=True))

    def _bodies(self, part: tail.Part | str) -> Iterator[tuple[Record, bytes]]:
        for row in self._unindexed(part):
            if (event := self._scanner.stored(row, row.session)) is not None:
                yield row, event.body

    def _holds(self, row: Record) -> bool:
        return not self._wanted.terms or self._scanner.decoded_matches(row, self._wanted, row.session)

    def _unindexed(self, part: tail.Part | str) -> Iterator[Record]:
        reading, filtering = self._place.reading(), conditions(self._wanted)

        def build() -> Select[Any]:
            wanted: ColumnElement[bool] = sa.and_(sa.true(), *filtering.where)
            joined = sa.join(events, sessions, _e.session == sessions.c.id)
            query = sa.select(*EVENT_COLUMNS, *_EVENT, wanted.label("wanted")).select_from(joined).where(*reading.where)
            return query if isinstance(part, str) else tail.within(query, part, self._scanner.engine)

        shape = ("unindexed words", part, reading.shape, filtering.shape)
        prepared = self._scanner.statements.get(shape, self._scanner.connection, build)
        return prepared.stream(self._scanner.connection, reading.values | filtering.values)


def _batches(events_: Iterable[tuple[Record, bytes]]) -> Iterator[list[tuple[Record, bytes]]]:
    """What is analysed in one go, and held in memory so long."""
    batch: list[tuple[Record, bytes]] = []
    size = 0
    for row, body in events_:
        batch.append((row, body))
        size += len(body)
        if len(batch) >= _MOST_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Chosen:
    """Candidates in the order in which they were chosen."""

    def __init__(self, most: int) -> None:
        self.found: dict[int, Candidate] = {}
        self._most = most

    @property
    def missing(self) -> int:
        return self._most - len(self.found)
