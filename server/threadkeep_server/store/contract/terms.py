"""The terms of documents in the form that stores keep and return: that of domain.search.Candidate.words."""

from __future__ import annotations

import heapq
import zlib
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from ...domain.model import POSITION_STEP
from ...domain.search import ALL_FIELDS, FIELDS, Candidate, Candidates, Field, WordQuery, Words
from .search import most_counted, rarity


def as_text(words: Words) -> str:
    """Joins terms with a blank, fields with a line feed."""
    return "\n".join(map(" ".join, words))


def selected(text: str, fields: Field) -> str:
    """Returns the terms of the selected fields and the dates, which are always selected."""
    if fields & ALL_FIELDS == ALL_FIELDS:
        return text
    *lines, dates = text.split("\n")
    kept = [line if field in fields else "" for field, line in zip(FIELDS, lines, strict=True)]
    return "\n".join([*kept, dates])


def memory_place(key: int, session_id: str) -> tuple[int, int]:
    """Returns the session and position of a memory as a candidate. Entries of one session that were ingested one after the
    other are neighbors, as their events are; one without a session has none."""
    return (zlib.crc32(session_id.encode()), key * POSITION_STEP) if session_id else (-key, POSITION_STEP)


def matched(text: str, terms: AbstractSet[str], fields: Field) -> AbstractSet[str]:
    """Returns the terms that the document has in the selected fields or in its dates."""
    return terms & set(selected(text, fields).split())


def choose(every: Iterable[tuple[Candidate, bool]], documents: int, query: WordQuery) -> Candidates:
    """Selects the best candidates from all documents of a scope; defines "best" of SearchStore.word_candidates. `every` yields
    each document with all its terms, and whether it matches the filter; `documents` is their number."""
    terms, also = frozenset(query.terms), frozenset(query.also)
    counts: Counter[str] = Counter()
    found: list[tuple[Candidate, AbstractSet[str]]] = []
    others: dict[int, Candidate] = {}
    for candidate, admitted in every:
        has = matched(candidate.words, terms, query.fields)
        counts.update(has)
        if admitted and (has or candidate.key in also):
            reduced = replace(candidate, words=selected(candidate.words, query.fields))
            if has:
                found.append((reduced, has))
            if reduced.key in also:
                others[reduced.key] = reduced
    documents = max(1, documents)
    worth = {term: rarity(count, documents) for term, count in counts.items()}
    best = heapq.nlargest(query.limit, found, key=lambda each: (sum(worth[term] for term in each[1]), each[0].key))
    most = most_counted(documents, query.limit)
    frequencies = {term: min(count, most) for term, count in counts.items()}
    chosen = {each[0].key: each[0] for each in best} | others
    return Candidates(list(chosen.values()), documents, frequencies, complete=len(found) <= query.limit)
