"""The golden vectors W-01 to W-25 as the latest generation has them; W-08, on branches, as the one that had branches did."""

from __future__ import annotations

import pytest

from threadkeep_server.compaction.plan import Strategy
from threadkeep_server.compaction.strategies.recursive_summary import RecursiveSummary
from threadkeep_server.compaction.strategies.sliding_window import SlidingWindow
from threadkeep_server.compaction.strategies.token_budget import TokenBudget
from threadkeep_server.compaction.strategies.turn_window import TurnWindow

from .notation import compacted

VECTORS: list[tuple[str, Strategy, str, str]] = [
    ("W-01", SlidingWindow(3), "U1 A1 U2 A2 U3 A3", "U3 A3 | U1 A1 U2 A2"),
    ("W-03", SlidingWindow(2), "U1 A1 U2 A2 A3 A4", "U2 A2 A3 A4 | U1 A1"),
    ("W-04", SlidingWindow(2), "U1 A1 A2 A3", "U1 A1 A2 A3 |"),
    ("W-05", SlidingWindow(3), "S0 U1 A1 U2 A2", "S0 U2 A2 | U1 A1"),
    ("W-07", SlidingWindow(20), "S:v1 U1 A1 S:v2 U2 A2", "U1 A1 S:v2 U2 A2 | S:v1"),
    ("W-08", SlidingWindow(4), "U1 A1 U2@sub A2@sub U3 A3", "U1 A1 U2@sub A2@sub U3 A3 |"),
    ("W-10", SlidingWindow(3), "~Uo ~Ao U1 U2 U3 U4", "~Uo ~Ao U2 U3 U4 | U1"),
    ("W-12", SlidingWindow(1), "A0 A1 A2", "A0 A1 A2 |"),
    ("W-13", TurnWindow(2), "U1 A1 U2 A2 U3 A3 U4 A4", "U3 A3 U4 A4 | U1 A1 U2 A2"),
    ("W-14", TurnWindow(1), "A0 U1 A1 U2 A2", "A0 U2 A2 | U1 A1"),
    ("W-16", TurnWindow(1), "U1 A1 S1 U2 A2", "S1 U2 A2 | U1 A1"),
    ("W-18", TokenBudget(42), "U1 A1 U2 A2", "U1 A1 U2 A2 |"),
    ("W-19", TokenBudget(41), "U1 A1 U2 A2", "U2 A2 | U1 A1"),
    ("W-20", TokenBudget(13), "U1 A1 U2 A2", "U2 A2 | U1 A1"),
    ("W-22", TokenBudget(1000), "S0 U1 A1", "S0 U1 A1 |"),
    ("W-23", TokenBudget(5), "~Uo ~Ao U1 A1", "~Uo ~Ao U1 A1 |"),
    (
        "W-25",
        RecursiveSummary(2, overlap=1),
        "~Uo ~Ao U1 A1 U2 A2 U3 A3",
        "Σ U3 A3 | ~Uo ~Ao U1 A1 U2 A2",
    ),
]


@pytest.mark.parametrize(
    ("strategy", "events", "outcome"),
    [pytest.param(*vector, id=row) for row, *vector in VECTORS],
)
def test_vector(strategy: Strategy, events: str, outcome: str) -> None:
    assert compacted(strategy, events) == outcome
