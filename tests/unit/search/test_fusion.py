"""The scale of meaning, and recency."""

from __future__ import annotations

import math

import pytest

from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.search import Scored
from threadkeep_server.search.ranking.fusion import NO_MEANING, Meaning, Strength, first_by_words, nearness, recency

WHOLE = Strength(1.0)


def test_nearness_is_between_the_farthest_and_the_nearest() -> None:
    near = nearness([Scored(7, 0.9), Scored(8, 0.5), Scored(9, 0.1)], WHOLE).near
    assert near == pytest.approx({7: 1.0, 8: 0.5, 9: 0.0})


def test_nearness_does_not_depend_on_the_scale_of_the_model() -> None:
    cosines = {7: 0.9, 8: 0.5, 9: 0.1}
    narrow = [Scored(key, 0.6 + cosine / 10) for key, cosine in cosines.items()]
    wide = [Scored(key, cosine) for key, cosine in cosines.items()]
    assert nearness(narrow, WHOLE).near == pytest.approx(nearness(wide, WHOLE).near)


COSINES = [Scored(7, 0.9), Scored(8, 0.7), Scored(9, 0.5), Scored(10, 0.3), Scored(11, 0.1)]


@pytest.mark.parametrize(
    ("usual", "spelling", "expected"),
    [
        (0.5, False, {7: 1.0, 8: 0.5, 9: 0.0, 10: 0.0, 11: 0.0}),
        (0.5, True, {7: 1.0, 8: 0.75, 9: 0.5, 10: 0.25, 11: 0.0}),
        (0.0, False, {7: 1.0, 8: 0.75, 9: 0.5, 10: 0.25, 11: 0.0}),
        (None, False, {7: 1.0, 8: 0.75, 9: 0.5, 10: 0.25, 11: 0.0}),
        (0.95, False, {7: 1.0, 8: 0.5, 9: 0.0, 10: 0.0, 11: 0.0}),
    ],
    ids=["above the median", "of spellings all", "a large scope", "unknown median", "a filter leaves those below the median"],
)
def test_nearness_begins_at_the_median_of_the_scope(usual: float | None, spelling: bool, expected: dict[int, float]) -> None:
    assert nearness(COSINES, Strength(1.0, spelling), usual).near == pytest.approx(expected)


def test_nearness_of_one_or_no_document() -> None:
    assert nearness([], WHOLE) == NO_MEANING
    assert nearness([Scored(7, 0.2)], WHOLE) == Meaning({7: 1.0})


def test_nearness_counts_by_its_strength() -> None:
    strength = Strength(0.6, spelling=True)
    assert nearness([Scored(7, 0.9), Scored(8, 0.1)], strength) == Meaning({7: 0.6, 8: 0.0}, spelling=True)


def test_the_first_by_words_stays_first_for_spellings() -> None:
    ranked = [Scored(7, 0.9), Scored(8, 0.7, 0.5), Scored(9, 0.5)]
    kept = first_by_words(ranked, [Scored(8, 12.0, 0.5), Scored(7, 3.0)])
    assert [each.key for each in kept] == [8, 7, 9]
    assert kept[0].relevance == 0.5
    assert [each.key for each in recency(kept, {}, 0, 1)] == [8, 7, 9], "its score is the greatest"
    assert [each.key for each in first_by_words(ranked, [Scored(10, 1.0)])] == [10, 7, 8, 9]
    assert [each.key for each in first_by_words([], [Scored(10, 1.0)])] == [10], "it was committed between the two rankings"


@pytest.mark.parametrize("by_words", [[], [Scored(8, 0.0)]])
def test_spellings_decide_where_nothing_has_words(by_words: list[Scored]) -> None:
    ranked = [Scored(7, 0.9), Scored(8, 0.7)]
    assert first_by_words(ranked, by_words) == ranked


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
