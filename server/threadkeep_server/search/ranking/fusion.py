"""Fusion of rankings, and the boost of recent results. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ...domain.errors import InvalidField
from ...domain.search import Scored


def fuse(rankings: Sequence[Sequence[Scored]], k: int = 60) -> list[Scored]:
    """Fuses rankings by reciprocal rank (Cormack, Clarke and Büttcher, 2009): each ranking, best first, adds 1 / (k + rank) to
    the score of a key; ranks start at 1. Only the order within a ranking counts, so scores of different kinds can be fused.
    Returns the best first; of equals, the later key first. `k` is at least 0; a larger one reduces the effect of ranks. A key
    that a ranking contains twice counts at its first rank. Its relevance is its maximum over the rankings. Raises
    InvalidField."""
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
