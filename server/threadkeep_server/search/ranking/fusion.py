"""Rankings put together, and what is recent put first. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ...domain.errors import InvalidField
from ...domain.search import Scored


def fuse(rankings: Sequence[Sequence[Scored]], k: int = 60) -> list[Scored]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): each ranking, best first, gives a key 1 / (k + its place,
    from 1). Only the order within a ranking counts, so that scores of different kinds may be put together. Best first, of
    equals the later key first. `k`, at least 0, evens the places out; a key that a ranking tells twice counts where it stands
    first. Its relevance is the greatest that it has in any. Raises InvalidField."""
    if k < 0:
        raise InvalidField("k", "must be 0 or more")
    totals: dict[int, float] = {}
    relevance: dict[int, float] = {}
    for ranking in rankings:
        for scored in ranking:
            relevance[scored.key] = max(relevance.get(scored.key, 0.0), scored.relevance)
        for place, key in enumerate(dict.fromkeys(scored.key for scored in ranking), 1):
            totals[key] = totals.get(key, 0.0) + 1 / (k + place)
    return _best_first(Scored(key, score, relevance[key]) for key, score in totals.items())


def recency(
    scored: Sequence[Scored], times: Mapping[int, int], now: int, half_life_ns: int, weight: float = 0.0
) -> list[Scored]:
    """Scores with what is recent lifted, best first: score * (1 + weight * 0.5 ** (age / half_life_ns)). With weight 1
    something said just now counts twice, and 1.5 times once it is half_life_ns old; with 0, the default, nothing changes.
    Relevance stays as it is.

    `times`: nanoseconds by key; a key without a time is not lifted. What is of the future counts as said at `now`.
    Raises InvalidField."""
    if half_life_ns <= 0:
        raise InvalidField("half_life_ns", "must be positive")
    if not (math.isfinite(weight) and weight >= 0):
        raise InvalidField("weight", "must be 0 or more, and finite")
    ages = {key: max(now - time, 0) / half_life_ns for key, time in times.items()}
    return _best_first(each._replace(score=each.score * (1 + weight * 0.5 ** ages.get(each.key, math.inf))) for each in scored)


def _best_first(scored: Iterable[Scored]) -> list[Scored]:
    return sorted(scored, key=lambda each: (-each.score, -each.key))
