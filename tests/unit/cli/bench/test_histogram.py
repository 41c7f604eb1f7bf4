"""Percentiles of the histogram against those of the sorted durations."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.cli.commands.bench.histogram import Histogram

_DURATIONS = st.lists(st.integers(0, 4_000_000_000).map(lambda micros: micros / 1e6), min_size=1, max_size=60)
_SHARES = (0.01, 0.5, 0.95, 0.99, 1.0)


def filled(durations: list[float]) -> Histogram:
    made = Histogram()
    for each in durations:
        made.add(each)
    return made


def exact(durations: list[float], share: float) -> float:
    ordered = sorted(durations)
    return ordered[math.ceil(share * len(ordered)) - 1]


@given(_DURATIONS)
def test_percentiles_are_at_most_a_bucket_above_the_exact_ones(durations: list[float]) -> None:
    found = filled(durations)
    for share in _SHARES:
        true = exact(durations, share)
        assert true - 1e-6 <= found.percentile(share) <= true * (1 + 1 / 64) + 1e-6
    assert found.percentile(1.0) == found.most == max(durations)


@given(_DURATIONS, _DURATIONS)
def test_merged_histograms_are_those_of_all_durations(some: list[float], others: list[float]) -> None:
    merged, whole = filled(some), filled(some + others)
    merged.merge(filled(others))
    assert [merged.percentile(share) for share in _SHARES] == [whole.percentile(share) for share in _SHARES]
    assert (merged.count, merged.most) == (whole.count, whole.most)
    assert math.isclose(merged.mean, whole.mean, abs_tol=1e-9)


def test_memory_is_bounded_for_any_duration() -> None:
    found = filled([-1.0, 0.0, 1e-9, 1e9])
    assert found.count == 4
    assert found.most == 1e9
    assert found.percentile(0.5) == 0.0
    assert Histogram().percentile(0.99) == Histogram().mean == 0.0
