"""Finding memories by words, and keeping the index of words at the present version of the analyzer.

The index is asked for what it has. What it has not, or has by another version, is analysed here: an answer is always complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.sql import ColumnElement

from ...domain.memories import MemoryFilter, MemoryScope
from ...domain.recall import Candidate, Candidates, WordQuery
from .. import words
from ..recall import most_counted, rarity
from .memory_rows import AT_ONCE, batches, marker_of, rows_of_keys, within
from .scan import Scanner
from .schema import memories
from .word_index import Asked, NewestPage, WordIndex, WordRow, words_text

_m = memories.c

_CANDIDATE_COLUMNS = (_m.id, _m.time, _m.author, _m.words, _m.metadata_json)
_LAST_KEY = (1 << 63) - 1


def candidates(
    scanner: Scanner, index: WordIndex | None, tenant: str, scope: MemoryScope, query: WordQuery, wanted: MemoryFilter
) -> Candidates:
    return _Search(scanner, index, tenant, scope, query, wanted).answer()


class _Search:
    """One search. `behind`: the words of the scope's entries that the index has not, or not of this version, by their keys."""

    def __init__(
        self, scanner: Scanner, index: WordIndex | None, tenant: str, scope: MemoryScope, query: WordQuery, wanted: MemoryFilter
    ) -> None:
        self._connection = scanner.connection
        self._engine = scanner.engine
        self._index = index
        self._tenant, self._scope, self._query, self._wanted = tenant, scope, query, wanted
        self._terms = tuple(dict.fromkeys(query.terms))
        self._asked = Asked(marker_of(tenant, scope), self._terms, query.fields)
        count = sa.select(sa.func.count()).select_from(memories).where(within(tenant, scope))
        self._documents = max(1, self._connection.execute(count).scalar_one())
        self._behind = _behind(scanner, index, tenant, scope)

    def answer(self) -> Candidates:
        most = most_counted(self._documents, self._query.limit)
        having = self._having(most)
        frequencies = {term: min(len(keys), most) for term, keys in having.items() if keys}
        score: dict[int, float] = {}
        for term, frequency in frequencies.items():
            worth = rarity(frequency, self._documents)
            for key in having[term]:
                score[key] = score.get(key, 0.0) + worth
        best = sorted(score, key=lambda key: (score[key], key), reverse=True)
        found: list[Candidate] = []
        for some in self._pages(best, [term for term, frequency in frequencies.items() if frequency == most]):
            found += self._admitted(some)
            if len(found) > self._query.limit:
                break
        complete = len(found) <= self._query.limit
        return Candidates(found[: self._query.limit], self._documents, frequencies, complete)

    def _having(self, most: int) -> Mapping[str, Sequence[int]]:
        """Keys by the term that they have: all, or at least `most` of them."""
        having: dict[str, list[int]] = {term: [] for term in self._terms}
        if self._index is not None and self._terms:
            # Those that are behind may be among them; what is told of them is old.
            told = self._index.postings(self._connection, self._engine, self._asked, most + len(self._behind))
            for term, keys in told.items():
                having[term] += [key for key in keys if key not in self._behind]
        terms = frozenset(self._terms)
        for key, text in self._behind.items():
            for term in words.held(text, terms, self._query.fields):
                having[term].append(key)
        return having

    def _pages(self, best: Sequence[int], common: Sequence[str]) -> Iterator[Sequence[int]]:
        """Keys of all that has one of the terms, best first: those that are known, and then the rest of what has a term so
        common that not all were told."""
        yield from batches(best)
        if not common or self._index is None:
            return
        known = {*best, *self._behind}
        asked = self._asked._replace(terms=common)
        before = _LAST_KEY
        while keys := self._index.newest(self._connection, self._engine, asked, NewestPage(before, AT_ONCE, every=False)):
            yield [key for key in keys if key not in known]
            before = min(keys)

    def _admitted(self, keys: Sequence[int]) -> list[Candidate]:
        """Those that are there and satisfy the filter, in the order of the keys."""
        rows = rows_of_keys(self._connection, self._tenant, self._scope, keys, self._wanted, _CANDIDATE_COLUMNS)
        found = {row.id: self._candidate(row) for row in rows}
        return [found[key] for key in keys if key in found]

    def _candidate(self, row: Row[Any]) -> Candidate:
        terms = words.asked(self._behind.get(row.id, row.words), self._query.fields)
        return Candidate(row.id, 0, 0, row.time, 0, row.author, terms)


def _behind(scanner: Scanner, index: WordIndex | None, tenant: str, scope: MemoryScope) -> Mapping[int, str]:
    """Words by key, of the entries of which the index has not the words of this version."""
    present = scanner.codec.words_version
    if index is not None:
        ends = sa.select(sa.func.min(_m.analyzer)).scalar_subquery(), sa.select(sa.func.max(_m.analyzer)).scalar_subquery()
        if set(scanner.connection.execute(sa.select(*ends)).one()) <= {present, None}:
            return {}
    query = sa.select(_m.id, _m.analyzer, _m.content, _m.time, _m.words).where(within(tenant, scope))
    if index is not None:
        query = query.where(_m.analyzer != present)
    return {
        row.id: row.words if abs(row.analyzer) == present else words_text(scanner.codec.memory_words(row.content, row.time))
        for row in scanner.connection.execute(query)
    }


# --- keeping up


class Renewed(NamedTuple):
    """Words that an entry has by the present version; `was` is what they are to replace."""

    key: int
    was: int
    words: str


def renewals(scanner: Scanner, most: int) -> Sequence[Renewed]:
    """Some entries of which the index has nothing, or what an older version made. Not what a newer one made: the server that
    has it would make it again."""
    version = scanner.codec.words_version
    query = sa.select(_m.id, _m.analyzer, _m.content, _m.time, _m.words).where(_m.analyzer < version)
    rows = scanner.connection.execute(query.order_by(_m.analyzer, _m.id).limit(most))
    return [
        Renewed(row.id, row.analyzer, row.words)
        if row.analyzer == -version
        else Renewed(row.id, row.analyzer, words_text(scanner.codec.memory_words(row.content, row.time)))
        for row in rows
    ]


def renew(connection: Connection, index: WordIndex, renewed: Iterable[Renewed], version: int) -> None:
    """Replaces words, of entries that are as they were when the words were made."""
    wanted = {each.key: each for each in renewed}
    columns: Sequence[ColumnElement[Any]] = (_m.id, _m.tenant, _m.app, _m.user_id, _m.words, _m.analyzer)
    query = sa.select(*columns).where(_m.id.in_(wanted)).order_by(_m.id).with_for_update()
    rows = [row for row in connection.execute(query).all() if row.analyzer == wanted[row.id].was]
    markers = {row.id: marker_of(row.tenant, MemoryScope(row.app, row.user_id)) for row in rows}
    old = [WordRow(row.id, markers[row.id], row.words) for row in rows if row.analyzer > 0]
    if old:
        index.remove(connection, old)
    if rows:
        index.add(connection, [WordRow(row.id, markers[row.id], wanted[row.id].words) for row in rows])
    for row in rows:
        values = {"words": wanted[row.id].words, "analyzer": version}
        connection.execute(memories.update().where(_m.id == row.id).values(values))


def prepare(connection: Connection, index: WordIndex, table: str) -> None:
    """Makes the index if it is not there. One that is new has nothing of the entries that are there."""
    known = sa.inspect(connection).has_table(table)
    index.prepare(connection, anew=False)
    if not known:
        connection.execute(memories.update().where(_m.analyzer > 0).values(analyzer=-_m.analyzer))
