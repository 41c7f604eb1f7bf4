"""The sliding window strategy: keeps the newest events."""

from __future__ import annotations

import pytest

from threadkeep_server.compaction.strategies.sliding_window import SlidingWindow
from threadkeep_server.domain.errors import InvalidField

from .notation import compacted, unchanged, window


def test_at_or_under_the_limit_nothing_happens() -> None:
    assert unchanged(SlidingWindow(5), "U1 U2 U3")
    assert unchanged(SlidingWindow(3), "U1 U2 U3")
    assert unchanged(SlidingWindow(), " ".join(f"U{n}" for n in range(20)))
    assert not unchanged(SlidingWindow(), " ".join(f"U{n}" for n in range(21)))


@pytest.mark.parametrize(
    ("most", "events", "outcome"),
    [
        (3, "U1 U2 U3 U4 U5", "U3 U4 U5 | U1 U2"),
        (3, "~Uo ~Ao U1 U2 U3 U4", "~Uo ~Ao U2 U3 U4 | U1"),
        (2, "U1 U2 U3 U4 U5 U6 U7", "U6 U7 | U1 U2 U3 U4 U5"),
        (3, "U1 A1 U2 A2 U3 A3", "U3 A3 | U1 A1 U2 A2"),
        (3, "U1 A1 U2 A2 ~Uo U3 A3", "~Uo U3 A3 | U1 A1 U2 A2"),
        (2, "U1 U1@a A1@a A1 U2 A2", "U2 A2 | U1 U1@a A1@a A1"),
        (4, "U1 A1 U2@a A2@a U3 A3", "U1 A1 U2@a A2@a U3 A3 |"),
        (2, "U1 A1 U2 A2 A3 A4", "U2 A2 A3 A4 | U1 A1"),
        (2, "U1 A1 A2 A3", "U1 A1 A2 A3 |"),
    ],
)
def test_the_newest_turns_within_the_limit_stay(most: int, events: str, outcome: str) -> None:
    assert compacted(SlidingWindow(most), events) == outcome


def test_archived_tool_events_save_their_tokens() -> None:
    before = window("U1=5 A1(c)=20 T1(c)=100 U2=5 A2=5")
    plan = SlidingWindow(2).plan(before, len)
    assert (plan.tokens_before, plan.tokens_after) == (135, 10)


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidField, match="must be at least 1") as caught:
        SlidingWindow(0)
    assert caught.value.metadata["field"] == "strategy.sliding_window.max_events"


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ("U1@a A1@a U0 A0 U2@a A2@a", "U0 A0 U2@a A2@a | U1@a A1@a"),
        ("S1@a S1 S2 S2@a U1@a U2@a", "S1 S2 S2@a U1@a U2@a | S1@a"),
        ("A1@a U0 A2@a A3@a", "U0 A2@a A3@a | A1@a"),
        # The root called the agent of the branch, which worked until the answer; that is no reason not to cut the branch.
        ("A0(c) U1@a A1@a U2@a A2@a T0(c)", "A0 U2@a A2@a T0 | U1@a A1@a"),
        # A branch that answers the root's call itself keeps that answer.
        ("A0(c) U1@a T1(c)@a U2@a A2@a", "A0 T1@a U2@a A2@a | U1@a"),
    ],
)
def test_a_compaction_of_a_branch_changes_only_its_events(events: str, outcome: str) -> None:
    assert compacted(SlidingWindow(2), events, "a") == outcome


def test_superseded_system_events_are_archived_even_without_other_events() -> None:
    assert compacted(SlidingWindow(9), "S1 S1@a U1 S2 S2@a A1") == "U1 S2 S2@a A1 | S1 S1@a"


def test_events_without_their_counterpart_are_archived_like_any_other() -> None:
    assert compacted(SlidingWindow(2), "U1 T1(lost) A1(pending) U2 A2") == "U2 A2 | U1 T1 A1"
