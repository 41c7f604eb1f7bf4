"""The recursive summary strategy: a summary replaces the older events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from threadkeep_server.compaction.plan import NewEvent, Plan, SummaryRejected, SummaryRequest, applied, complete
from threadkeep_server.compaction.strategies.recursive_summary import SHADOW_PROMPT, RecursiveSummary
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.model import Role

from .notation import compacted, shown, window

SOURCE = "recursive-summarization"


def pair(plan: Plan) -> Sequence[NewEvent]:
    [events] = plan.inserts.values()
    return events


def request(strategy: RecursiveSummary, events: str, branch: str = "") -> SummaryRequest:
    made = strategy.plan(window(events, branch), len).summary
    assert made is not None
    return made


@pytest.mark.parametrize("events", ["U1 A1", "U1 A1 U2", "~Uo ~Ao U1 A1 U2", "U1 A1 A2 A3 A4", "A1 A2 A3 A4"])
def test_a_window_that_fits_or_cannot_be_cut_is_not_summarized(events: str) -> None:
    plan = RecursiveSummary(3).plan(window(events), len)
    assert plan.empty
    assert plan.summary is None


@pytest.mark.parametrize(
    ("strategy", "events", "outcome"),
    [
        (RecursiveSummary(3, overlap=0), "U1 U2 U3 U4 U5 U6", "Σ U4 U5 U6 | U1 U2 U3"),
        (RecursiveSummary(2, 1), "U1 U2 U3 U4 U5", "Σ U4 U5 | U1 U2 U3"),
        (RecursiveSummary(1, 0), "~Uo ~Ao U1 U2", "Σ U2 | ~Uo ~Ao U1"),
        (RecursiveSummary(3), "U1 A1 U2 A2a A2b U3 A3", "Σ U3 A3 | U1 A1 U2 A2a A2b"),
        # The log's order stays: what is kept keeps its place, and the summary goes before the conversation.
        (RecursiveSummary(1, 0), "S1 U1 S2 U2 ~Ao A2@a", "S2 Σ U2 A2@a | S1 U1 ~Ao"),
    ],
)
def test_the_summary_replaces_the_events_and_the_earlier_summaries(
    strategy: RecursiveSummary, events: str, outcome: str
) -> None:
    assert compacted(strategy, events) == outcome


@pytest.mark.parametrize(
    ("most", "outcome"),
    [
        (1, "Σ U2 A2 U3 A3 U4 | ~Uo ~Ao U1 A1"),  # one turn at least
        (50, "Σ U2 A2 U3 A3 U4 | ~Uo ~Ao U1 A1"),
        (70, "Σ U3 A3 U4 | ~Uo ~Ao U1 A1 U2 A2"),
        (10_000, "Σ U4 | ~Uo ~Ao U1 A1 U2 A2 U3 A3"),
    ],
)
def test_a_window_too_large_for_one_prompt_is_summarized_from_its_oldest_turns(most: int, outcome: str) -> None:
    assert compacted(RecursiveSummary(1, 0, max_prompt_tokens=most), "~Uo ~Ao U1 A1 U2 A2 U3 A3 U4") == outcome


def test_a_long_summary_before_a_window_that_fits_is_kept() -> None:
    assert RecursiveSummary(3, 0, max_prompt_tokens=1).plan(window("~Uo ~Ao U1 A1 U2"), len).empty


def test_a_summary_is_a_turn_of_two_events() -> None:
    before = window("U1 U2")
    plan = RecursiveSummary(1, 0, shadow_prompt="What was that?").plan(before, len)
    assert pair(plan) == [NewEvent(Role.USER, "What was that?", SOURCE), NewEvent(Role.ASSISTANT, "", SOURCE)]
    done = complete(plan, "They met.", before, len)
    assert done.inserts == {
        "U2": [NewEvent(Role.USER, "What was that?", SOURCE), NewEvent(Role.ASSISTANT, "They met.", SOURCE)],
    }
    assert [event.summary for event in applied(before, done, len).events] == [True, True, False]
    assert SHADOW_PROMPT == "Summarize the conversation we had so far."


@pytest.mark.parametrize(
    ("answer", "problem"), [("", "nothing"), (" \n", "nothing"), ("x" * 2049, "2049 tokens, the limit is 1024")]
)
def test_an_answer_that_is_no_summary_is_rejected(answer: str, problem: str) -> None:
    before = window("S1 S2 U1 U2")
    strategy = RecursiveSummary(1, 0)
    with pytest.raises(SummaryRejected, match=problem):
        complete(strategy.plan(before, len), answer, before, len)


def test_only_a_plan_with_a_summary_prompt_can_be_completed() -> None:
    before = window("U1")
    with pytest.raises(ValueError, match="no pending summary"):
        complete(RecursiveSummary().plan(before, len), "They met.", before, len)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"max_events_to_keep": 3, "overlap": 3}, "overlap"),
        ({"max_events_to_keep": 3, "overlap": 4}, "overlap"),
        ({"overlap": -1}, "overlap"),
        ({"max_events_to_keep": 0}, "max_events_to_keep"),
        ({"system_prompt": " "}, "system_prompt"),
        ({"shadow_prompt": ""}, "shadow_prompt"),
        ({"max_summary_tokens": 0}, "max_summary_tokens"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        RecursiveSummary(**options)
    assert caught.value.metadata["field"] == f"strategy.recursive_summary.{field}"


def test_one_less_than_is_kept_may_overlap() -> None:
    assert RecursiveSummary(3, overlap=2).overlap == 2


def test_the_model_is_shown_names_arguments_and_results_of_tools() -> None:
    before = window("U1 A1(c) T1(c) U2")
    call, result = 'Assistant [tool calls: find({"q": 1})]', "Tool [responses: find -> 42]"
    lines = {"A1": call, "T1": result}
    before = replace(
        before, events=tuple(replace(each, prompt_text=lines.get(each.event_id, each.prompt_text)) for each in before.events)
    )
    made = RecursiveSummary(1, 0).plan(before, len).summary
    assert made is not None
    assert f"User: U1\n{call}\n{result}\n" in made.prompt


def test_savings_are_net_of_the_new_summary() -> None:
    before = window("U1=8 A1(c)=57 T1(c)=47 U2=8")
    plan = RecursiveSummary(1, 0, shadow_prompt="So far?").plan(before, len)
    assert (plan.tokens_before, plan.tokens_after) == (120, 8 + len("User: So far?"))
    done = complete(plan, "They met.", before, len)
    assert (done.tokens_before, done.tokens_after) == (120, 8 + len("User: So far?") + len("Assistant: They met."))
    assert done.summary is None


def test_the_prompt_has_the_earlier_summary_the_events_and_the_following_ones() -> None:
    events = "S1 S2 ~Uo ~Ao U1 A1 U2@a U3 A3 S3 U4"
    prompt = request(RecursiveSummary(3), events).prompt
    assert [block for block in prompt.split("\n\n") if not block.startswith("##")] == [
        "Assistant: Ao",
        "User: U1\nAssistant: A1\nUser: U2",
        "User: U3\nAssistant: A3",
        "Write the summary now, in at most 1024 tokens.",
    ]
    plain = request(RecursiveSummary(2, overlap=0), "S1 ~Uo U1 A1 U3 A3").prompt
    assert [block for block in plain.split("\n\n") if not block.startswith("##")] == [
        "User: U1\nAssistant: A1",
        "Write the summary now, in at most 1024 tokens.",
    ]
    assert prompt.count("##") == 3
    assert plain.count("##") == 1


def test_equal_prompts_have_equal_digests_and_others_do_not() -> None:
    strategy = RecursiveSummary(1, 0)
    first = request(strategy, "U1 U2")
    assert first.digest == request(strategy, "U1 U2").digest
    # What came in meanwhile does not change what is summarized.
    assert first.digest == request(RecursiveSummary(2, 0), "U1 U2 A2").digest
    others = [request(strategy, "U0 U2"), request(replace(strategy, system_prompt="Be brief."), "U1 U2")]
    assert len({first.digest, *(other.digest for other in others)}) == 3
    assert SummaryRequest("ab", "c", 1).digest != SummaryRequest("a", "bc", 1).digest


def test_a_branch_is_summarized_within_itself() -> None:
    before = window("U0 ~A0 ~Uo@a ~Ao@a U1@a A1@a U9 U2@a A2@a", "a")
    plan = RecursiveSummary(2, 1).plan(before, len)
    assert shown(before, plan) == "U0 ~A0 U9 Σ U2@a A2@a | ~Uo@a ~Ao@a U1@a A1@a"
    assert [event.branch for event in pair(plan)] == ["a", "a"]
    assert plan.summary is not None
    assert "U0" not in plan.summary.prompt
    assert "U9" not in plan.summary.prompt


def test_a_result_tied_to_a_call_outside_the_branch_is_not_summarized() -> None:
    before = window("A0(c) U1@a A1@a T1(c)@a A2@a U2@a", "a")
    plan = RecursiveSummary(1, 0).plan(before, len)
    assert shown(before, plan) == "A0 Σ T1@a U2@a | U1@a A1@a A2@a"
    assert plan.summary is not None
    assert "User: U1\nAssistant: A1\nAssistant: A2\n" in plan.summary.prompt
    assert RecursiveSummary(1, 0).plan(window("A0(c) T1(c)@a U2@a", "a"), len).empty
