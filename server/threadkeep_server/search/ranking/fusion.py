"""The scale on which meaning joins words, and the boost of recent results. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ...domain.errors import InvalidField
from ...domain.search import Scored

OF_MEANING = 0.6
"""What the nearest document in meaning gets, in parts of what the best one in words has."""
OF_SPELLING = 0.2
"""The same with an embedder that compares spellings, which words do better."""


def nearness(nearest: Sequence[Scored], strength: float = 1.0) -> dict[int, float]:
    """Returns how near documents are to a query in meaning, for `scoring.rank`: their score, a cosine, above the farthest of
    them, in parts of the nearest's; from 0 to `strength`. Only the differences within one scope count: two texts that have
    nothing in common have a cosine of 0.1 with one model and of 0.6 with the next. `nearest`: the best first; a single one has
    `strength`."""
    if not nearest:
        return {}
    best, least = nearest[0].score, nearest[-1].score
    return {each.key: strength * ((each.score - least) / (best - least) if best > least else 1.0) for each in nearest}


def recency(
    scored: Sequence[Scored], times: Mapping[int, int], now: int, half_life_ns: int, weight: float = 0.0
) -> list[Scored]:
    """Boosts recent results: score * (1 + weight * 0.5 ** (age / half_life_ns)), best first. With weight 1 a result of this
    moment counts twice, and one of age half_life_ns 1.5 times; with 0, the default, nothing changes. Relevance is unchanged.

    `times`: nanoseconds by key; a key without a time is not boosted. A time in the future counts as `now`.
    Raises InvalidField."""
    if half_life_ns <= 0:
        raise InvalidField("half_life_ns", "must be positive")
    if not (math.isfinite(weight) and weight >= 0):
        raise InvalidField("weight", "must be 0 or more, and finite")
    ages = {key: max(now - time, 0) / half_life_ns for key, time in times.items()}
    return _best_first(each._replace(score=each.score * (1 + weight * 0.5 ** ages.get(each.key, math.inf))) for each in scored)


def _best_first(scored: Iterable[Scored]) -> list[Scored]:
    return sorted(scored, key=lambda each: (-each.score, -each.key))
