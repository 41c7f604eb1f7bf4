"""What a search may read of documents that are not indexed: bytes and time, and one document in any case."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from threadkeep_server.store.sql.scan_budget import ScanBudget, ScanLimits, affordable


def admitted(budget: ScanBudget, *sizes: int) -> Sequence[int]:
    return [each for batch in affordable(sizes, budget, lambda size: size) for each in batch]


def test_bytes_are_admitted_up_to_the_limit() -> None:
    budget = ScanBudget(ScanLimits(bytes=10), lambda: 0.0)
    assert admitted(budget, 4, 6, 1, 2) == [4, 6]
    assert (budget.taken, budget.reached, budget.used_up) == (2, 6, True)


def test_everything_is_admitted_within_the_limits() -> None:
    budget = ScanBudget(ScanLimits(bytes=10), lambda: 0.0)
    assert admitted(budget, 4, 6, 0) == [4, 6, 0]
    assert not budget.used_up


@pytest.mark.parametrize("limits", [ScanLimits(bytes=10), ScanLimits(seconds=0)])
def test_the_first_document_is_admitted_in_any_case(limits: ScanLimits) -> None:
    budget = ScanBudget(limits, lambda: 0.0)
    assert admitted(budget, 100, 1) == [100]
    assert budget.used_up


def test_nothing_is_admitted_after_a_refusal() -> None:
    budget = ScanBudget(ScanLimits(bytes=10), lambda: 0.0)
    assert admitted(budget, 9, 2, 1) == [9]
    assert admitted(budget, 1) == []


def test_the_time_ends_between_batches() -> None:
    now = [0.0]
    budget = ScanBudget(ScanLimits(seconds=2), lambda: now[0])
    taken = []
    for batch in affordable([200_000] * 5, budget, lambda size: size):
        taken += batch
        now[0] += 1.5
    assert len(taken) == 2
    assert budget.used_up
