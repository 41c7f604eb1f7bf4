"""What a caller's own compaction archives, and which pairs it would tear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.unit.compaction.notation import window
from threadkeep_server.compaction.plan import Window
from threadkeep_server.compaction.validation import resulting, through, torn_pair


@pytest.mark.parametrize(
    ("text", "seq", "archived", "before"),
    [
        ("U1 A1 U2 A2", 2, "U1 A1", "U2"),
        ("U1 A1 U2 A2", 4, "U1 A1 U2 A2", None),
        ("U1 A1", 99, "U1 A1", None),
        ("~Uo ~Ao U1 A1 U2", 4, "~Uo ~Ao U1 A1", "U2"),
        # A SYSTEM event that is still the latest stays, and the summary goes behind it.
        ("S1 U1 A1 U2", 3, "U1 A1", "U2"),
        ("S1 S2 U1 A1", 4, "S1 U1 A1", None),
        ("U1 S1 A1 U2 S2", 3, "U1 S1 A1", "U2"),
        # What is answered after the seq stays, with its answer, and nothing comes between the two.
        ("U1 A1(c) U2 A2 T1(c)", 4, "U1 U2 A2", "A1"),
        ("U1 A1(c,d) T1(c) T2(d) U2", 3, "U1", "A1"),
        ("U1 A1(c) T1(c) U2", 3, "U1 A1 T1", "U2"),
        # A call without a result: it was read and is archived.
        ("U1 A1(c) U2", 2, "U1 A1", "U2"),
        ("U1 A1", 0, "", "U1"),
    ],
)
def test_through(text: str, seq: int, archived: str, before: str | None) -> None:
    archive, place = through(window(text), seq)
    assert (" ".join(archive), place) == (archived, before)


@pytest.mark.parametrize(
    ("text", "seq", "archived", "before"),
    [
        ("U1 U2@sub A2@sub U3@sub A1", 3, "U2@sub A2@sub", "U3@sub"),
        ("U1 U2@sub A2@sub A1", 3, "U2@sub A2@sub", "A1"),
        ("U1 A1 U2@sub", 3, "U2@sub", None),
        ("S1 S2@sub U2@sub A1", 4, "U2@sub", None),
    ],
)
def test_through_in_a_branch(text: str, seq: int, archived: str, before: str | None) -> None:
    archive, place = through(window(text, "sub"), seq)
    assert (" ".join(archive), place) == (archived, before)


@pytest.mark.parametrize(
    ("text", "from_seq", "seq", "archived", "before"),
    [
        ("U1 A1 U2 A2 U3", 3, 4, "U2 A2", "U3"),
        ("U1 A1 U2 A2", 3, 4, "U2 A2", None),
        # Summaries are part of every context, however much else it leaves out.
        ("~Uo ~Ao U1 A1 U2 A2 U3", 5, 6, "~Uo ~Ao U2 A2", "U3"),
        # What is answered by an event of the range stays with its call.
        ("U1 A1(c) T1(c) A2 U2", 3, 4, "A2", "T1"),
        ("U1 A1", 9, 9, "", None),
    ],
)
def test_through_with_from_seq_keeps_the_events_before(
    text: str, from_seq: int, seq: int, archived: str, before: str | None
) -> None:
    archive, place = through(window(text), seq, from_seq)
    assert (" ".join(archive), place) == (archived, before)


def test_from_seq_counts_in_window_order() -> None:
    """A stub that a compaction put in an older event's place has a higher seq, and stays with what is around it."""
    events = zip(window("U1 T1 U2 A2 U3").events, [1, 9, 3, 4, 5], strict=True)
    moved = Window(tuple(replace(event, seq=seq) for event, seq in events))
    assert through(moved, 9, 3) == (["U2", "A2", "U3"], None)


def test_the_tail_is_kept_by_seq_not_by_place() -> None:
    """A summary is first in the window and has the highest seq: a caller that read up to seq 4 did not read it."""
    events = zip(window("~Uo ~Ao U1 A1 U2").events, [6, 7, 3, 4, 5], strict=True)
    moved = Window(tuple(replace(event, seq=seq) for event, seq in events))
    assert through(moved, 4) == (["U1", "A1"], "U2")


def _torn(text: str, archive: str, inserts: Mapping[str | None, str] | None = None) -> tuple[str, str] | None:
    events = window(text).events
    new = {before: list(window(made).events) for before, made in (inserts or {}).items()}
    return torn_pair(events, resulting(events, archive.split(), new))


@pytest.mark.parametrize(
    ("text", "archive", "torn"),
    [
        ("U1 A1(c) T1(c) U2", "U1", None),
        ("U1 A1(c) T1(c) U2", "A1 T1", None),
        ("U1 A1(c) T1(c) U2", "A1", ("T1", "A1")),
        ("U1 A1(c) T1(c) U2", "T1", ("A1", "T1")),
        ("U1 A1(c,d) T1(c) T2(d)", "A1 T1", ("T2", "A1")),
        ("U1 A1(c,d) T1(c) T2(d)", "T2", ("A1", "T2")),
        # An id that is used again: the pair that goes is not the pair that stays.
        ("A1(c) T1(c) A2(c) T2(c)", "A1 T1", None),
        ("A1(c) T1(c) A2(c) T2(c)", "T1 A2", ("A1", "T1")),
        # Already torn, or never answered: nothing to tear.
        ("T1(c) U1", "U1", None),
        ("U1 A1(c)", "A1", None),
        ("A1(c) T1(c) T2(c)", "T2", None),
    ],
)
def test_torn_pairs_are_found(text: str, archive: str, torn: tuple[str, str] | None) -> None:
    assert _torn(text, archive) == torn


@pytest.mark.parametrize(
    ("archive", "inserts", "torn"),
    [
        ("T1", {"A2": "~T:stub(c)"}, None),
        ("T1", {"U2": "~T:stub(c)"}, None),
        ("A1", {"T1": "~A:call(c)"}, None),
        ("T1", {"A2": "~T:stub(x)"}, ("A1", "T1")),
        ("T1", {"U1": "~T:stub(c)"}, ("A1", "T1")),
        ("", {None: "~T:lone(x)"}, ("~T:lone", "")),
        ("A1 T1", {None: "~T:lone(c)"}, ("~T:lone", "")),
        ("", {"T1": "~A:rival(c)"}, ("A1", "T1")),
        ("U1", {None: "~A:call(x) ~T:answer(x)"}, None),
    ],
)
def test_torn_pairs_with_inserted_events(archive: str, inserts: Mapping[str | None, str], torn: tuple[str, str] | None) -> None:
    assert _torn("U1 A1(c) T1(c) A2 U2", archive, inserts) == torn


def test_the_window_afterwards() -> None:
    events = window("U1 A1 U2").events
    made = {"U1": [*window("~Ua").events], "U2": [*window("~Ub").events], None: [*window("~Uc").events]}
    after = resulting(events, {"A1"}, made)
    assert [event.event_id for event in after] == ["~Ua", "U1", "~Ub", "U2", "~Uc"]
