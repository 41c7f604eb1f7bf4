"""Choosing by words: what is taken first, how often documents are read for it, and what is left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Connection

from threadkeep_server.domain.search import Candidate, Candidates, WordQuery
from threadkeep_server.store.contract.search import most_counted
from threadkeep_server.store.sql.engine.base import Engine
from threadkeep_server.store.sql.search.candidate_selection import Choice, Unindexed
from threadkeep_server.store.sql.search.common_terms import CommonTerms
from threadkeep_server.store.sql.search.term_index import NewestPage, Postings, TermIndex, TermQuery

NOTHING = Unindexed({}, {})
CONNECTION, ENGINE = cast("Connection", None), cast("Engine", None)
DOCUMENTS = 3000
MANY = most_counted(DOCUMENTS, 256)


class _Index:
    """An index of these documents; records the pages that are requested."""

    def __init__(self, having: Mapping[str, Collection[int]]) -> None:
        self.having = having
        self.pages: list[NewestPage] = []

    def postings(self, _: Any, __: Any, requested: TermQuery, most: int) -> Postings:
        postings = {term: list(self.having.get(term, ())) for term in requested.terms}
        common = [term for term, keys in postings.items() if len(keys) >= most]
        return Postings({term: keys for term, keys in postings.items() if keys and term not in common}, common)

    def newest(self, _: Any, __: Any, requested: TermQuery, page: NewestPage) -> Sequence[int]:
        self.pages.append(page)
        sets = [set(self.having[term]) for term in requested.terms]
        found = set.intersection(*sets) if page.every else set.union(*sets)
        return sorted((key for key in found if key < page.before), reverse=True)[: page.most]


class _Documents:
    """Reads documents that satisfy the filter; records the number of documents per call."""

    def __init__(self, admits: Collection[int] | None = None) -> None:
        self.admits = admits
        self.read_at_once: list[int] = []

    def __call__(self, keys: Sequence[int]) -> Mapping[int, Candidate]:
        assert len(keys) == len(set(keys))
        self.read_at_once.append(len(keys))
        return {key: Candidate(key, 0, 0, 0, 0, "", "") for key in keys if self.admits is None or key in self.admits}


def _choose(
    index: _Index | None,
    documents: _Documents,
    *terms: str,
    limit: int = 256,
    unindexed: Unindexed = NOTHING,
    outdated: Collection[int] = (),
) -> Candidates:
    choice = Choice(WordQuery(terms, limit=limit), "~u", DOCUMENTS, CommonTerms(), outdated)
    return choice.candidates(CONNECTION, ENGINE, cast("TermIndex", index), unindexed, documents)


def _keys(found: Candidates) -> list[int]:
    return [each.key for each in found.found]


def test_the_rarest_terms_come_first_and_of_the_same_the_newest() -> None:
    index = _Index({"rare": [5, 9], "usual": [4, 5, 6, 7]})
    found = _choose(index, _Documents(), "usual", "rare", "none")
    assert _keys(found) == [5, 9, 7, 6, 4]
    assert found.frequencies == {"rare": 2, "usual": 4}
    assert found.complete
    assert index.pages == []


def test_candidates_with_common_terms_only_come_last_and_are_read_at_once() -> None:
    common = range(1, MANY + 1)
    index = _Index({"rare": [3], "common": common, "usual": range(2, 2 * MANY + 2, 2)})
    documents = _Documents()
    found = _choose(index, documents, "rare", "common", "usual")
    both = [key for key in reversed(common) if key % 2 == 0]
    assert _keys(found) == [3, *both][:256]
    assert not found.complete
    assert found.frequencies == {"rare": 1, "common": MANY, "usual": MANY}
    assert [page.every for page in index.pages] == [True]
    assert documents.read_at_once == [257]


def test_pages_are_read_until_enough_events_match_the_filter() -> None:
    index = _Index({"common": range(1, DOCUMENTS + 1)})
    admitted = [7, 100, 2000]
    found = _choose(index, _Documents(admitted), "common")
    assert _keys(found) == sorted(admitted, reverse=True)
    assert found.complete
    assert [page.most for page in index.pages] == [257, 1028, 4112]


def test_outdated_documents_count_by_their_current_content() -> None:
    index = _Index({"old": [1, 2, 3], "kept": range(1, MANY + 3)})
    read = Unindexed({"new": [2, 3], "kept": [3]}, {"new": 2, "kept": 1})
    found = _choose(index, _Documents(), "old", "new", "kept", limit=DOCUMENTS, unindexed=read, outdated={2, 3})
    assert found.frequencies == {"old": 1, "new": 2, "kept": MANY + 1}
    assert len(_keys(found)) == MANY + 2


def test_without_an_index_search_uses_the_events_that_were_read() -> None:
    read = Unindexed({"a": [1, 2]}, {"a": 9})
    found = _choose(None, _Documents(), "a", "b", limit=1, unindexed=read)
    assert _keys(found) == [2]
    assert found.frequencies == {"a": 9}
    assert not found.complete


def test_no_more_is_read_than_needed() -> None:
    documents = _Documents(range(1000, DOCUMENTS))
    found = _choose(_Index({"usual": range(1, 1000)}), documents, "usual")
    assert _keys(found) == []
    assert documents.read_at_once == [257, 257, 257, 228]
