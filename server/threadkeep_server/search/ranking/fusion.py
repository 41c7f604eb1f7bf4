"""The scale on which meaning joins words, and the boost of recent results. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...domain.errors import InvalidField
from ...domain.search import Scored

OF_MEANING = 0.6
"""What the nearest document in meaning gets, in parts of what the best one in words has."""
OF_SPELLING = 0.2
"""The same with an embedder that compares spellings, which words do better."""


class Strength(NamedTuple):
    """What likeness counts next to words. `share`: see OF_MEANING. `spelling`: it compares spellings, see `Meaning`."""

    share: float
    spelling: bool = False


class Meaning(NamedTuple):
    """How `near` documents are to a query in meaning, by key, in parts of the score of the best one in words. `spelling`: only
    spellings were compared. That is what words say already, so a document counts by the better of both, not by their sum."""

    near: Mapping[int, float]
    spelling: bool = False


NO_MEANING = Meaning({})


def nearness(nearest: Sequence[Scored], strength: Strength, usual: float | None = None) -> Meaning:
    """Returns how near documents are to a query in meaning: their score, a cosine, above the least that says something, in
    parts of the nearest's; from 0 to the share of `strength`. Only the differences within one scope count: two texts that have
    nothing in common have a cosine of 0.1 with one model and of 0.6 with the next. `nearest`: the best first; a single one has
    the whole share.

    `usual`: the median cosine of the scope, if known. Most texts are unrelated to a query, so up to there a model says nothing;
    in a large scope the farthest of the nearest says more. A filter may leave only documents below the median: then the middle
    of these is the least. Of spellings all count, from the farthest on."""
    if not nearest:
        return NO_MEANING
    best, least = nearest[0].score, nearest[-1].score
    if usual is not None and not strength.spelling:
        least = max(least, min(usual, nearest[len(nearest) // 2].score))
    if best <= least:
        return Meaning({each.key: strength.share for each in nearest}, strength.spelling)
    near = {each.key: strength.share * max((each.score - least) / (best - least), 0.0) for each in nearest}
    return Meaning(near, strength.spelling)


def first_by_words(ranked: Sequence[Scored], by_words: Sequence[Scored]) -> Sequence[Scored]:
    """Returns a ranking with the first of another in the first place, for likeness in spelling: it finds more, and says less
    than words about what is best. Both: the best first; without a document that has words nothing changes."""
    if not by_words or by_words[0].score <= 0:
        return ranked
    best = max((each.score for each in ranked), default=0.0)  # an event may have come between the two
    first = by_words[0]._replace(score=math.nextafter(best, math.inf))
    return [first, *(each for each in ranked if each.key != first.key)]


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
