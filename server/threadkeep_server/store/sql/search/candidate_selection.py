"""Selects candidates by their terms, for events and for memories.

Documents with the rarest terms are first. A term of `most_counted` documents is common: documents without a rarer one come
last, the newest first. Only keys are selected here; a document is read when it may be in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

from sqlalchemy import Connection

from ....domain.search import Candidate, Candidates, WordQuery
from ...contract.search import most_counted, rarity
from ..engine.base import Engine
from ..scan_budget import ScanBudget
from .common_terms import CommonTerms
from .renewal import NONE, Earlier
from .term_index import NewestPage, Postings, TermIndex, TermQuery

Read = Callable[[Sequence[int]], Mapping[int, Candidate]]
"""Returns the documents of these keys, by key: those that exist and match the filter."""

_BEYOND_ALL = 1 << 62
# Keys that are considered at once.
_FEWEST, _MOST = 256, 8192


@dataclass(frozen=True, slots=True)
class Unindexed:
    """Documents by term, of those that are not in the index and were analyzed, and the number of documents per term. The counts
    include documents that do not match the filter and, of a common term, all but the newest. `unsearched`: the number of those
    that were not read."""

    keys: Mapping[str, Collection[int]]
    counts: Mapping[str, int]
    unsearched: int = 0


class Choice:
    """The selection for one query among the documents of a scope. `marker` is the scope's in the index; `documents` is their
    number. `common`: what is known of the index. `outdated` documents of the index are ignored: they are in `unindexed`.
    `earlier`: of those whose terms are of another version."""

    def __init__(
        self,
        query: WordQuery,
        marker: str,
        documents: int,
        common: CommonTerms,
        outdated: Collection[int] = (),
        earlier: Earlier = NONE,
    ) -> None:
        self.terms = tuple(dict.fromkeys(query.terms))
        self.documents = documents
        self.most = most_counted(documents, query.limit)
        self._limit = query.limit
        self._also = query.also
        self._common = common
        self._query = TermQuery(marker, self.terms, query.fields)
        self._outdated = outdated
        self._earlier = earlier

    def candidates(
        self,
        connection: Connection,
        engine: Engine,
        index: TermIndex | None,
        unindexed: Unindexed,
        read: Read,
        budget: ScanBudget | None = None,
    ) -> Candidates:
        """`unindexed` was read before the index: documents indexed in the meantime are in both, none is in neither. `budget`:
        what `read` takes from; when it is used up, the rest is not searched."""
        found_postings = Postings({}, ())
        if index is not None and self.terms:
            # More, because outdated ones are left out.
            most = self.most + len(self._outdated)
            looked_up = self._query._replace(terms=self._earlier.looked_up(self.terms))
            found_postings = self._common.postings(connection, engine, index, looked_up, most, self.documents)
        indexed_postings = self._earlier.merged(found_postings)
        having = {term: self._having(indexed_postings.keys.get(term, ()), unindexed.keys.get(term, ())) for term in self.terms}
        counts = {term: self._count(indexed_postings, term, unindexed) for term in self.terms}
        counts = {term: count for term, count in counts.items() if count}
        pages: Iterable[Sequence[int]] = [self._most_telling(having, counts)]
        if index is not None and found_postings.common:
            pages = chain(pages, self._newest(connection, engine, index, found_postings.common))
        if budget is not None:
            pages = takewhile(lambda _: not budget.used_up, pages)
        # One more than wanted shows whether there are more.
        found = list(_first(pages, self._limit + 1, _within(budget, read)))
        complete = len(found) <= self._limit
        found, known = found[: self._limit], {each.key for each in found[: self._limit]}
        if others := [key for key in self._also if key not in known]:
            found += read(others).values()
        unsearched = unindexed.unsearched + (budget is not None and budget.used_up)
        return Candidates(found, self.documents, counts, complete=complete, unsearched=unsearched)

    def _having(self, indexed: Collection[int], unindexed: Collection[int]) -> Collection[int]:
        if not unindexed and not self._outdated:
            return indexed
        return {*(key for key in indexed if key not in self._outdated), *unindexed}

    def _count(self, indexed_postings: Postings, term: str, unindexed: Unindexed) -> int:
        if term in indexed_postings.common:
            return self.most
        indexed = indexed_postings.keys.get(term, ())
        if self._outdated:
            indexed = [key for key in indexed if key not in self._outdated]
        return min(self.most, len(indexed) + unindexed.counts.get(term, 0))

    def _most_telling(self, having: Mapping[str, Collection[int]], counts: Mapping[str, int]) -> Sequence[int]:
        """Returns keys of documents with a rare term: by the weight of their rare terms, then the newest first."""
        scores: dict[int, float] = {}
        for term, count in counts.items():
            worth = rarity(count, self.documents) if count < self.most else 0.0
            for key in having[term]:
                scores[key] = scores.get(key, 0.0) + worth
        return [key for _, key in sorted(zip(scores.values(), scores, strict=True), reverse=True)]

    def _newest(
        self, connection: Connection, engine: Engine, index: TermIndex, common: Sequence[str]
    ) -> Iterator[Sequence[int]]:
        """Returns keys of documents with common terms: first those that have all of them, then those that have any."""
        all_of = [terms for terms in self._earlier.combined(common) if len(terms) > 1]
        for terms, every in [*((terms, True) for terms in all_of), (common, False)]:
            query = self._query._replace(terms=terms)
            page = NewestPage(_BEYOND_ALL, max(_FEWEST, self._limit + 1), every)
            while keys := index.newest(connection, engine, query, page):
                yield [key for key in keys if key not in self._outdated]
                if len(keys) < page.most:
                    break
                page = NewestPage(keys[-1], min(_MOST, page.most * 4), every)


def _within(budget: ScanBudget | None, read: Read) -> Read:
    """Returns a `read` that finds nothing once the budget is used up."""
    return lambda keys: {} if budget is not None and budget.used_up else read(keys)


def _first(pages: Iterable[Sequence[int]], most: int, read: Read) -> Iterator[Candidate]:
    """Returns the first documents of the pages, each once. Reading a few documents at a time costs more than reading many, so
    keys are collected until they may be enough."""
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
