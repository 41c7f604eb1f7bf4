"""Golden vectors of the strategies: the window before, the strategy, and the window with the archived events after."""

from __future__ import annotations

import pytest

from threadkeep_server.compaction.plan import Strategy
from threadkeep_server.compaction.strategies.recursive_summary import RecursiveSummary
from threadkeep_server.compaction.strategies.sliding_window import SlidingWindow
from threadkeep_server.compaction.strategies.token_budget import TokenBudget
from threadkeep_server.compaction.strategies.turn_window import TurnWindow

from .notation import compacted

VECTORS: list[tuple[str, Strategy, str, str]] = [
    ("sliding_window", SlidingWindow(3), "U1 A1 U2 A2 U3 A3", "U3 A3 | U1 A1 U2 A2"),
    ("sliding_window_keeps_a_turn_whole", SlidingWindow(2), "U1 A1 U2 A2 A3 A4", "U2 A2 A3 A4 | U1 A1"),
    ("sliding_window_with_one_turn", SlidingWindow(2), "U1 A1 A2 A3", "U1 A1 A2 A3 |"),
    ("sliding_window_keeps_the_system_event", SlidingWindow(3), "S0 U1 A1 U2 A2", "S0 U2 A2 | U1 A1"),
    ("sliding_window_keeps_the_latest_system_event", SlidingWindow(20), "S:v1 U1 A1 S:v2 U2 A2", "U1 A1 S:v2 U2 A2 | S:v1"),
    (
        "sliding_window_keeps_branches_whole",
        SlidingWindow(4),
        "U1 A1 U2@sub A2@sub U3 A3",
        "U1 A1 U2@sub A2@sub U3 A3 |",
    ),
    ("sliding_window_keeps_the_summary", SlidingWindow(3), "~Uo ~Ao U1 U2 U3 U4", "~Uo ~Ao U2 U3 U4 | U1"),
    ("sliding_window_without_a_user_event", SlidingWindow(1), "A0 A1 A2", "A0 A1 A2 |"),
    ("turn_window", TurnWindow(2), "U1 A1 U2 A2 U3 A3 U4 A4", "U3 A3 U4 A4 | U1 A1 U2 A2"),
    ("turn_window_keeps_events_before_the_first_turn", TurnWindow(1), "A0 U1 A1 U2 A2", "A0 U2 A2 | U1 A1"),
    ("turn_window_keeps_the_system_event", TurnWindow(1), "U1 A1 S1 U2 A2", "S1 U2 A2 | U1 A1"),
    ("token_budget_at_the_limit", TokenBudget(42), "U1 A1 U2 A2", "U1 A1 U2 A2 |"),
    ("token_budget_one_token_over", TokenBudget(41), "U1 A1 U2 A2", "U2 A2 | U1 A1"),
    ("token_budget_of_one_turn", TokenBudget(13), "U1 A1 U2 A2", "U2 A2 | U1 A1"),
    ("token_budget_keeps_the_system_event", TokenBudget(1000), "S0 U1 A1", "S0 U1 A1 |"),
    ("token_budget_keeps_one_turn_and_the_summary", TokenBudget(5), "~Uo ~Ao U1 A1", "~Uo ~Ao U1 A1 |"),
    (
        "recursive_summary_replaces_the_previous_summary",
        RecursiveSummary(2, overlap=1),
        "~Uo ~Ao U1 A1 U2 A2 U3 A3",
        "Σ U3 A3 | ~Uo ~Ao U1 A1 U2 A2",
    ),
]


@pytest.mark.parametrize(
    ("strategy", "events", "outcome"),
    [pytest.param(*vector, id=name) for name, *vector in VECTORS],
)
def test_vector(strategy: Strategy, events: str, outcome: str) -> None:
    assert compacted(strategy, events) == outcome
