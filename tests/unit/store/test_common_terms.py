"""What is remembered of common terms: not looked up again, until it may have become untrue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from sqlalchemy import Connection

from threadkeep_server.domain.search import ALL_FIELDS, Field
from threadkeep_server.store.sql.engine.base import Engine
from threadkeep_server.store.sql.search.common_terms import SECONDS_KEPT, CommonTerms
from threadkeep_server.store.sql.search.term_index import Postings, TermIndex, TermQuery

CONNECTION, ENGINE = cast("Connection", None), cast("Engine", None)
MOST, DOCUMENTS = 80, 640
TERMS = ("rare", "border", "the", "none")


class _Index:
    """An index with so many documents of each term; records the terms that are looked up."""

    def __init__(self) -> None:
        self.having = {"rare": 2, "border": MOST + 1, "the": 600}
        self.requested: list[Sequence[str]] = []

    def postings(self, _: Any, __: Any, requested: TermQuery, most: int) -> Postings:
        self.requested.append(requested.terms)
        keys = {term: range(min(self.having[term], most)) for term in requested.terms if term in self.having}
        common = [term for term in keys if len(keys[term]) == most]
        return Postings({term: keys[term] for term in keys if term not in common}, common)


class _Searches:
    def __init__(self, most_kept: int = 100) -> None:
        self.index = _Index()
        self.now = 0.0
        self._common = CommonTerms(lambda: self.now, most_kept)

    def __call__(
        self,
        *terms: str,
        most: int = MOST,
        documents: int = DOCUMENTS,
        marker: str = "~u",
        fields: Field = ALL_FIELDS,
    ) -> tuple[dict[str, int], set[str], Sequence[str]]:
        """The documents of rare terms, the common terms, and the terms that were looked up in the index."""
        before = len(self.index.requested)
        wanted = TermQuery(marker, terms, fields)
        found = self._common.postings(CONNECTION, ENGINE, cast("TermIndex", self.index), wanted, most, documents)
        looked_up = [term for terms in self.index.requested[before:] for term in terms]
        return {term: len(keys) for term, keys in found.keys.items()}, set(found.common), looked_up


def test_the_second_search_reports_the_same_and_looks_up_all_but_the_clearly_common_terms() -> None:
    search = _Searches()
    first, second = search(*TERMS), search(*TERMS)
    assert first == ({"rare": 2}, {"border", "the"}, list(TERMS))
    assert second == ({"rare": 2}, {"border", "the"}, ["rare", "border", "none"])
    assert search("the") == ({}, {"the"}, [])


def test_a_term_is_remembered_while_the_scope_grows_and_looked_up_when_more_documents_are_needed() -> None:
    search = _Searches()
    search("the")
    assert search("the", most=MOST + MOST // 8, documents=DOCUMENTS * 2) == ({}, {"the"}, [])
    search.index.having["the"] = MOST + MOST // 8
    assert search("the", most=MOST * 2, documents=DOCUMENTS * 2) == ({"the": 90}, set(), ["the"])


@pytest.mark.parametrize("change", ["smaller", "later", "another scope", "other fields"])
def test_a_term_is_looked_up_again_when_it_may_have_become_rare_or_is_of_another_scope(change: str) -> None:
    search = _Searches()
    search("the")
    search.index.having["the"] = 3
    if change == "later":
        search.now = SECONDS_KEPT
    others: dict[str, dict[str, Any]] = {
        "smaller": {"documents": DOCUMENTS - 1},
        "another scope": {"marker": "~other"},
        "other fields": {"fields": Field.TEXT},
    }
    assert search("the", **others.get(change, {})) == ({"the": 3}, set(), ["the"])


def test_the_term_that_was_not_used_for_the_longest_is_forgotten_first() -> None:
    search = _Searches(most_kept=2)
    search.index.having |= {"of": 600, "and": 600}
    search("the")
    search("of")
    search("the")
    search("and")
    assert search("the", "of", "and")[2] == ["of"]
