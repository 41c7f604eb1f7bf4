"""Several strategies in a row."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from threadkeep_server.compaction.plan import Strategy, complete
from threadkeep_server.compaction.strategies.pipeline import Pipeline
from threadkeep_server.compaction.strategies.recursive_summary import RecursiveSummary
from threadkeep_server.compaction.strategies.sliding_window import SlidingWindow
from threadkeep_server.compaction.strategies.token_budget import TokenBudget
from threadkeep_server.compaction.strategies.trim_tool_results import TrimToolResults
from threadkeep_server.compaction.strategies.turn_window import TurnWindow
from threadkeep_server.domain.errors import InvalidField

from .notation import compacted, shown, window

TRIM = TrimToolResults(1, 64)
TWO_RESULTS = "U1 A1(c) T1(c)=500 U2 A2(d) T2(d)=500 U3 A3"


@pytest.mark.parametrize(
    ("steps", "outcome"),
    [
        ((TRIM,), "U1 A1 <T1> U2 A2 <T2> U3 A3 | T1 T2"),
        ((TRIM, TurnWindow(2)), "U2 A2 <T2> U3 A3 | U1 A1 T1 T2"),
        ((TurnWindow(2), TRIM), "U2 A2 <T2> U3 A3 | U1 A1 T1 T2"),
        ((TRIM, TurnWindow(2), SlidingWindow(4)), "U3 A3 | U1 A1 T1 U2 A2 T2"),
        # Trimmed first, more turns fit the budget.
        ((TokenBudget(400),), "U3 A3 | U1 A1 T1 U2 A2 T2"),
        ((TRIM, TokenBudget(400)), "U1 A1 <T1> U2 A2 <T2> U3 A3 | T1 T2"),
        ((TRIM, RecursiveSummary(5)), "Σ U2 A2 <T2> U3 A3 | U1 A1 T1 T2"),
    ],
)
def test_each_step_works_on_what_the_one_before_leaves(steps: tuple[Strategy, ...], outcome: str) -> None:
    assert compacted(Pipeline(steps), TWO_RESULTS) == outcome


def test_a_pipeline_requests_the_summary_of_its_last_step() -> None:
    before = window(TWO_RESULTS)
    pipeline = Pipeline((TRIM, RecursiveSummary(5)))
    plan = pipeline.plan(before, len)
    assert plan.strategy == "pipeline"
    assert plan.summary is not None
    assert "Event T1 has it in full." in plan.summary.prompt
    assert "responses: T1]" not in plan.summary.prompt
    done = complete(plan, "They met.", before, len)
    assert done.summary is None
    assert done.tokens_after - plan.tokens_after == len("Assistant: They met.")
    assert shown(before, done) == shown(before, plan)
    assert [event.source for events in done.inserts.values() for event in events] == [
        "recursive-summarization",
        "recursive-summarization",
        "tool-result-trimming",
    ]


def test_a_pipeline_without_work_changes_nothing() -> None:
    before = window("U1 A1")
    plan = Pipeline((SlidingWindow(), TurnWindow())).plan(before, len)
    assert (plan.empty, plan.strategy, plan.tokens_before, plan.tokens_after) == (
        True,
        "pipeline",
        before.counters.tokens,
        before.counters.tokens,
    )


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Pipeline(()), "strategy.pipeline.steps"),
        (lambda: Pipeline((SlidingWindow(),) * 9), "strategy.pipeline.steps"),
        (lambda: Pipeline((SlidingWindow(), Pipeline((SlidingWindow(),)))), "strategy.pipeline.steps[1].pipeline"),
        (lambda: Pipeline((RecursiveSummary(), TurnWindow())), "strategy.pipeline.steps[0].recursive_summary"),
        (lambda: Pipeline((RecursiveSummary(), RecursiveSummary())), "strategy.pipeline.steps[0].recursive_summary"),
        (
            lambda: SlidingWindow(0, field="strategy.pipeline.steps[1]"),
            "strategy.pipeline.steps[1].sliding_window.max_events",
        ),
    ],
)
def test_invalid_pipelines_are_refused(make: Callable[[], Strategy], field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        make()
    assert caught.value.metadata["field"] == field


def test_eight_steps_are_a_pipeline() -> None:
    assert len(Pipeline((*(SlidingWindow(),) * 7, RecursiveSummary())).steps) == 8
