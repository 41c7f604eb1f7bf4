"""Where turns start, and which events tool calls tie together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.window_events import call, event, result, window
from threadkeep_server.domain.model import WindowEvent
from threadkeep_server.domain.turns import ToolTies, last_n_start, snap, snap_back

PLAIN = "U1 A1 U2 A2"
STEPS = "U1 A1 T1 A2 U2 A3"


@pytest.mark.parametrize(
    ("log", "index", "place"),
    [
        (PLAIN, 0, 0),
        (PLAIN, 2, 2),
        (PLAIN, 1, 2),
        (PLAIN, 3, 4),
        (PLAIN, 4, 4),
        ("", 0, 0),
        ("A1 T1 A2", 0, 3),
        (STEPS, 1, 4),
        (STEPS, 3, 4),
        ("U1 A1 U@sub A@sub U2 A2", 2, 4),
        ("U1 A1 U@sub A@sub U@sub A@sub", 4, 6),
        ("U1 A1 U@sub A@sub U@sub A@sub", 2, 6),
        ("U@a U@b A@a A@b U1", 0, 4),
        ("U@a A@a U@b", 0, 3),
        ("~U ~A U1 A1", 0, 2),
    ],
)
def test_snap_finds_the_first_turn_start_from_a_place_on(log: str, index: int, place: int) -> None:
    assert snap(window(log), index) == place


@pytest.mark.parametrize(
    ("log", "index", "place"),
    [(PLAIN, 4, 2), (PLAIN, 3, 2), (PLAIN, 2, 0), (PLAIN, 0, 0), (PLAIN, 9, 2), ("A1 A2 A3", 3, 0), ("A0 U1 U@sub ~U", 4, 1)],
)
def test_snap_back_finds_the_last_turn_start_before_a_place(log: str, index: int, place: int) -> None:
    assert snap_back(window(log), index) == place


def test_the_start_condition_of_turns_can_be_given() -> None:
    log = window("U1 A1 A2 U2")
    assert snap(log, 0, lambda event: event.event_id == "A2") == 2
    assert snap_back(log, 4, lambda event: event.event_id == "A2") == 2


@pytest.mark.parametrize(
    ("log", "n", "start"),
    [(PLAIN, 1, 2), (PLAIN, 2, 2), (PLAIN, 3, 0), (PLAIN, 9, 0), ("A1 A2 A3", 2, 1), ("A0 A1 U1 A2", 3, 1), ("", 1, 0)],
)
def test_the_newest_n_begin_with_their_turn_if_it_is_there(log: str, n: int, start: int) -> None:
    assert last_n_start(window(log), n) == start


def groups(ties: ToolTies, count: int) -> list[int]:
    return [ties.group(index) for index in range(count)]


def test_a_result_is_tied_to_its_call() -> None:
    ties = ToolTies(window("U1", call("A1", "x"), result("T1", "x"), "A2"))
    assert groups(ties, 4) == [0, 1, 1, 3]
    assert ties.orphans == set()


def test_a_result_without_a_call_before_it_is_an_orphan() -> None:
    ties = ToolTies(window(result("T1", "x"), call("A1", "x"), result("T2", "y")))
    assert ties.orphans == {0, 2}
    assert groups(ties, 3) == [0, 1, 2]


def test_an_id_used_again_names_the_latest_call() -> None:
    log = window(call("A1", "x"), result("T1", "x"), call("A2", "x"), result("T2", "x"))
    assert groups(ToolTies(log), 4) == [0, 0, 2, 2]


def test_a_result_is_tied_to_a_call_of_its_own_branch_first() -> None:
    ties = ToolTies(window(call("A@a", "x"), call("A@b", "x"), result("T@a", "x"), result("T@b", "x"), result("T", "x")))
    assert groups(ties, 5) == [0, 1, 0, 1, 1]
    assert ties.borrowers == {4}


def test_an_event_with_several_calls_stays_with_all_results() -> None:
    log = window(call("A1", "x", "y"), result("T1", "x"), "U1", result("T2", "y"))
    assert groups(ToolTies(log), 4) == [0, 0, 2, 0]


def test_a_result_event_joins_the_calls_that_it_answers() -> None:
    log = window(call("A1", "x"), call("A2", "y"), call("A3", "z"), result("T1", "z", "x"), result("T2", "y"))
    assert groups(ToolTies(log), 5) == [0, 1, 0, 0, 1]


def test_incomplete_groups_are_omitted() -> None:
    ties = ToolTies(
        window(call("A1", "x", "y"), result("T1", "x"), result("T2", "y"), "A2", call("A3", "x"), result("T3", "x"))
    )
    assert ties.whole({0, 1, 3, 4, 5}) == {3, 4, 5}
    assert ties.whole({0, 1, 2, 5}) == {0, 1, 2}


def test_a_cut_is_safe_if_it_splits_no_group() -> None:
    log = window("U1", call("A1", "x"), call("A2", "y"), result("T1", "x"), result("T2", "y"), "U2")
    assert ToolTies(log).safe_cuts() == [True, True, False, False, False, True, True]
    assert ToolTies([]).safe_cuts() == [True]


IDS = st.lists(st.sampled_from("xyz"), max_size=2, unique=True).map(tuple)
EVENTS = st.builds(event, st.sampled_from(["A", "A@a"]), calls=IDS, results=IDS)


@given(st.lists(EVENTS, max_size=12), st.sets(st.integers(0, 11)))
def test_safe_cuts_among_whole_groups_are_those_that_no_group_spans(log: list[WindowEvent], chosen: set[int]) -> None:
    ties = ToolTies(log)
    whole = sorted(ties.whole(index for index in chosen if index < len(log)))
    own = [ties.group(index) for index in whole]
    expected = [not set(own[:place]) & set(own[place:]) for place in range(len(whole) + 1)]
    assert ties.safe_cuts(whole) == expected
    assert ToolTies([log[index] for index in whole]).safe_cuts() == expected
