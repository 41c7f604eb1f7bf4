"""Candidates in a line each, for tests of ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep_server.domain.model import POSITION_STEP
from threadkeep_server.domain.search import Candidate, Candidates
from threadkeep_server.search.query import Query
from threadkeep_server.search.ranking.scoring import DEFAULT, Weights, rank

BARE = Weights(
    phrases=0,
    speaker=0,
    spans=0,
    role=0,
    number=0,
    present=0,
    meaning=0,
    lacking=0,
    neighbors=0,
    answer=0,
    questions=0,
    session=0,
)
"""BM25 alone."""


def candidate(key: int, text: str, **other: Any) -> Candidate:
    """A candidate, by default in its own session. `fields`: calls, results, media, dates."""
    fields = {"calls": "", "results": "", "media": "", "dates": ""} | other.pop("fields", {})
    seq = other.pop("seq", 1)
    known: dict[str, Any] = {"session": key, "time": 0, "role": 1, "author": "", "position": int(seq * POSITION_STEP)}
    return Candidate(key=key, words="\n".join([text, *fields.values()]), **(known | other))


def requested(text: str, **other: Any) -> Query:
    return Query(**({"text": text, "terms": dict.fromkeys(text.split(), 1.0)} | other))


def order(
    query: Query,
    found: Sequence[Candidate],
    weights: Weights = DEFAULT,
    documents: int = 1000,
    frequencies: Mapping[str, int] | None = None,
) -> list[int]:
    """The keys, best first, in a scope that is much larger than what was found."""
    reported = dict.fromkeys(query.terms, 10) if frequencies is None else frequencies
    return [scored.key for scored in rank(query, Candidates(found, documents, reported), weights)]
