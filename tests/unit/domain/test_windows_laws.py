"""What holds of every context, and of contexts decided on the newest part of the log alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.runs.thoroughness import examples
from tests.unit.domain.window_events import call, event, result, window
from threadkeep_server.compaction.cuts import split
from threadkeep_server.compaction.plan import Window
from threadkeep_server.compaction.validation import through
from threadkeep_server.domain.branches import visible_from
from threadkeep_server.domain.context import Context, ContextMode, ContextSpec, is_lead, select_context
from threadkeep_server.domain.filters import Authors, AuthorStep
from threadkeep_server.domain.model import WindowEvent
from threadkeep_server.domain.turns import ToolTies

SIZES = st.integers(0, 4)
AUTHORS = st.sampled_from(["", "a", "b"])
BRANCHES = st.sampled_from(["", "", "", "x", "x.y"])
IDS = st.sampled_from([(), (), (), ("1",), ("2",), ("1", "2")])


@st.composite
def events(draw: st.DrawFn, tools: bool = True) -> WindowEvent:
    """Any event of a conversation; user events with results and calls that cross branches and turns among them."""
    name = draw(st.sampled_from(["U", "U", "A", "A", "T", "~T"] if tools else ["U", "A", "A"]))
    size = draw(SIZES)
    return event(
        name,
        branch=draw(BRANCHES),
        author=draw(AUTHORS),
        calls=draw(IDS) if tools and name == "A" else (),
        results=draw(IDS) if tools and name != "A" else (),
        content_bytes=size,
        tokens=draw(SIZES),
        size=size,
    )


def logs(tools: bool = True) -> st.SearchStrategy[list[WindowEvent]]:
    return st.lists(events(tools), max_size=14).map(lambda made: window(*made))


LEADS = st.lists(st.sampled_from(["S", "S@x", "~A", "~U@x"]), max_size=3).map(lambda made: window(*made))
STEPS = st.builds(AuthorStep, st.booleans(), st.builds(Authors, st.frozensets(AUTHORS, max_size=2)))
COUNTS = st.none() | st.integers(1, 8)
SPECS = st.builds(
    ContextSpec,
    authors=st.lists(STEPS, max_size=1).map(tuple),
    last_n=COUNTS,
    max_turns=st.none() | st.integers(1, 3),
    max_bytes=st.none() | st.integers(1, 20),
    max_tokens=st.none() | st.integers(1, 20),
    branch=st.sampled_from(["", "", "x", "x.y"]),
)
thoroughly = settings(max_examples=examples(300))


UNLIMITED: dict[str, Any] = {"last_n": None, "max_turns": None, "max_bytes": None, "max_tokens": None}


def answer(lead: Sequence[WindowEvent], log: Sequence[WindowEvent], spec: ContextSpec) -> Context[WindowEvent]:
    found = select_context(lead, log, spec)
    assert found is not None
    return found


def conversation(log: Sequence[WindowEvent], spec: ContextSpec) -> list[WindowEvent]:
    return [each for each in answer([], log, spec).events if not is_lead(each)]


@thoroughly
@given(logs(), SPECS)
def test_no_result_is_returned_without_its_call(log: list[WindowEvent], spec: ContextSpec) -> None:
    assert ToolTies(conversation(log, spec)).orphans == set()


@thoroughly
@given(logs(), SPECS)
def test_a_tied_group_is_returned_whole_or_not_at_all(log: list[WindowEvent], spec: ContextSpec) -> None:
    chosen = {each.seq - 1 for each in conversation(log, spec)}
    assert ToolTies(log).whole(chosen) == chosen


@thoroughly
@given(logs(), SPECS)
def test_without_limits_a_context_has_all_visible_events_except_torn_groups(log: list[WindowEvent], spec: ContextSpec) -> None:
    ties = ToolTies(log)
    bad = {
        ties.group(index)
        for index, each in enumerate(log)
        if index in ties.orphans
        or (spec.branch and each.branch not in visible_from(spec.branch))
        or any((each.author in step.authors.ids) is not step.include for step in spec.authors)
    }
    expected = [each for index, each in enumerate(log) if ties.group(index) not in bad]
    assert conversation(log, replace(spec, **UNLIMITED)) == expected


@thoroughly
@given(LEADS, logs(), SPECS)
def test_limits_keep_the_newest_and_report_it(lead: list[WindowEvent], log: list[WindowEvent], spec: ContextSpec) -> None:
    unlimited, found = answer(lead, log, replace(spec, **UNLIMITED)), answer(lead, log, spec)
    leading = sum(map(is_lead, found.events))
    left = len(unlimited.events) - len(found.events)
    assert found.events == unlimited.events[:leading] + unlimited.events[leading + left :]
    assert found.truncated is (left > 0)
    newest = found.events[leading:]
    assert (found.first_seq, found.last_seq) == ((newest[0].seq, newest[-1].seq) if newest else (0, 0))
    assert newest or len(unlimited.events) == leading


@thoroughly
@given(LEADS, logs(), SPECS)
def test_a_budget_is_kept_or_the_smallest_context_is_returned(
    lead: list[WindowEvent], log: list[WindowEvent], spec: ContextSpec
) -> None:
    found = answer(lead, log, spec)
    amounts = (sum(each.content_bytes for each in found.events), sum(each.tokens for each in found.events))
    kept = all(
        limit is None or amount <= limit for amount, limit in zip(amounts, (spec.max_bytes, spec.max_tokens), strict=True)
    )
    assert found.over_budget is not kept
    if found.over_budget:
        newest = [each for each in found.events if not is_lead(each)]
        safe = ToolTies(newest).safe_cuts()
        starts_whole = bool(newest) and newest[0].turn_start
        later = [place for place in range(1, len(newest)) if safe[place] and (newest[place].turn_start or not starts_whole)]
        assert later == []


@thoroughly
@given(LEADS, logs(), SPECS)
def test_a_context_from_the_newest_part_equals_that_of_the_whole(
    lead: list[WindowEvent], log: list[WindowEvent], spec: ContextSpec
) -> None:
    expected = answer(lead, log, spec)
    for start in range(len(log) + 1):
        assert select_context(lead, log[start:], spec, complete=False) in (None, expected)


OLDER = [[], *([event(name, author=author, content_bytes=0, tokens=0)] for name in "UA" for author in ("", "a", "b"))]


@thoroughly
@given(LEADS, logs(tools=False) | logs(), SPECS)
def test_more_events_are_read_only_if_they_can_change_the_context(
    lead: list[WindowEvent], log: list[WindowEvent], spec: ContextSpec
) -> None:
    ties = ToolTies(log)
    hidden = all(step.include and not step.authors.ids for step in spec.authors) and spec.authors
    assume(not (ties.orphans or ties.borrowers or hidden))
    if select_context(lead, log, spec, complete=False) is None:
        answers = [answer(lead, [*older, *log], spec) for older in OLDER]
        assert any(each != answers[0] for each in answers)


LIMITS = [
    ContextSpec(last_n=2),
    ContextSpec(last_n=3),
    ContextSpec(max_turns=1),
    ContextSpec(max_turns=2),
    ContextSpec(max_bytes=1),
    ContextSpec(max_bytes=3),
    ContextSpec(last_n=3, max_bytes=2),
    ContextSpec(last_n=2, max_bytes=3),
    ContextSpec(last_n=3, max_turns=2),
    ContextSpec(max_turns=2, max_bytes=3),
]
KINDS = (event("U"), event("A"), call("A", "x"), result("T", "x"))


@pytest.mark.parametrize("spec", LIMITS)
def test_contexts_of_short_logs_are_equal_for_a_part_and_the_whole(spec: ContextSpec) -> None:
    for log in (window(*kinds) for kinds in product(KINDS, repeat=5)):
        expected = answer([], log, spec)
        for start in range(1, 5):
            assert select_context([], log[start:], spec, complete=False) in (None, expected), (log, start)


# Not every pair of limits: if one is undecided and the other gives the same result, more may be requested than needed.
@pytest.mark.parametrize("spec", [spec for spec in LIMITS if spec.last_n is None or spec.max_turns is None])
def test_contexts_of_short_logs_need_no_more_events_than_necessary(spec: ContextSpec) -> None:
    for log in (window(*kinds) for kinds in product(KINDS, repeat=4)):
        if not ToolTies(log).orphans and select_context([], log, spec, complete=False) is None:
            answers = [answer([], [*older, *log], spec) for older in OLDER]
            assert any(each != answers[0] for each in answers), log


def long_log(turns: int) -> list[WindowEvent]:
    """Turns of five events: a question, a call, its result (with the ids of the turn before), a note of an agent, the reply."""
    turn = ("U", call("A", "0"), result("T", "0"), "A@agent", "A")
    return window(*(turn * turns))


def test_fifty_events_are_decided_on_little_more_than_fifty() -> None:
    log = long_log(1000)
    for spec in (ContextSpec(last_n=50), ContextSpec(last_n=48), ContextSpec(max_turns=10), ContextSpec(max_bytes=52)):
        found = select_context([], log[-56:], spec, complete=False)
        assert found == select_context([], log, spec)
        assert found is not None
        assert len(found.events) == 50
        assert select_context([], log[-50:], spec, complete=False) is None


def test_an_open_tie_at_the_start_of_the_omitted_part_has_no_effect() -> None:
    log = long_log(4)
    spec = ContextSpec(max_turns=2)
    assert log[-18].results
    assert select_context([], log[-18:], spec, complete=False) == select_context([], log, spec)


def test_an_open_tie_in_the_result_is_resolved() -> None:
    log = window(call("A", "x"), "A U", result("T", "x"), "A U A")
    assert select_context([], log[2:], ContextSpec(last_n=5), complete=False) is None
    assert select_context([], log[2:], ContextSpec(last_n=2), complete=False) == select_context([], log, ContextSpec(last_n=2))


def test_a_result_tied_to_another_branch_is_resolved_to_an_older_call_of_its_own() -> None:
    log = window("U", call("A@x", "1"), "A U", call("A@y", "1"), result("T@x", "1"), "A")
    assert select_context([], log[2:], ContextSpec(max_turns=1), complete=False) is None
    assert [each.seq for each in conversation(log, ContextSpec(max_turns=1))] == [1, 2, 3, 4, 5, 6, 7]


def test_a_hidden_open_tie_is_not_resolved() -> None:
    log = window("U", call("A@x", "1"), "A U A U", result("T@x", "1"), "A")
    spec = ContextSpec(max_turns=1, branch="y")
    assert select_context([], log[2:], spec, complete=False) == select_context([], log, spec)
    assert select_context([], log[2:], ContextSpec(max_turns=1), complete=False) is None


def test_a_write_only_context_is_decided_at_once() -> None:
    assert select_context([], [], ContextSpec(mode=ContextMode.NONE), complete=False) == Context()
    assert select_context([], [], ContextSpec(), complete=False) is None


@given(LEADS, logs(), SPECS, st.integers(0, 3))
@thoroughly
def test_compacting_a_context_archives_only_its_events(
    lead: list[WindowEvent], log: list[WindowEvent], spec: ContextSpec, moved: int
) -> None:
    """Seqs are not in window order where compactions inserted: the first of the log get the highest."""
    seqs = [*range(1, len(lead) + len(log) + 1)]
    seqs = [*seqs[len(seqs) - moved :], *seqs[: len(seqs) - moved]]
    whole = [replace(each, seq=seq, event_id=str(seq)) for each, seq in zip([*lead, *log], seqs, strict=True)]
    seen = answer(whole[: len(lead)], whole[len(lead) :], spec)
    last = seen.compactable_through(len(seqs))
    archived = set(through(Window(tuple(whole)), last, seen.first_seq)[0]) if last else set()
    parts = split(Window(tuple(whole)))
    superseded = {each.event_id for each in parts.events(parts.superseded)}
    assert archived <= {each.event_id for each in seen.events} | superseded
