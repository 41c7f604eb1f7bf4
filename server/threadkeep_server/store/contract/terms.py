"""The terms of documents, as stores keep them and hand them over: the form of domain.recall.Candidate.words."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from ...domain.search import ALL_FIELDS, FIELDS, Candidate, Candidates, Field, WordQuery, Words
from .search import most_counted, rarity


def as_text(words: Words) -> str:
    """One blank between terms, a line feed between fields."""
    return "\n".join(map(" ".join, words))


def asked(text: str, fields: Field) -> str:
    """Without the terms of fields that are not asked for. The dates always are."""
    if fields & ALL_FIELDS == ALL_FIELDS:
        return text
    *lines, dates = text.split("\n")
    kept = [line if field in fields else "" for field, line in zip(FIELDS, lines, strict=True)]
    return "\n".join([*kept, dates])


def held(text: str, terms: AbstractSet[str], fields: Field) -> AbstractSet[str]:
    """Those of the terms that the document has in the fields asked for, or in its dates."""
    return terms & set(asked(text, fields).split())


def choose(every: Iterable[tuple[Candidate, bool]], documents: int, query: WordQuery) -> Candidates:
    """The answer of a store that goes through all documents of a scope: `every` gives each with all its words, and whether it
    satisfies the filter; `documents` is how many there are. What RecallStore.word_candidates means by the best."""
    terms = frozenset(query.terms)
    counts: Counter[str] = Counter()
    found: list[tuple[Candidate, AbstractSet[str]]] = []
    for candidate, admitted in every:
        has = held(candidate.words, terms, query.fields)
        counts.update(has)
        if has and admitted:
            found.append((replace(candidate, words=asked(candidate.words, query.fields)), has))
    documents = max(1, documents)
    worth = {term: rarity(count, documents) for term, count in counts.items()}
    best = heapq.nlargest(query.limit, found, key=lambda each: (sum(worth[term] for term in each[1]), each[0].key))
    most = most_counted(documents, query.limit)
    frequencies = {term: min(count, most) for term, count in counts.items()}
    return Candidates([each[0] for each in best], documents, frequencies, complete=len(found) <= query.limit)
