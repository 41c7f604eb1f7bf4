"""The places at which a conversation is cut, also those that tool calls move."""

from __future__ import annotations

import pytest

from threadkeep_server.compaction.cuts import beyond, cut, split
from threadkeep_server.domain.turns import snap

from .notation import window


@pytest.mark.parametrize(
    ("events", "raw", "place"),
    [
        ("U1 A1 U2 A2", 0, 0),
        ("U1 A1 U2 A2", 2, 2),
        ("U1 A1 U2 A2", 1, 2),
        ("U1 A1 U2 A2", 3, 4),
        ("U1 A1", 2, 2),
        ("", 0, 0),
        ("A1 A2", 0, 2),
        ("U1 A1 T1 A2 U2", 1, 4),
        ("U1 A1 U2@a A2@a U3", 2, 4),
        ("U1 A1 U2@a A2@a A3@a A4@a U3", 4, 6),
        ("U1 A1 U2@a A2@a A3@a A4@a U3", 2, 6),
        ("U1@a A1@a U2@b A2@b U3", 0, 4),
        ("U1@a A1@a U2@a", 0, 3),
    ],
)
def test_snapping_finds_the_next_turn_start_of_the_session(events: str, raw: int, place: int) -> None:
    assert snap(window(events).events, raw) == place


@pytest.mark.parametrize(
    ("events", "raw", "place"),
    [
        ("A0 U1 A1 U2 A2", 0, 0),  # nothing to cut is no reason to drop what precedes the first turn
        ("U1 A1 U2 A2 U3", 1, 2),
        ("U1 A1 U2 A2", 3, 2),
        ("A0 A1 A2", 1, 0),
        ("U1 A1(c) U2 T1(c) U3", 2, 0),  # never forward: that would leave less than was wanted
        ("U1 A1 U2 A2(c) U3 T2(c) U4", 3, 2),
        ("U1 A1 U2 A2(c) U3 T2(c) U4", 4, 2),
        ("U1 A1(c) U2 T1(c)", 1, 0),
        ("U1 A1(c) T1(c) U2 A2(c) U3 T2(c)", 2, 3),  # ids are used again
        ("~Ao(c) U1 T1(c) U2 A2", 1, 2),  # a call that stays in any case does not move the cut
    ],
)
def test_a_cut_separates_no_call_from_its_result(events: str, raw: int, place: int) -> None:
    assert cut(split(window(events)), raw) == place


@pytest.mark.parametrize(
    ("events", "branch", "most", "raw"),
    [
        ("U1 A1 U2 A2", "", 4, 0),
        ("U1 A1 U2 A2", "", 3, 1),
        ("U1 U2@a A2@a A1", "", 2, 0),
        ("U1 U2@a A2@a A1", "", 1, 3),
        ("U1 U2@a A2@a A1", "a", 1, 1),
    ],
)
def test_only_the_scope_itself_counts_towards_a_number_of_events(events: str, branch: str, most: int, raw: int) -> None:
    assert beyond(split(window(events, branch)), most) == raw


def test_events_are_visible_according_to_their_branch() -> None:
    parts = split(window("S1 ~Uo S2@a U1 S2 ~T1 ~Sx S3@a A1@a"))
    assert (parts.pinned, parts.superseded, parts.summaries, parts.conversation) == ((4, 7), (0, 2), (1, 6), (3, 5, 8))
    parts = split(window("S1 ~Uo S2@a U1 S2 ~T1 ~Sx@a S3@a A1@a", "a"))
    assert (parts.pinned, parts.superseded, parts.summaries, parts.conversation) == ((7,), (2,), (6,), (8,))


def test_turns_of_a_branch_start_with_its_user_or_with_each_step_of_its_agent() -> None:
    assert split(window("U1 U2@a A2@a A3@a ~Ux@a U4@a", "a")).starts == [0, 3]
    assert split(window("U1 A2@a T2@a A3@a ~Ux@a", "a")).starts == [0, 2]
    assert split(window("U1 U2@a A2@a U3")).starts == [0, 3]
