"""Compaction by the memory advisor: it runs after a reply when its trigger fires, and its failure never fails the reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import threadkeep
from threadkeep import CompactionTrigger, Context, WindowCounters, compaction
from threadkeep.chat import Tool, ToolCall, ToolDefinition, assistant
from threadkeep.chat.memory.triggers import fires

from ..async_and_sync import text_of
from ..conversations import CountingClient, Talk, look_tool, prompt_of

TWO_TURNS: dict[str, Any] = {"trigger": compaction.turns_over(2), "strategy": compaction.turn_window(1)}


async def test_compaction_after_replies_limits_the_window(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([f"a{n}" for n in range(4)])
    memory = talk.memory(trigger=compaction.turns_over(2), strategy=compaction.sliding_window(2), author="chief")
    for turn in range(3):
        await talk.ask(model, memory, f"q{turn}")
    context = await talk.kit.of(talk.sdk.get_context, talk.session)
    assert len(context.events) == 2
    assert len(await talk.events()) == 6, "compaction deletes nothing"
    await talk.ask(model, memory, "q3")
    assert prompt_of(model) == ["user: q2", "assistant: a2", "user: q3"]
    [done] = (await talk.kit.of(talk.sdk.compactions_page, talk.session)).compactions
    assert done.actor == "chief"


async def test_failed_compaction_is_logged_and_reply_succeeds(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    """The server has no model for this strategy."""
    memory = talk.memory(trigger=compaction.events(1), strategy=compaction.recursive_summary(2, overlap=1))
    model = talk.kit.ScriptedModel([f"a{n}" for n in range(3)])
    spans = TracerProvider().get_tracer("test")
    for turn in range(3):
        with spans.start_as_current_span("turn") as span:
            assert text_of(await talk.ask(model, memory, f"my secret {turn}")) == f"a{turn}"
    assert len(await talk.log()) == 6
    assert "SUMMARIZER_NOT_CONFIGURED" in caplog.text
    assert "secret" not in caplog.text
    assert [event.name for event in span.events] == ["compaction failed; the next reply retries it"]  # type: ignore[attr-defined]


async def test_failed_trigger_is_logged_and_reply_succeeds(
    talk: Talk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(trigger: CompactionTrigger, window: WindowCounters) -> bool:
        raise RuntimeError("my secret")

    for form in ("_async", "_sync"):
        monkeypatch.setattr(f"threadkeep.chat.{form}.memory.compacting.fires", broken)
    model = talk.kit.ScriptedModel(["a0"])
    assert text_of(await talk.ask(model, talk.memory(**TWO_TURNS), "q0")) == "a0"
    assert await talk.log() == ["user: q0", "assistant: a0"]
    assert "compaction failed; the next reply retries it" in caplog.text
    assert "RuntimeError" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("problem", ["it raises", "its answer is blank"])
async def test_failed_summarizer_keeps_log_and_reply_succeeds(talk: Talk, problem: str) -> None:
    failing = talk.kit.ScriptedModel([RuntimeError("overloaded") if problem == "it raises" else " "] * 3)
    memory = talk.memory(
        trigger=compaction.turns_over(1), strategy=compaction.recursive_summary(2, overlap=1), summarizer=failing
    )
    model = talk.kit.ScriptedModel([f"a{n}" for n in range(3)])
    for turn in range(3):
        assert text_of(await talk.ask(model, memory, f"q{turn}")) == f"a{turn}"
    assert len(failing.prompts) == 2
    assert len(await talk.log()) == 6
    assert prompt_of(model) == ["user: q0", "assistant: a0", "user: q1", "assistant: a1", "user: q2"]


async def test_summarizer_model_writes_the_summary(talk: Talk) -> None:
    summarizer = talk.kit.ScriptedModel(["They talked about q0."])
    memory = talk.memory(
        trigger=compaction.turns_over(1), strategy=compaction.recursive_summary(2, overlap=1), summarizer=summarizer
    )
    model = talk.kit.ScriptedModel([f"a{n}" for n in range(3)])
    for turn in range(2):
        await talk.ask(model, memory, f"q{turn}")
    [prompt] = summarizer.prompts
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert "q0" in prompt.messages[1].text
    assert prompt.options.max_tokens == 1024
    assert prompt.options.model == "scripted"
    await talk.ask(model, talk.memory(), "q2")
    assert prompt_of(model)[1:] == ["assistant: They talked about q0.", "user: q1", "assistant: a1", "user: q2"]


async def test_compaction_waits_for_the_end_of_the_turn(talk: Talk) -> None:
    async def compactions() -> list[Any]:
        return await talk.kit.all(talk.sdk.compactions(talk.session))

    counts: list[int] = []

    def look(arguments: str, context: Any) -> str:
        with threadkeep.Client(talk.sdk.address, app="shop", user_id="alice") as other:
            counts.append(len(list(other.compactions(talk.session))))
        return "found"

    await talk.append(*(threadkeep.user(f"q{n}") for n in range(5)))
    calls = [assistant(tool_calls=[ToolCall(f"c{n}", "look", "{}")]) for n in range(3)]
    model = talk.kit.ScriptedModel([*calls, "done"])
    await talk.ask_with_tools(model, talk.memory(**TWO_TURNS), "hi", tools=[Tool(ToolDefinition("look"), look)])
    assert counts == [0, 0, 0]
    assert len(await compactions()) == 1
    turn = [f"{kind} c{n}" for n in range(3) for kind in ("call", "result")]
    assert len(prompt_of(model)) == 5 + 1 + len(turn)
    model.add("again")
    await talk.ask(model, talk.memory(), "more")
    assert len(prompt_of(model)) == 1 + len(turn) + 2, "the newest turn stays whole"


async def test_compaction_runs_after_return_direct_result(talk: Talk) -> None:
    await talk.append(*(threadkeep.user(f"q{n}") for n in range(5)))
    model = talk.kit.ScriptedModel([assistant(tool_calls=[ToolCall("c1", "look", "{}")])])
    await talk.ask_with_tools(model, talk.memory(**TWO_TURNS), "hi", tools=[look_tool(return_direct=True)])
    assert len(await talk.kit.all(talk.sdk.compactions(talk.session))) == 1


async def test_compact_is_called_only_when_the_trigger_fires(talk: Talk) -> None:
    counted = CountingClient(talk.sdk)
    memory = talk.kit.SessionMemoryAdvisor(counted, **TWO_TURNS)
    for turn in range(3):
        assert counted.calls["compact"] == 0
        await talk.ask(talk.kit.ScriptedModel(["a"]), memory, f"q{turn}")
    assert counted.calls == {"get_context": 3, "append": 6, "compact": 1}


async def test_server_policy_compacts_without_calls_of_the_client(talk: Talk) -> None:
    await talk.append(threadkeep.user("q"))
    policy = compaction.policy(**TWO_TURNS)
    await talk.kit.of(talk.sdk.session(talk.session).policy().set, policy)
    counted = CountingClient(talk.sdk)
    model = talk.kit.ScriptedModel(["a"] * 4)
    for turn in range(4):
        await talk.ask(model, talk.kit.SessionMemoryAdvisor(counted), f"q{turn}")
    assert "compact" not in counted.calls
    assert len(await talk.events()) == 9


@pytest.mark.parametrize("count", range(6))
def test_triggers_fire_at_the_same_counts_as_on_the_server(count: int) -> None:
    window = WindowCounters(events=count, turns=count, bytes=count, tokens=count)
    assert fires(compaction.turns_over(3), window) is (count > 3)
    for made in (compaction.events, compaction.tokens, compaction.size):
        assert fires(made(3), window) is (count >= 3)
    either, both = compaction.any_of, compaction.all_of
    assert fires(either(compaction.turns_over(3), compaction.events(2)), window) is (count >= 2)
    assert fires(both(compaction.turns_over(3), compaction.events(2)), window) is (count > 3)
    assert fires(CompactionTrigger(), window), "the server decides on an unknown trigger"


def own(form: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function in one of two kinds."""
    if form == "plain":
        return function

    async def coroutine(value: Any) -> Any:
        return function(value)

    return coroutine


