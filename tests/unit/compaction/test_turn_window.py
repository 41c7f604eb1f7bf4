"""The turn window strategy: keeps the newest turns."""

from __future__ import annotations

import pytest

from threadkeep_server.compaction.strategies.turn_window import TurnWindow
from threadkeep_server.domain.errors import InvalidField

from .notation import compacted, unchanged, window

FOUR = "U1 A1 U2 A2 U3 A3 U4 A4"


def test_at_or_under_the_limit_nothing_happens() -> None:
    assert unchanged(TurnWindow(5), FOUR)
    assert unchanged(TurnWindow(4), FOUR)


@pytest.mark.parametrize(
    ("most", "events", "outcome"),
    [
        (2, FOUR, "U3 A3 U4 A4 | U1 A1 U2 A2"),
        (2, f"~Uo ~Ao {FOUR}", "~Uo ~Ao U3 A3 U4 A4 | U1 A1 U2 A2"),
        (1, "~Ua ~Aa ~Ub ~Ab U1 U2", "~Ua ~Aa ~Ub ~Ab U2 | U1"),
        (1, "A0 U1 A1 U2 A2", "A0 U2 A2 | U1 A1"),
        (2, "U1 A1 A1b U2 A2 U3 A3", "U2 A2 U3 A3 | U1 A1 A1b"),
        (1, "U1 U9@a A9@a U2 A2", "U2 A2 | U1 U9@a A9@a"),
        (1, "U9@a A9@a U1 A1 U2 A2", "U9@a A9@a U2 A2 | U1 A1"),
    ],
)
def test_the_newest_turns_stay(most: int, events: str, outcome: str) -> None:
    assert compacted(TurnWindow(most), events) == outcome


def test_emptiness_options_and_savings() -> None:
    assert unchanged(TurnWindow(1), "")
    assert TurnWindow().max_turns == 10
    with pytest.raises(InvalidField) as caught:
        TurnWindow(0)
    assert caught.value.metadata["field"] == "strategy.turn_window.max_turns"
    plan = TurnWindow(1).plan(window("U1=5 A1(c)=20 T1(c)=100 U2=5 A2=5"), len)
    assert (plan.tokens_before, plan.tokens_after) == (135, 10)


def test_a_result_whose_call_precedes_the_first_turn_stays_with_it() -> None:
    assert compacted(TurnWindow(1), "A0(c) U1 T0(c) A1 U2 A2") == "A0 T0 U2 A2 | U1 A1"


def test_a_turn_whose_tool_answers_in_a_later_turn_stays_with_it() -> None:
    assert compacted(TurnWindow(1), "U1 A1 U2 A2(c) U3 T2(c) A3") == "U2 A2 U3 T2 A3 | U1 A1"


def test_turns_of_a_branch() -> None:
    assert compacted(TurnWindow(1), "A0@a U1@a A1@a U0 U2@a A2@a", "a") == "A0@a U0 U2@a A2@a | U1@a A1@a"
    assert compacted(TurnWindow(2), "A1@a A2(c)@a T2(c)@a U0 A3@a", "a") == "A2@a T2@a U0 A3@a | A1@a"
