"""Running a strategy: what changes, what is said of it, and what happens when somebody else is faster or the model fails."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.support.codec import draft
from tests.support.sessions import TENANT, append, compact, ref, search
from tests.unit.service.bench import ALICE, CALLER, SLIDING_2, SPENT, Bench, key, log, summarizing
from threadkeep_server.compaction.plan import Strategy
from threadkeep_server.compaction.strategies.pipeline import Pipeline
from threadkeep_server.compaction.strategies.sliding_window import SlidingWindow
from threadkeep_server.compaction.strategies.token_budget import TokenBudget
from threadkeep_server.compaction.strategies.trim_tool_results import TrimToolResults
from threadkeep_server.compaction.strategies.turn_window import TurnWindow
from threadkeep_server.compaction.triggers import EventCount
from threadkeep_server.domain.errors import (
    InvalidField,
    PermissionDenied,
    SessionNotFound,
    SummarizerFailed,
    SummarizerNotConfigured,
    VersionMismatch,
)
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import NO_COUNTERS, NO_USAGE, Role
from threadkeep_server.store.contract.compaction import PolicyScope

FIVE = "U1 U2 U3 U4 U5"
SIX_TURNS = "U1 A1 U2 A2 U3 A3 U4 A4 U5 A5 U6 A6"


async def test_a_sliding_window_of_two_archives_three_of_five(bench: Bench) -> None:
    await bench.session(FIVE)
    outcome = await bench.run(SlidingWindow(2))
    assert outcome.compaction is not None
    assert (outcome.compaction.archived, outcome.compaction.after.events) == (3, 2)
    assert await bench.active() == "U4 U5"
    assert [(each.event_id, each.archived) for each in await bench.events()] == [
        ("U1", True),
        ("U2", True),
        ("U3", True),
        ("U4", False),
        ("U5", False),
    ]


async def test_archived_events_are_still_found(bench: Bench) -> None:
    await bench.session()
    await append(bench.store, draft("the secret is 42", event_id="secret"), *log(FIVE))
    await bench.run(SlidingWindow(2))
    assert "secret" not in await bench.active()
    [hit] = await search(bench.store, EventFilter(keyword="SECRET"), ref())
    assert hit.event.archived


async def test_a_trigger_that_does_not_fire_changes_nothing(bench: Bench) -> None:
    await bench.session(FIVE)
    before = await bench.everything()
    outcome = await bench.run(SlidingWindow(2), trigger=EventCount(6))
    assert (outcome.prepared, outcome.compaction) == (None, None)
    assert await bench.everything() == before
    assert (await bench.run(SlidingWindow(2), trigger=EventCount(5))).compaction is not None


@pytest.mark.parametrize("text", [FIVE, ""])
async def test_a_compaction_without_work_is_no_error_and_no_change(bench: Bench, text: str) -> None:
    await bench.session(text)
    before = await bench.everything()
    outcome = await bench.run(SlidingWindow(100))
    assert outcome.compaction is None
    assert outcome.prepared is not None
    assert outcome.prepared.plan.empty
    assert await bench.everything() == before


async def test_the_strategy_of_a_policy_gives_the_same_result(bench: Bench) -> None:
    await bench.session(FIVE)
    with pytest.raises(InvalidField) as caught:
        await bench.run()
    assert caught.value.metadata["field"] == "strategy"
    await bench.policies.set(CALLER, key(PolicyScope.SERVER), SLIDING_2)
    outcome = await bench.run()
    assert outcome.compaction is not None
    assert (outcome.compaction.archived, outcome.compaction.after.events) == (3, 2)
    assert await bench.active() == "U4 U5"


async def test_two_concurrent_compactions_archive_what_one_would(bench: Bench) -> None:
    await bench.session(FIVE)
    outcomes = await asyncio.gather(bench.run(SlidingWindow(2)), bench.run(SlidingWindow(2)))
    assert sum(outcome.compaction.archived for outcome in outcomes if outcome.compaction) == 3
    assert await bench.active() == "U4 U5"


@pytest.mark.parametrize("dry_run", [False, True])
async def test_an_unknown_session_is_an_error(bench: Bench, dry_run: bool) -> None:
    with pytest.raises(SessionNotFound):
        await bench.run(SlidingWindow(2), dry_run=dry_run)


@pytest.mark.parametrize(
    ("strategy", "text", "left"),
    [
        (SlidingWindow(4), SIX_TURNS, "U5 A5 U6 A6"),
        (TurnWindow(2), "U1 A1 U2 A2 U3 A3 U4 A4 U5 A5", "U4 A4 U5 A5"),
        (TokenBudget(9), "U1 U2 U3 U4 U5 U6 U7 U8 U9 Ux", "U8 U9 Ux"),
        (SlidingWindow(100), "U1 A1", "U1 A1"),
        (SlidingWindow(100), "S1 U1 S2 U2", "U1 S2 U2"),
        (SlidingWindow(2), "U1 A1(c) T1(c) U2 A2", "U2 A2"),
        (SlidingWindow(3), "U1 A1(c) U2 A2 T1(c) A3", "U1 A1 U2 A2 T1 A3"),
    ],
)
async def test_windows_after_each_strategy(bench: Bench, strategy: Strategy, text: str, left: str) -> None:
    await bench.session(text)
    await bench.run(strategy)
    assert await bench.active() == left
    assert len(await bench.events()) == len(text.split())


async def test_summaries_survive_a_sliding_window(bench: Bench) -> None:
    await bench.session("U1 A1 U2 A2 U3 A3")
    await bench.run(summarizing(4))
    assert await bench.active() == "new-1 new-2 U2 A2 U3 A3"
    await bench.run(SlidingWindow(1))
    assert await bench.active() == "new-1 new-2 U3 A3"


async def test_a_summary_is_a_turn_of_two_events_before_what_is_kept(bench: Bench) -> None:
    await bench.session("S1 U1 A1 U2 A2")
    outcome = await bench.run(summarizing(2))
    assert await bench.active() == "S1 new-1 new-2 U2 A2"
    shadow, summary = (each for each in await bench.events() if each.synthetic)
    assert (shadow.message.role, summary.message.role) == (Role.USER, Role.ASSISTANT)
    assert summary.message.parts[0].text == "They met."
    assert {shadow.compaction_source, summary.compaction_source} == {"recursive-summarization"}
    assert shadow.event_time == summary.event_time
    assert [shadow.seq, summary.seq] == [6, 7]
    assert outcome.prepared is not None
    assert outcome.prepared.plan.summary is None


async def test_a_second_summary_includes_the_first(bench: Bench) -> None:
    await bench.session("U1 A1 U2 A2")
    await bench.run(summarizing(2))
    await append(bench.store, *log("U3 A3"))
    bench.model.text = "They met again."
    await bench.run(summarizing(2))
    assert await bench.active() == "new-4 new-5 U3 A3"
    assert "Earlier summary\n\nAssistant: They met." in bench.model.prompts[1]
    assert "text of U1" not in bench.model.prompts[1]


async def test_counters_and_versions_are_those_of_the_window(bench: Bench) -> None:
    """Both versions grow by one, for any number of inserted events."""
    await bench.session("U1 A1 U2 A2")
    before = await bench.look()
    outcome = await bench.run(summarizing(2), actor="tester")
    done, session = outcome.compaction, await bench.look()
    assert done is not None
    window = await bench.store.read_window(TENANT, ref())
    assert done.before == before.window
    assert done.after == session.window == sum((each.counters for each in window.events), NO_COUNTERS)
    assert (session.log_version, session.window_version) == (before.log_version + 1, before.window_version + 1)
    assert (done.strategy, done.actor, done.first_seq, done.last_seq) == ("recursive_summary", "tester", 1, 2)
    assert outcome.prepared is not None
    assert outcome.prepared.after == done.after


@pytest.mark.parametrize(
    ("strategy", "text"), [(SlidingWindow(2), SIX_TURNS), (summarizing(2), SIX_TURNS), (TrimToolResults(), "U1 A1(c) T1(c) U2")]
)
async def test_a_dry_run_reports_the_actions_and_does_nothing(bench: Bench, strategy: Strategy, text: str) -> None:
    await bench.session(text)
    before = await bench.everything()
    outcome = await bench.run(strategy, dry_run=True)
    assert outcome.compaction is None
    assert outcome.prepared is not None
    assert await bench.everything() == before
    assert bench.model.prompts == []
    promised = outcome.prepared
    done = (await bench.run(strategy)).prepared
    assert done is not None
    assert done.plan.archive == promised.plan.archive
    assert list(done.inserts) == list(promised.inserts)


async def test_a_preview_needs_no_model_and_counts_no_summary() -> None:
    bench = Bench(summarizer=False)
    await bench.session("U1 A1 U2 A2")
    prepared = (await bench.run(summarizing(2), dry_run=True)).prepared
    assert prepared is not None
    assert prepared.plan.summary is not None
    # The USER event that goes before it is known already.
    assert prepared.after.events == 3
    before = await bench.everything()
    with pytest.raises(SummarizerNotConfigured):
        await bench.run(summarizing(2))
    assert await bench.everything() == before


async def test_without_events_to_summarize_no_model_is_required() -> None:
    bench = Bench(summarizer=False)
    await bench.session("S1 S2 U1 A1")
    await bench.run(summarizing(2))
    assert await bench.active() == "S2 U1 A1"


async def test_stubs_answer_the_calls_of_the_replaced_results(bench: Bench) -> None:
    await bench.session("U1 A1(c,d)")
    await append(bench.store, *(replace(each, token_estimate=500) for each in log("T1(c) T2(d)")), *log("U2 A2"))
    await bench.run(TrimToolResults())
    assert await bench.active() == "U1 A1 new-1 new-2 U2 A2"
    first, second = (each for each in await bench.events() if each.synthetic)
    assert [first.message.parts[0].tool_result.call_id, second.message.parts[0].tool_result.call_id] == ["c", "d"]
    assert "T1" in first.message.parts[0].tool_result.parts[0].text
    assert [first.message.role, second.message.role] == [Role.TOOL, Role.TOOL]


# --- a branch


async def test_a_branch_alone_is_compacted(bench: Bench) -> None:
    await bench.session("U1 U2@sub A2@sub U3@sub A3@sub A1")
    outcome = await bench.run(summarizing(2), branch="sub")
    assert await bench.active() == "U1 new-1 new-2 U3 A3 A1"
    assert {each.branch for each in await bench.events() if each.synthetic} == {"sub"}
    assert outcome.compaction is not None
    assert outcome.compaction.branch == "sub"


# --- races


async def test_a_lost_race_is_reported_planned_again_and_summarized_once(bench: Bench) -> None:
    """The rival archives what is kept, so the text to summarize is the same in the second attempt."""
    await bench.session("U1 A1 U2 A2 U3 A3")
    bench.store.before["compact"] = lambda: compact(bench.store, ["A3"])
    outcome = await bench.run(summarizing(2))
    assert outcome.lost_races == 1
    assert len(bench.model.prompts) == 1
    assert await bench.active() == "new-4 new-5 U3"
    assert (await bench.look()).usage == SPENT
    assert outcome.compaction is not None
    assert outcome.compaction.usage == SPENT


async def test_another_prompt_is_summarized_again_and_all_usage_is_counted(bench: Bench) -> None:
    await bench.session("U1 A1 U2 A2 U3 A3")
    bench.store.before["compact"] = bench.rival
    outcome = await bench.run(summarizing(2))
    assert outcome.lost_races == 1
    assert len(bench.model.prompts) == 2
    assert "text of U1" not in bench.model.prompts[1]
    assert outcome.compaction is not None
    assert outcome.compaction.usage == (await bench.look()).usage == SPENT + SPENT


async def test_a_rival_compaction_that_leaves_no_work_ends_the_attempts(bench: Bench) -> None:
    await bench.session(FIVE)
    bench.store.before["compact"] = lambda: bench.run(SlidingWindow(2))
    outcome = await bench.run(SlidingWindow(2))
    assert (outcome.compaction, outcome.lost_races) == (None, 1)
    assert await bench.active() == "U4 U5"


async def test_a_trigger_is_evaluated_again_after_a_lost_race(bench: Bench) -> None:
    await bench.session(FIVE)
    bench.store.before["compact"] = bench.rival
    outcome = await bench.run(SlidingWindow(2), trigger=EventCount(5))
    assert (outcome.prepared, outcome.lost_races) == (None, 1)
    assert await bench.active() == "U2 U3 U4 U5"


async def test_a_compaction_that_always_loses_its_races_fails(bench: Bench) -> None:
    await bench.session(" ".join(f"U{n}" for n in range(20)))

    async def prepare_a_rival() -> None:
        bench.store.before |= {"compact": bench.rival, "read_window": prepare_a_rival}

    await prepare_a_rival()
    with pytest.raises(VersionMismatch):
        await bench.run(SlidingWindow(2))
    assert (await bench.look()).window_version == 5
    assert (await bench.active()).split()[0] == "U5"


async def test_appends_during_a_summary_are_kept_and_do_not_invalidate_it(bench: Bench) -> None:
    await bench.session("U1 A1 U2 A2")
    bench.model.meanwhile = lambda: append(bench.store, *log("U3 A3"))
    outcome = await bench.run(summarizing(2))
    assert outcome.lost_races == 0
    assert await bench.active() == "new-1 new-2 U2 A2 U3 A3"
    assert [each.seq for each in await bench.events() if each.event_id in {"U3", "A3"}] == [5, 6]
    assert outcome.compaction is not None
    assert outcome.compaction.after == (await bench.look()).window


# --- the model fails

PROBLEMS = ["timed out", "gave an empty answer", "refused (401)", "was cut off at 1024 tokens", "budget of tokens spent"]


@pytest.mark.parametrize("problem", PROBLEMS)
async def test_a_failing_model_is_reported_and_changes_nothing(bench: Bench, problem: str) -> None:
    await bench.session("S1 S2 U1 A1 U2 A2")
    before = await bench.everything()
    bench.model.problem = problem
    with pytest.raises(SummarizerFailed) as caught:
        await bench.run(Pipeline((TrimToolResults(), summarizing(2))))
    assert caught.value.metadata == {"problem": problem}
    assert await bench.everything() == before


@pytest.mark.parametrize("text", ["", " \n\t", "x" * 10_000])
async def test_an_unusable_summary_changes_nothing(bench: Bench, text: str) -> None:
    await bench.session("S1 S2 U1 A1 U2 A2")
    before = await bench.everything()
    bench.model.text = text
    with pytest.raises(SummarizerFailed):
        await bench.run(summarizing(2))
    assert await bench.everything() == before


async def test_a_cancel_during_the_summary_changes_nothing(bench: Bench) -> None:
    await bench.session("U1 A1 U2 A2")
    before = await bench.everything()
    requested = asyncio.Event()

    async def hang() -> None:
        requested.set()
        await asyncio.Event().wait()

    bench.model.meanwhile = hang
    task = asyncio.create_task(bench.run(summarizing(2)))
    await requested.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await bench.everything() == before
    assert (await bench.look()).usage == NO_USAGE


# --- who may


async def test_a_bound_caller_reaches_its_own_sessions(bench: Bench) -> None:
    await bench.session(FIVE)
    await bench.session(FIVE, "theirs", user="bob")
    await bench.run(SlidingWindow(2), caller=ALICE, of=ref(user=""))
    assert await bench.active() == "U4 U5"
    with pytest.raises(PermissionDenied):
        await bench.run(SlidingWindow(2), caller=ALICE, of=ref("theirs", user="bob"))
    assert await bench.active(ref("theirs", user="bob")) == FIVE


async def test_planning_time_grows_in_proportion_to_the_window(bench: Bench) -> None:
    """Ten thousand events: what is quadratic in the window takes minutes here."""
    await bench.session()
    await append(bench.store, *(draft("x", event_id=f"e{n}", role=Role(1 + n % 2)) for n in range(10_000)))
    async with asyncio.timeout(60):
        outcome = await bench.run(SlidingWindow(10))
    assert outcome.compaction is not None
    assert outcome.compaction.archived == 9990
