"""Compaction by the memory advisor: it runs after a reply when its trigger fires, and its failure never fails the reply."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import threadkeep
from threadkeep import CompactionTrigger, WindowCounters, compaction
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
    [done] = (await talk.kit.of(talk.sdk.list_compactions, talk.session)).compactions
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
    await talk.kit.of(talk.sdk.set_compaction_policy, policy, session=talk.session)
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