def kinds_of(talk: Talk) -> list[str]:
    return ["plain", "coroutine"] if talk.kit.is_async else ["plain"]


def keep_one_turn(context: Context) -> Any:
    """A plan that replaces everything but the newest turn by a summary."""
    place = max(n for n, event in enumerate(context.events) if event.role is threadkeep.Role.USER and not event.synthetic)
    gone = [event.event_id for event in context.events[:place]]
    return compaction.plan(gone, compaction.summarized("They talked.", before=context.events[place].event_id)) if gone else None


async def test_functions_as_trigger_and_strategy_compact(talk: Talk) -> None:
    for number, kind in enumerate(kinds_of(talk)):
        session = replace(talk, session=f"{talk.session}-{number}")
        windows: list[WindowCounters] = []

        def more_than_one_turn(window: WindowCounters, seen: list[WindowCounters] = windows) -> bool:
            seen.append(window)
            return window.turns > 1

        memory = session.memory(trigger=own(kind, more_than_one_turn), strategy=own(kind, keep_one_turn), author="chief")
        model = talk.kit.ScriptedModel(["a0", "a1", "a2"])
        for turn in range(3):
            await session.ask(model, memory, f"q{turn}")
        assert [window.turns for window in windows] == [1, 2, 2]
        assert prompt_of(model)[1:] == ["assistant: They talked.", "user: q1", "assistant: a1", "user: q2"]
        done = (await talk.kit.of(talk.sdk.compactions_page, session.session)).compactions
        assert [(each.actor, each.archived_events) for each in done] == [("chief", 4), ("chief", 2)]


