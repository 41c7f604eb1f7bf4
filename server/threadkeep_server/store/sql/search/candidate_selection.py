"""Choosing candidates by the terms that they have: one way for whatever is indexed by words, events and memories.

Those with the rarest terms come first. A term that `most_counted` documents have says little: what has no rarer one comes
after, the newest first. Only keys are chosen here; a document is read when it is known that it comes into question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import Connection

from ....domain.search import Candidate, Candidates, WordQuery
from ...contract.search import most_counted, rarity
from ..engine.base import Engine
from .term_index import Asked, NewestPage, Postings, WordIndex

Read = Callable[[Sequence[int]], Mapping[int, Candidate]]
"""The documents of these keys, by key: those that are there and satisfy the filter."""

_BEYOND_ALL = 1 << 62
# Keys that are looked at in one go.
_FEWEST, _MOST = 256, 8192


@dataclass(frozen=True, slots=True)
class Unindexed:
    """What was read and analysed, for the index does not have it: documents by term, and how many have each. There may be more
    than are told: those that do not satisfy the filter, and of a common term all but the newest."""

    keys: Mapping[str, Collection[int]]
    counts: Mapping[str, int]


class Choice:
    """The choice for one query among the documents of a scope. `marker` is the scope's in the index; `documents` is how many it
    holds. Of what the index tells, `outdated` documents are left out: they are among those that were read."""

    def __init__(self, query: WordQuery, marker: str, documents: int, outdated: Collection[int] = ()) -> None:
        self.terms = tuple(dict.fromkeys(query.terms))
        self.documents = documents
        self.most = most_counted(documents, query.limit)
        self._limit = query.limit
        self._asked = Asked(marker, self.terms, query.fields)
        self._outdated = outdated

    def candidates(
        self, connection: Connection, engine: Engine, index: WordIndex | None, unindexed: Unindexed, read: Read
    ) -> Candidates:
        """`unindexed` was read before: what is indexed meanwhile is then in both, and nothing in neither."""
        told = Postings({}, ())
        if index is not None and self.terms:
            # As many more as may have to be left out.
            told = index.postings(connection, engine, self._asked, self.most + len(self._outdated))
        having = {term: self._having(told.keys.get(term, ()), unindexed.keys.get(term, ())) for term in self.terms}
        counts = {term: self._count(told, term, unindexed) for term in self.terms}
        counts = {term: count for term, count in counts.items() if count}
        pages: Iterable[Sequence[int]] = [self._most_telling(having, counts)]
        if index is not None and told.common:
            pages = chain(pages, self._newest(connection, engine, index, told.common))
        # One more than wanted tells whether there are more.
        found = list(_first(pages, self._limit + 1, read))
        return Candidates(found[: self._limit], self.documents, counts, complete=len(found) <= self._limit)

    def _having(self, indexed: Collection[int], unindexed: Collection[int]) -> Collection[int]:
        if not unindexed and not self._outdated:
            return indexed
        return {*(key for key in indexed if key not in self._outdated), *unindexed}

    def _count(self, told: Postings, term: str, unindexed: Unindexed) -> int:
        if term in told.common:
            return self.most
        indexed = told.keys.get(term, ())
        if self._outdated:
            indexed = [key for key in indexed if key not in self._outdated]
        return min(self.most, len(indexed) + unindexed.counts.get(term, 0))

    def _most_telling(self, having: Mapping[str, Collection[int]], counts: Mapping[str, int]) -> Sequence[int]:
        """Keys of what is known to have a term: by how much the rare ones among its terms say, then the newest first."""
        scores: dict[int, float] = {}
        for term, count in counts.items():
            worth = rarity(count, self.documents) if count < self.most else 0.0
            for key in having[term]:
                scores[key] = scores.get(key, 0.0) + worth
        return [key for _, key in sorted(zip(scores.values(), scores, strict=True), reverse=True)]

    def _newest(
        self, connection: Connection, engine: Engine, index: WordIndex, common: Sequence[str]
    ) -> Iterator[Sequence[int]]:
        """Keys of what has common terms: that has all of them, and then that has any."""
        asked = self._asked._replace(terms=common)
        for every in (True, False) if len(common) > 1 else (False,):
            page = NewestPage(_BEYOND_ALL, max(_FEWEST, self._limit + 1), every)
            while keys := index.newest(connection, engine, asked, page):
                yield [key for key in keys if key not in self._outdated]
                if len(keys) < page.most:
                    break
                page = NewestPage(keys[-1], min(_MOST, page.most * 4), every)


def _first(pages: Iterable[Sequence[int]], most: int, read: Read) -> Iterator[Candidate]:
    """The first documents of the pages that can be read, each once. Reading one costs more than knowing of it, and a few at a
    time more than many: so keys are gathered until they can be enough."""
    seen: set[int] = set()
    waiting: list[int] = []
    missing = most
    for page in chain(pages, [None]):
        fresh = dict.fromkeys(key for key in page or () if key not in seen)
        seen.update(fresh)
        waiting += fresh
        while missing and waiting and (page is None or len(waiting) >= missing):
            some, waiting = waiting[: max(_FEWEST, missing)], waiting[max(_FEWEST, missing) :]
            found = read(some)
            for key in [key for key in some if key in found][:missing]:
                missing -= 1
                yield found[key]
        if not missing:
            return
