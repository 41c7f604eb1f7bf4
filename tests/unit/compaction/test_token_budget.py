"""The token budget strategy: keeps the newest turns that fit the budget."""

from __future__ import annotations

import pytest

from threadkeep_server.compaction.strategies.token_budget import TokenBudget
from threadkeep_server.domain.errors import InvalidField

from .notation import compacted, unchanged, window


@pytest.mark.parametrize(
    ("most", "events", "outcome"),
    [
        (4, "U1=2 A1=2 U2=2 A2=40", "U2 A2 | U1 A1"),
        (100, "U1 A1 U2 A2", "U1 A1 U2 A2 |"),
        (25, "U1 A1 U2 A2", "U2 A2 | U1 A1"),
        (10, "U1=8 A1=34 U2=8", "U2 | U1 A1"),
        (6, "U1 A1 U2 A2 U3 A3", "U3 A3 | U1 A1 U2 A2"),
        (1, "~Uo ~Ao U1 A1 U2 A2", "~Uo ~Ao U2 A2 | U1 A1"),
        (40, "U1 A1 U2@a A2@a U3 A3", "U3 A3 | U1 A1 U2@a A2@a"),
        # A small old event that would fit by itself leaves with the large one that follows it.
        (20, "U1=1 A1=1 U2=1 A2=30 U3=8", "U3 | U1 A1 U2 A2"),
        (21, "S0=10 ~Ao=1 U1=5 A1=5 U2=5 A2=5", "S0 ~Ao U2 A2 | U1 A1"),
        # What is superseded leaves, so it takes nothing from the budget.
        (31, "S0=900 S1=10 ~Ao=1 U1=5 A1=5 U2=5 A2=5", "S1 ~Ao U1 A1 U2 A2 | S0"),
    ],
)
def test_the_newest_turns_that_fit_stay(most: int, events: str, outcome: str) -> None:
    assert compacted(TokenBudget(most), events) == outcome


def test_emptiness_and_options() -> None:
    assert unchanged(TokenBudget(1), "")
    assert TokenBudget().max_tokens == 4000
    with pytest.raises(InvalidField) as caught:
        TokenBudget(0)
    assert caught.value.metadata["field"] == "strategy.token_budget.max_tokens"


def test_calls_and_results_cost_what_they_hold() -> None:
    before = window("U1=8 A1(c)=57 T1(c)=47 U2=8 A2=13")
    plan = TokenBudget(40).plan(before, len)
    assert plan.archive == ("U1", "A1", "T1")
    assert (plan.tokens_before, plan.tokens_after) == (133, 21)


def test_the_budget_of_a_branch_is_its_own() -> None:
    events = "S0=500 U0=500 S1@a=10 U1@a=5 A1@a=5 U2@a=5 A2@a=5"
    assert compacted(TokenBudget(25), events, "a") == "S0 U0 S1@a U2@a A2@a | U1@a A1@a"
    assert unchanged(TokenBudget(30), events, "a")
