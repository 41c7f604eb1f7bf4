"""Leaving out old tool results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from threadkeep_server.compaction.plan import Window, applied
from threadkeep_server.compaction.strategies import trim_tool_results
from threadkeep_server.compaction.strategies.trim_tool_results import TrimToolResults
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.model import Role

from .laws import check_laws
from .notation import compacted, unchanged, window

LONG = "=500"


@pytest.mark.parametrize(
    ("keep", "events", "outcome"),
    [
        (1, f"U1 A1(c) T1(c){LONG} A2 U2 A3", "U1 A1 <T1> A2 U2 A3 | T1"),
        (2, f"U1 A1(c) T1(c){LONG} U2", "U1 A1 T1 U2 |"),
        (1, f"U1 A1(c) T1(c){LONG} A2", "U1 A1 T1 A2 |"),
        (1, f"A1(c) T1(c){LONG} A2", "A1 T1 A2 |"),
        (0, f"A1(c) T1(c){LONG}", "A1 <T1> | T1"),
        (1, f"A0(c) T0(c){LONG} U1", "A0 <T0> U1 | T0"),
        (1, f"U1 A1(a,b) T1(a){LONG} T2(b){LONG} U2", "U1 A1 <T1> <T2> U2 | T1 T2"),
        (1, f"U1 A1(a,b) T1(a){LONG} S1 T2(b){LONG} S2 U2", "U1 A1 <T1> <T2> S2 U2 | T1 S1 T2"),
        (1, f"U1 A1(c)@a T1(c)@a{LONG} U2@a A2 U2", "U1 A1@a <T1@a> U2@a A2 U2 | T1@a"),
        (1, f"U1 A1(c) ~T1(c){LONG} U2", "U1 A1 ~T1 U2 |"),  # already a stub, of any length
        (1, f"U1 A1(c) T1{LONG} A2{LONG} U2", "U1 A1 T1 A2 U2 |"),  # not a result
        (1, f"U1 T1(lost){LONG} U2", "U1 <T1> U2 | T1"),
    ],
)
def test_old_results_leave_stubs_in_their_places(keep: int, events: str, outcome: str) -> None:
    assert compacted(TrimToolResults(keep), events) == outcome


def test_an_event_with_both_a_call_and_a_result_is_unchanged() -> None:
    before = window(f"U1 T1(c){LONG} U2")
    first, both, last = before.events
    torn = Window((first, replace(both, calls=("c",)), last))
    assert TrimToolResults(1).plan(torn, len).empty
    check_laws(TrimToolResults(1), torn)


def test_results_of_a_branch() -> None:
    events = f"A0(c) T0(c){LONG} U1@a A1(c)@a T1(c)@a{LONG} U2@a A2(d)@a T2(d)@a{LONG}"
    assert compacted(TrimToolResults(1), events, "a") == "A0 T0 U1@a A1@a <T1@a> U2@a A2@a T2@a | T1@a"


def test_only_large_results_are_trimmed() -> None:
    assert unchanged(TrimToolResults(1, min_tokens=501), f"U1 A1(c) T1(c){LONG} U2")
    assert not unchanged(TrimToolResults(1, min_tokens=500), f"U1 A1(c) T1(c){LONG} U2")
    stub = applied(window("T1(c)=99"), TrimToolResults(0, 1).plan(window("T1(c)=99"), len), len).events[0].tokens
    assert unchanged(TrimToolResults(0, 1), f"T1(c)={stub}")
    assert not unchanged(TrimToolResults(0, 1), f"T1(c)={stub + 1}")


def test_a_stub_names_the_original_and_answers_its_calls() -> None:
    before = window("U1 A1(a,b)@x T1(a,b)@x=500 U2")
    plan = TrimToolResults().plan(before, len)
    [(before_id, [new])] = plan.inserts.items()
    assert before_id == "U2"
    assert (new.role, new.branch, new.stands_for, new.source) == (Role.TOOL, "x", "T1@x", "tool-result-trimming")
    assert "T1@x" in new.text
    assert "500 tokens" in new.text
    stub = applied(before, plan, len).events[2]
    assert (stub.role, stub.synthetic, stub.branch, stub.results) == (Role.TOOL, True, "x", ("a", "b"))
    assert plan.tokens_before - plan.tokens_after == 500 - stub.tokens


def test_the_oldest_results_are_trimmed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trim_tool_results, "RESULTS_AT_ONCE", 2)
    events = f"A1(a) T1(a){LONG} A2(b) T2(b){LONG} A3(c) T3(c){LONG}"
    assert compacted(TrimToolResults(0), events) == "A1 <T1> A2 <T2> A3 T3 | T1 T2"


def test_a_stub_at_the_end_precedes_no_event() -> None:
    assert list(TrimToolResults(0).plan(window("A1(c) T1(c)=500"), len).inserts) == [None]


@pytest.mark.parametrize(("keep", "least", "field"), [(-1, 1, "keep_turns"), (0, 0, "min_tokens")])
def test_options_are_checked(keep: int, least: int, field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        TrimToolResults(keep, least)
    assert caught.value.metadata["field"] == f"strategy.trim_tool_results.{field}"
