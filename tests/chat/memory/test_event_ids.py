"""Idempotent event ids: equal content gets equal ids, and a repeated run adds nothing to a session."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations
from typing import Any

from threadkeep.chat import (
    Data,
    Media,
    Message,
    Reasoning,
    Text,
    Tool,
    ToolCall,
    ToolDefinition,
    ToolResult,
    assistant,
    context_keys,
    idempotent_ids,
    random_ids,
    system,
    tool,
    user,
)
from threadkeep.chat.memory.event_ids import answer_id, results_id

from ..conversations import Talk, look_tool, prompt_of

CALL = ToolCall("call-1", "look", '{"where": "here"}')
VARIED = (
    user("x"),
    user("y"),
    user(["x", "y"]),
    user(["xy"]),
    assistant("x"),
    system("x"),
    user(Reasoning("x")),
    user(Reasoning("", b"\x01")),
    user(Reasoning("", b"", b"\x01")),
    user(Media("image/png", data=b"x")),
    user(Media("image/png", uri="x")),
    user(Media("image/png", file_id="x")),
    user(Data("x", "1")),
    assistant(tool_calls=[CALL]),
    assistant(tool_calls=[CALL, ToolCall("call-2", "look")]),
    assistant(tool_calls=[ToolCall("", "look")]),
    assistant(tool_calls=[ToolCall("", "look", "{}")]),
    tool(ToolResult("call-1", parts=(Text("x"),))),
    tool(ToolResult("call-1", parts=(Text("x"),), is_error=True)),
    tool(ToolResult("call-1", structured_json="x")),
    tool(ToolResult("call-2", parts=(Text("x"),))),
    user("\ud800 lone"),
)


def ids(messages: Iterable[Message], **context: str) -> list[str]:
    return [idempotent_ids(*context)(message, context) for message in messages]


def test_idempotent_ids_differ_by_content() -> None:
    assert len(set(ids(VARIED))) == len(VARIED)
    assert ids(VARIED) == ids(VARIED)
    assert not set(ids(VARIED)) & set(ids(VARIED, run="1"))
    assert len({random_ids(VARIED[0], {}) for _ in range(100)}) == 100


def test_event_ids_are_short_printable_ascii() -> None:
    every = [*ids(VARIED), *ids(VARIED, run="x" * 1000), results_id([("e" * 255, "c" * 255)] * 9), answer_id("e", 7)]
    assert max(map(len, every)) <= 74
    assert all(each.isascii() and each.isprintable() for each in every)
    assert {each.partition("-")[0] for each in every} == {"user", "assistant", "system", "tool"}


def test_id_of_answer_with_calls_depends_on_its_calls() -> None:
    plain, [other] = ids([assistant("I look.", tool_calls=[CALL])]), ids([assistant(tool_calls=[CALL])])
    assert plain == [other]
    for blank in ("", " "):
        calls = [ToolCall(blank, "look", arguments) for arguments in ("{}", "[]")]
        one, another = ids([assistant(tool_calls=[call]) for call in calls])
        assert one != another, "without a call id the content counts"


def test_ids_of_results_and_answers_depend_on_their_sources() -> None:
    pairs = [("e1", "c1"), ("e1", "c2"), ("e2", "c1")]
    assert len({results_id(each) for each in permutations(pairs)}) == 6
    assert results_id([("e1", "c1")]) != results_id([("e1c", "1")])
    assert answer_id("e1", 0) == answer_id("e1", 0)
    assert len({answer_id("e1", 0), answer_id("e2", 0), answer_id("e1", 1), answer_id("e", 10)}) == 4


def idempotent(talk: Talk, *context_keys: str) -> object:
    made = idempotent_ids(*context_keys)
    return talk.memory(request_ids=made, response_ids=made)


async def test_repeated_turn_with_idempotent_ids_adds_no_events(talk: Talk) -> None:
    memory = idempotent(talk)
    for _ in range(2):
        await talk.ask(talk.kit.ScriptedModel(["hello"]), memory, "hi")
    assert await talk.log() == ["user: hi", "assistant: hello"]
    await talk.ask(talk.kit.ScriptedModel(["it rains"]), memory, "the weather?")
    assert len(await talk.events()) == 4


async def test_idempotent_ids_with_run_key_differ_between_runs(talk: Talk) -> None:
    memory = idempotent(talk, context_keys.RUN)
    for run, events in (("run-1", 2), ("run-1", 2), ("run-2", 4)):
        await talk.ask(talk.kit.ScriptedModel(["hello"]), memory, "hi", context={context_keys.RUN: run})
        assert len(await talk.events()) == events


async def test_repeated_tool_round_with_idempotent_ids_adds_no_events(talk: Talk) -> None:
    for found in ("found", "found later"):
        model = talk.kit.ScriptedModel([assistant(tool_calls=[CALL]), "done"])
        await talk.ask_with_tools(model, idempotent(talk), "hi", tools=[look_tool(found)])
    assert await talk.log() == ["user: hi", "assistant: [look call-1]", "tool: call-1=found", "assistant: done"]


async def test_calls_with_ids_repeated_across_answers_are_all_stored(talk: Talk) -> None:
    def look(arguments: str, context: Any) -> str:
        return f"found {arguments}"

    answers = [assistant(tool_calls=[ToolCall("call_0", "look", arguments)]) for arguments in ("1", "2")]
    model = talk.kit.ScriptedModel([*answers, "done"])
    await talk.ask_with_tools(model, idempotent(talk), "hi", tools=[Tool(ToolDefinition("look"), look)])
    log = await talk.log()
    assert [each for each in log if each.startswith("tool")] == ["tool: call_0=found 1", "tool: call_0=found 2"]
    assert log == [*prompt_of(model), "assistant: done"]


async def test_repeated_user_message_with_idempotent_ids_is_stored_once(talk: Talk) -> None:
    """The cost of content-based ids; a run id as salt, or random ids, avoid it."""
    for text in ("yes", "yes"):
        await talk.ask(talk.kit.ScriptedModel(["fine"]), idempotent(talk), text)
    assert len(await talk.events()) == 2
