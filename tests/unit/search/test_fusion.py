"""Reciprocal rank fusion, and recency."""

from __future__ import annotations

import math

import pytest

from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.search import Scored
from threadkeep_server.search.ranking.fusion import fuse, recency


def ranking(*keys: int) -> list[Scored]:
    return [Scored(key, 100.0 - place) for place, key in enumerate(keys)]


def test_the_fused_score_is_the_sum_of_reciprocal_places() -> None:
    assert fuse([ranking(7, 8), ranking(8)]) == [Scored(8, 1 / 62 + 1 / 61), Scored(7, 1 / 61)]
    assert fuse([ranking(7, 8)], k=0) == [Scored(7, 1.0), Scored(8, 0.5)]


def test_hits_of_both_rankings_come_before_the_first_of_one() -> None:
    assert fuse([ranking(1, 2, 3), ranking(4, 2, 5)])[0].key == 2


def test_scores_do_not_count_and_equals_are_later_key_first() -> None:
    assert [s.key for s in fuse([[Scored(1, 1e9)], [Scored(2, -1e9)]])] == [2, 1]


def test_a_duplicate_key_counts_at_its_first_place() -> None:
    assert fuse([ranking(1, 1, 2)], k=0) == [Scored(1, 1.0), Scored(2, 0.5)]


def test_fusing_no_rankings_gives_no_hits() -> None:
    assert fuse([]) == fuse([[], []]) == []


def test_k_must_not_be_negative() -> None:
    with pytest.raises(InvalidField, match=r"^k must be 0 or more"):
        fuse([], k=-1)


def test_recency_is_off_by_default() -> None:
    scored = [Scored(2, 5.0), Scored(1, 4.0)]
    assert recency(scored, {1: 100, 2: 0}, 100, 10) == scored


def test_recent_entries_rank_higher_by_half_lives() -> None:
    scored = [Scored(key, 1.0) for key in (1, 2, 3, 4)]
    lifted = recency(scored, {1: 1000, 2: 900, 3: 800, 4: 5000}, now=1000, half_life_ns=100, weight=1.0)
    assert lifted == [Scored(4, 2.0), Scored(1, 2.0), Scored(2, 1.5), Scored(3, 1.25)]


def test_entries_without_a_time_or_very_old_ones_get_no_recency() -> None:
    assert recency([Scored(1, 1.0), Scored(2, 1.0)], {2: -(2**62)}, 2**62, 1, 1.0) == [Scored(2, 1.0), Scored(1, 1.0)]


@pytest.mark.parametrize(
    ("half_life", "weight", "field"), [(0, 1.0, "half_life_ns"), (1, -1.0, "weight"), (1, math.nan, "weight")]
)
def test_recency_refuses_invalid_values(half_life: int, weight: float, field: str) -> None:
    with pytest.raises(InvalidField, match=field):
        recency([], {}, 0, half_life, weight)
