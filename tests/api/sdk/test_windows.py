"""Contexts, compaction and policies in the SDK with a real server; on one of both clients, in the long form on both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest

import threadkeep
from tests.unit.sdk.flavors import FLAVORS, make
from threadkeep import Authors, LogVersion, MemoryProvider, SessionEvent, SummaryPrompt, compaction, errors

WINDOW = MemoryProvider.limited_window()


@pytest.fixture(params=FLAVORS)
def flavor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def client(flavor: str, address: str) -> AsyncIterator[Any]:
    async with make(flavor, address, app="shop", user_id="alice") as client:
        yield client


@pytest.fixture
def summarizer(flavor: str) -> Callable[..., Any]:
    """Makes a model for the flavor of the client; it returns this answer after `meanwhile` has run."""

    def made(text: str, requested: list[SummaryPrompt], meanwhile: Callable[[], None] = lambda: None) -> Any:
        def answer(prompt: SummaryPrompt) -> str:
            requested.append(prompt)
            meanwhile()
            return text

        async def answer_later(prompt: SummaryPrompt) -> str:
            return await asyncio.to_thread(answer, prompt)

        return answer_later if flavor == "async" else answer

    return made


def turn(number: int, *, long: int = 1) -> list[SessionEvent]:
    """Returns a turn of four events: q, c (planner's), r, a (writer's)."""
    call = threadkeep.tool_call(f"c{number}", "look", {})
    return [
        threadkeep.user(f"question {number}", event_id=f"q{number}"),
        threadkeep.assistant(tool_calls=[call], event_id=f"c{number}", author="planner", author_role="lead"),
        threadkeep.tool_result(f"c{number}", "found " * long, name="look", event_id=f"r{number}"),
        threadkeep.assistant(f"answer {number}", event_id=f"a{number}", author="writer"),
    ]


async def filled(client: Any, turns: int, **options: int) -> threadkeep.Session:
    """Creates a session with instructions and this number of turns."""
    session: threadkeep.Session = await client.create_session("s")
    await client.append(session, threadkeep.system("Be kind.", event_id="sys"))
    for number in range(turns):
        await client.append(session, *turn(number, **options))
    return session


def ids(events: Iterable[SessionEvent]) -> list[str]:
    return [event.event_id for event in events]


async def test_the_context_spec_selects_the_context(client: Any) -> None:
    session = await filled(client, 4)
    everything = await client.get_context(session)
    assert len(everything.events) == 17
    assert (everything.truncated, everything.session_last_seq) == (False, 17)
    last = await client.get_context(session, WINDOW.read_last(2))
    assert ids(last.events) == ["sys", "q3", "c3", "r3", "a3"]
    assert (last.truncated, last.first_seq, last.last_seq) == (True, 14, 17)
    assert ids((await client.get_context(session, max_turns=1, exclude_system=True)).events) == ["q3", "c3", "r3", "a3"]
    writers = Authors.exclude(roles=["lead"])
    assert "c3" not in ids((await client.get_context(session, WINDOW.filtered(writers))).events)
    relabelled = WINDOW.filtered(Authors.exclude(roles=["lead"])).with_author_roles({"planner": "", "writer": "lead"})
    assert "a3" not in ids((await client.get_context(session, relabelled)).events)
    assert list((await client.get_context("nowhere")).events) == []


async def test_memory_modes_limit_reading_and_appending(client: Any) -> None:
    session = await filled(client, 1)
    blind = await client.get_context(session, WINDOW.write_only())
    assert (list(blind.events), blind.window.events) == ([], 5)
    assert list((await client.get_context(session, MemoryProvider.none())).events) == []
    quiet = await client.append(session, threadkeep.user("psst"), memory=WINDOW.read_only())
    assert (quiet.last_seq, (await client.get_session(session)).last_seq) == (0, 5)
    assert (await client.append(session, threadkeep.user("hi"), memory=WINDOW.write_only())).last_seq == 6


async def test_a_session_has_its_own_context_size(client: Any) -> None:
    session = await client.create_session("small", context_bytes=100)
    for number in range(5):
        await client.append(session, *turn(number))
    assert (await client.get_session(session)).context_bytes == 100
    assert (await client.get_context(session)).truncated
    await client.update_session(session, context_bytes=0)
    assert not (await client.get_context(session)).truncated


async def test_the_server_compacts_by_strategy(client: Any) -> None:
    session = await filled(client, 6)
    strategy = compaction.turn_window(2)
    dry = await client.compact(session, strategy, dry_run=True)
    assert (dry.compacted, len(dry.plan.archive_event_ids), dry.plan.after.turns) == (False, 16, 2)
    idle = await client.compact(session, strategy, trigger=compaction.turns_over(6))
    assert (idle.triggered, idle.compacted) == (False, False)
    done = await client.compact(session, strategy, trigger=compaction.turns_over(5), actor="me")
    assert (done.compaction.archived_events, done.compaction.actor) == (16, "me")
    assert ids((await client.get_context(session)).events) == ["sys", *ids([*turn(4), *turn(5)])]
    again = await client.compact(session, strategy)
    assert (again.triggered, again.compacted) == (True, False)
    assert [each async for each in client.compactions(session)] == [done.compaction]
    assert [hit.event.seq async for hit in client.search('"question 0"', session=session)] == [2]
    with pytest.raises(errors.InvalidField) as unnamed:
        await client.compact(session)
    assert unnamed.value.field == "strategy"
    with pytest.raises(errors.SummarizerNotConfigured):
        await client.compact(session, compaction.recursive_summary(1, overlap=0))


async def test_a_pipeline_trims_results_and_archives_events(client: Any) -> None:
    session = await filled(client, 5, long=200)
    steps = compaction.pipeline(compaction.trim_tool_results(1), compaction.turn_window(3))
    done = await client.compact(session, steps)
    assert done.compaction.strategy == "pipeline"
    assert done.compaction.after.turns == 3
    assert len(done.compaction.inserted_event_ids) == 2


async def test_the_client_compacts_with_its_own_model(client: Any, summarizer: Callable[..., Any]) -> None:
    session = await filled(client, 6)
    requested: list[SummaryPrompt] = []
    done = await client.compact_with(
        session, summarizer("There were six questions.", requested), compaction.recursive_summary(4, overlap=1), actor="me"
    )
    assert (done.strategy, done.actor, done.archived_events) == ("recursive_summary", "me", 20)
    assert "question 0" in requested[0].prompt
    context = (await client.get_context(session)).events
    assert [threadkeep.text_of(each) for each in context[:3]] == [
        "Be kind.",
        "Summarize the conversation we had so far.",
        "There were six questions.",
    ]
    assert ids(context[3:]) == ids(turn(5))
    assert await client.compact_with(session, summarizer("x", requested), compaction.recursive_summary(4, overlap=1)) is None
    assert len(requested) == 1


async def test_appends_do_not_invalidate_a_summary_in_progress(
    client: Any, address: str, summarizer: Callable[..., Any]
) -> None:
    session = await filled(client, 6)
    requested: list[SummaryPrompt] = []

    def meanwhile() -> None:
        with threadkeep.Client(address) as other:
            other.append(session, *turn(6))

    assert await client.compact_with(session, summarizer("They met.", requested, meanwhile), compaction.recursive_summary(4))
    assert ids((await client.get_context(session)).events)[3:] == ids([*turn(5), *turn(6)])
    assert len(requested) == 1


async def test_a_lost_race_is_planned_again_and_summarized_once(
    client: Any, address: str, summarizer: Callable[..., Any]
) -> None:
    """The other compaction archives an event that the prompt does not contain: the older SYSTEM event."""
    session = await filled(client, 6)
    await client.append(session, threadkeep.system("Be brief.", event_id="sys2"))
    requested: list[SummaryPrompt] = []

    def meanwhile() -> None:
        with threadkeep.Client(address) as other:
            other.apply_compaction(session, archive=["sys"], expected_window_version=0)

    done = await client.compact_with(session, summarizer("They met.", requested, meanwhile), compaction.recursive_summary(4))
    assert (done.window_version, len(requested)) == (2, 1)
    assert [each.strategy async for each in client.compactions(session)] == ["recursive_summary", "custom"]


async def test_a_blank_summary_leaves_the_session_unchanged(client: Any, summarizer: Callable[..., Any]) -> None:
    session = await filled(client, 6)
    with pytest.raises(ValueError, match="blank"):
        await client.compact_with(session, summarizer(" ", []), compaction.recursive_summary(4))
    assert (await client.get_session(session)).window_version == 0


async def test_a_plan_is_stale_after_another_compaction_only(client: Any) -> None:
    session = await filled(client, 6)
    planned = await client.plan_compaction(session, compaction.turn_window(3))
    stale = await client.plan_compaction(session, compaction.turn_window(2))
    await client.append(session, *turn(6))
    assert (await client.apply_compaction(session, planned, dry_run=True)).applied is False
    applied = await client.apply_compaction(session, planned, compaction_id="mine")
    assert (applied.applied, applied.replayed, applied.compaction.strategy) == (True, False, "turn_window")
    assert (await client.apply_compaction(session, planned, compaction_id="mine")).replayed
    with pytest.raises(errors.VersionMismatch) as lost:
        await client.apply_compaction(session, stale)
    assert (lost.value.expected, lost.value.actual) == ("0", "1")
    reported = await client.apply_compaction(session, stale, report_mismatch=True)
    assert (reported.applied, reported.window_version) == (False, 1)


async def test_a_caller_applies_its_own_plan(client: Any) -> None:
    session = await filled(client, 3)
    read = await client.get_context(session)
    made = threadkeep.assistant("So far so good.", synthetic=True, compaction_source="mine")
    await client.append(session, *turn(3))
    await client.apply_compaction(
        session,
        through_seq=read.session_last_seq,
        inserts=[compaction.insert(made)],
        expected_window_version=read.window_version,
        strategy="mine",
    )
    events = (await client.get_context(session)).events
    assert [threadkeep.text_of(each) for each in events[:2]] == ["Be kind.", "So far so good."]
    assert ids(events[2:]) == ids(turn(3))
    with pytest.raises(errors.BrokenToolPair) as torn:
        await client.apply_compaction(session, archive=["r3"], expected_window_version=1)
    assert {torn.value.event_id, torn.value.tied_to} == {"c3", "r3"}


async def test_the_window_is_replaced(client: Any) -> None:
    session = await filled(client, 3)
    read = await client.get_context(session)
    kept = [event for event in read.events if event.event_id in ("sys", *ids(turn(2)))]
    note = threadkeep.assistant("Note.", synthetic=True, compaction_source="mine")
    done = await client.replace_events(session, kept[0], note, *kept[1:], expect=LogVersion(read.log_version))
    assert (done.replaced, done.compaction.archived_events) == (True, 8)
    assert ids((await client.get_context(session)).events)[-4:] == ids(turn(2))
    late = await client.replace_events(session, expect=LogVersion(read.log_version))
    assert (late.replaced, late.log_version) == (False, done.log_version)


async def test_policies_compact_in_the_background(client: Any) -> None:
    policy = compaction.policy(compaction.turns_over(3), compaction.turn_window(2))
    await client.user_policy("alice", app="shop").set(policy)
    session = await filled(client, 4)
    for _ in range(1000):  # runs in the background
        if done := [each async for each in client.compactions(session)]:
            break
        await asyncio.sleep(0.02)
    assert [(each.actor, each.strategy, each.after.turns) for each in done] == [("policy", "turn_window", 2)]


async def test_the_narrowest_policy_applies(client: Any) -> None:
    session = await filled(client, 1)
    wide = compaction.policy(compaction.tokens(10_000), compaction.sliding_window(20))
    narrow = compaction.policy(compaction.turns_over(30), compaction.turn_window(20))
    await client.server_policy().set(wide)
    await client.app_policy("shop").set(narrow)
    found = await client.session(session).policy().get()
    assert (found.HasField("policy"), found.effective_policy, found.effective_scope.app) == (False, narrow, "shop")
    await client.app_policy("shop").remove()
    assert (await client.session(session).policy().get()).effective_policy == wide
    await client.session(session).policy().set(compaction.disabled())
    found = await client.session(session).policy().get()
    assert found.policy.disabled
    assert (await client.server_policy().get()).policy == wide


async def test_compacting_a_truncated_context_keeps_omitted_events(client: Any) -> None:
    """Forty turns of 10 KiB: a context contains the newest, and its summary replaces no others."""
    active = threadkeep.event_filter(view="active")
    for name in ("safe", "careless"):
        await client.create_session(name)
        for number in range(40):
            await client.append(name, threadkeep.user(f"{number} " + "x" * 10_240, event_id=f"{name}-{number}"))
    seen = await client.get_context("safe")
    assert seen.truncated
    held = set(ids(seen.events))
    unseen = [each for each in ids([event async for event in client.events("safe", active)]) if each not in held]
    assert len(unseen) > 20

    done = await client.apply_compaction("safe", context=seen, summary="What the newest said.")
    left = [event async for event in client.events("safe", active)]
    assert ids(left)[: len(unseen)] == unseen, "all that the agent never saw stays"
    assert [threadkeep.text_of(event) for event in left[len(unseen) :]][-1] == "What the newest said."
    assert done.compaction.archived_events == len(held)
    again = await client.get_context("safe")
    assert "What the newest said." in [threadkeep.text_of(event) for event in again.events]

    careless = await client.get_context("careless")
    summary = [threadkeep.compaction.summarized("What the newest said.")]
    versions = {"expected_window_version": careless.window_version, "through_seq": careless.session_last_seq}
    lost = await client.apply_compaction("careless", inserts=summary, **versions)
    assert lost.compaction.archived_events == 40, "the lower form takes all up to a seq, seen or not"