@pytest.mark.parametrize("trigger", [compaction.turns_over(1), lambda window: window.turns > 1])
async def test_a_function_and_a_built_in_go_together(talk: Talk, trigger: Any) -> None:
    built_in = trigger if isinstance(trigger, CompactionTrigger) else compaction.turns_over(1)
    pairs = ((trigger, compaction.turn_window(1)), (built_in, keep_one_turn))
    for number, (when, strategy) in enumerate(pairs):
        session = replace(talk, session=f"{talk.session}-{number}")
        model = talk.kit.ScriptedModel(["a0", "a1"])
        for turn in range(2):
            await session.ask(model, session.memory(trigger=when, strategy=strategy), f"q{turn}")
        assert len((await talk.kit.of(talk.sdk.compactions_page, session.session)).compactions) == 1


async def test_a_summary_replaces_the_whole_context(talk: Talk) -> None:
    memory = talk.memory(trigger=lambda window: window.turns > 1, strategy=lambda context: f"{len(context)} events")
    model = talk.kit.ScriptedModel(["a0", "a1", "a2"])
    for turn in range(3):
        await talk.ask(model, memory, f"q{turn}")
    assert prompt_of(model)[1:] == ["assistant: 4 events", "user: q2"]
    assert len(await talk.log()) == 6 + 2, "nothing is deleted"


@pytest.mark.parametrize("answer", [None, compaction.plan([])])
async def test_a_strategy_without_a_plan_changes_nothing(talk: Talk, answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    await talk.ask(talk.kit.ScriptedModel(["a0"]), talk.memory(trigger=lambda _: True, strategy=lambda _: answer), "q0")
    assert not (await talk.kit.of(talk.sdk.compactions_page, talk.session)).compactions
    assert "compaction failed" not in caplog.text


@pytest.mark.parametrize("answer", [["e1"], " ", compaction.plan(["nobody"])])
async def test_a_bad_answer_of_a_strategy_is_logged_and_reply_succeeds(
    talk: Talk, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    memory = talk.memory(trigger=lambda window: True, strategy=lambda context: answer)
    assert text_of(await talk.ask(talk.kit.ScriptedModel(["a0"]), memory, "q0")) == "a0"
    assert "compaction failed; the next reply retries it" in caplog.text
    assert not (await talk.kit.of(talk.sdk.compactions_page, talk.session)).compactions


async def test_a_plan_for_an_older_window_changes_nothing(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    """Another process compacts while the function plans."""

    def slow(context: Context) -> Any:
        with threadkeep.Client(talk.sdk.address, app="shop", user_id="alice") as other:
            assert other.compact(talk.session, compaction.turn_window(1)).compacted
        return keep_one_turn(context)

    await talk.append(*(threadkeep.user(f"q{n}") for n in range(5)))
    await talk.ask(talk.kit.ScriptedModel(["a"]), talk.memory(trigger=lambda window: True, strategy=slow), "hi")
    [done] = (await talk.kit.of(talk.sdk.compactions_page, talk.session)).compactions
    assert done.strategy == "turn_window"
    assert "compaction failed" not in caplog.text


async def test_wrong_functions_are_rejected(talk: Talk) -> None:
    trigger = compaction.turns_over(1)
    with pytest.raises(ValueError, match="summarizer"):
        talk.memory(trigger=trigger, strategy=keep_one_turn, summarizer=talk.kit.ScriptedModel([]))
    with pytest.raises(TypeError, match=r"trigger must be a CompactionTrigger .* or a function, not str"):
        talk.memory(trigger="turns", strategy=keep_one_turn)
    with pytest.raises(TypeError, match="strategy must be"):
        talk.memory(trigger=trigger, strategy=threadkeep.CompactionStrategy)
    if not talk.kit.is_async:
        with pytest.raises(TypeError, match="AsyncSessionMemoryAdvisor"):
            talk.memory(trigger=trigger, strategy=own("coroutine", keep_one_turn))
