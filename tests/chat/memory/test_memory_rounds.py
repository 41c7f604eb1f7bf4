"""Session memory inside the tool loop: every step is stored as it happens, and each round sends the whole turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import threadkeep
from threadkeep import MemoryProvider
from threadkeep.chat import (
    ChatResponse,
    Generation,
    Role,
    Tool,
    ToolCall,
    ToolCallLimits,
    ToolDefinition,
    ToolFailed,
    ToolOptions,
    ToolResult,
    UnknownTool,
    assistant,
    by_role,
    context_keys,
    system,
    tool,
)
from threadkeep.chat.types.messages import Text

from ..async_and_sync import response_of, text_of
from ..conversations import CountingClient, Talk, look_tool, prompt_of


def calls(*ids: str, name: str = "look") -> Any:
    return assistant(tool_calls=[ToolCall(each, name, "{}") for each in ids])


def found(call_id: str, text: str = "found") -> Any:
    return tool(ToolResult(call_id, "look", (Text(text),)))


ROUND = ["user: hi", "assistant: [look c1]", "tool: c1=found"]


async def test_each_step_is_stored_before_the_next_begins(talk: Talk) -> None:
    seen: list[list[str]] = []

    def log() -> list[str]:
        with threadkeep.Client(talk.sdk.address, app="shop", user_id="alice") as other:
            return [f"ROLE_{event.role.upper()}" for event in other.events(talk.session)]

    def look(arguments: str, context: Any) -> str:
        seen.append(log())
        return "found"

    def answer(prompt: Any) -> str:
        seen.append(log())
        return "done"

    model = talk.kit.ScriptedModel([calls("c1"), answer])
    await talk.ask_with_tools(model, talk.memory(), "hi", tools=[Tool(ToolDefinition("look"), look)])
    begun = ["ROLE_USER", "ROLE_ASSISTANT"]
    assert seen == [begun, [*begun, "ROLE_TOOL"]]
    assert await talk.log() == [*ROUND, "assistant: done"]


@pytest.mark.parametrize("internal_history", [True, False])
async def test_each_round_sends_the_whole_turn_once(talk: Talk, internal_history: bool) -> None:
    await talk.append(threadkeep.user("before"), threadkeep.assistant("yes"))
    model = talk.kit.ScriptedModel([calls("c1"), calls("c2", "c3"), "done"])
    loop = {"internal_history": internal_history}
    answers = await talk.ask_with_tools(model, talk.memory(), system("Be brief."), "hi", tools=[look_tool()], loop=loop)
    assert text_of(answers) == "done"
    history = ["system: Be brief.", "user: before", "assistant: yes"]
    assert prompt_of(model, 0) == [*history, "user: hi"]
    assert prompt_of(model, 1) == [*history, *ROUND]
    second = ["assistant: [look c2] [look c3]", "tool: c2=found c3=found"]
    assert prompt_of(model, 2) == [*history, *ROUND, *second]
    assert await talk.log() == ["user: before", "assistant: yes", *ROUND, *second, "assistant: done"]


async def test_history_is_read_once_per_turn(talk: Talk) -> None:
    counted = CountingClient(talk.sdk)
    memory = talk.kit.SessionMemoryAdvisor(counted)
    model = talk.kit.ScriptedModel([*(calls(f"c{n}") for n in range(12)), "done", "again"])
    await talk.ask_with_tools(model, memory, "hi", tools=[look_tool()])
    assert counted.calls == {"get_context": 1, "append": 26}
    await talk.ask_with_tools(model, memory, "more", tools=[look_tool()])
    assert counted.calls["get_context"] == 2
    assert len(prompt_of(model)) == 27


async def test_every_round_repeats_all_instructions(talk: Talk) -> None:
    """The loop itself repeats only the first system message."""
    model = talk.kit.ScriptedModel([calls("c1"), "done"])
    await talk.ask_with_tools(model, talk.memory(), system("One."), system("Two."), "hi", tools=[look_tool()])
    assert prompt_of(model) == ["system: One.", "system: Two.", *ROUND]
    bare = talk.kit.ScriptedModel([calls("c2"), "done"])
    await talk.ask_with_tools(bare, talk.memory(), "hi", tools=[look_tool()])
    assert [each for each in prompt_of(bare) if each.startswith("system")] == [], "no instructions are added"


async def test_tool_result_is_stored_only_together_with_its_call(talk: Talk) -> None:
    for roles, stored in (
        ((Role.USER, Role.ASSISTANT), [*ROUND, "assistant: done"]),
        ((Role.USER, Role.TOOL), ["user: hi"]),
    ):
        session = f"{talk.session}-{len(stored)}"
        memory, model = talk.memory(message_filter=by_role(*roles)), talk.kit.ScriptedModel([calls("c1"), "done"])
        await talk.ask_with_tools(model, memory, "hi", tools=[look_tool()], session=session)
        assert prompt_of(model) == ROUND
        assert await talk.log(session) == stored


async def test_user_controlled_tool_rounds_are_stored_once(talk: Talk) -> None:
    """Each request of the program has the whole turn."""
    memory, model = talk.memory(), talk.kit.ScriptedModel([calls("c1"), "done"])
    await talk.ask(model, memory, "hi")
    await talk.ask(model, memory, "hi", calls("c1"), found("c1"))
    assert prompt_of(model) == ROUND
    assert await talk.log() == [*ROUND, "assistant: done"]
    for mode in (MemoryProvider.limited_window().write_only(), MemoryProvider.none()):
        session = f"{talk.session}-{mode.writes}"
        model.add(calls("c1"), "done")
        context = {context_keys.MEMORY: mode}
        await talk.ask(model, memory, "hi", session=session, context=context)
        await talk.ask(model, memory, "hi", calls("c1"), found("c1"), session=session, context=context)
        assert prompt_of(model) == ROUND
        assert await talk.log(session) == ([*ROUND, "assistant: done"] if mode.writes else [])


@pytest.mark.parametrize("mode", ["none", "read_only", "write_only"])
async def test_tool_rounds_work_in_every_memory_mode(talk: Talk, mode: str) -> None:
    provider = MemoryProvider.none() if mode == "none" else getattr(MemoryProvider.limited_window(), mode)()
    model = talk.kit.ScriptedModel([calls("c1"), calls("c2"), "done"])
    await talk.ask_with_tools(model, talk.memory(memory=provider), "hi", tools=[look_tool()])
    assert prompt_of(model) == [*ROUND, "assistant: [look c2]", "tool: c2=found"]
    assert len(await talk.log()) == (6 if mode == "write_only" else 0)


async def test_repeated_call_ids_keep_results_with_their_calls(talk: Talk) -> None:
    """Some providers number the calls of each answer from zero."""
    model = talk.kit.ScriptedModel([calls("0"), calls("0"), "done", calls("0"), "again"])
    results = iter(["one", "two", "three"])
    found_next = Tool(ToolDefinition("look"), lambda arguments, context: next(results))
    for text in ("hi", "more"):
        await talk.ask_with_tools(model, talk.memory(), text, tools=[found_next])
    log = await talk.log()
    assert [each for each in log if each.startswith("tool")] == ["tool: 0=one", "tool: 0=two", "tool: 0=three"]
    assert prompt_of(model) == log[:-1]


async def test_unpaired_calls_and_results_are_hidden_from_the_model(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    def made(call: str) -> Any:
        return threadkeep.tool_call(call, "look", "{}")

    await talk.append(
        threadkeep.user("one"),
        threadkeep.assistant("I look", tool_calls=[made("c1")]),
        threadkeep.user("two"),
        threadkeep.assistant(tool_calls=[made("c2"), made("c3")]),
        threadkeep.tool_result("c3", "found", name="look"),
        threadkeep.user("three"),
        threadkeep.assistant(tool_calls=[made("c4")]),
        threadkeep.tool_result("c9", "orphan result", name="look"),
    )
    model = talk.kit.ScriptedModel(["fine"])
    await talk.ask(model, talk.memory(), found("c8", "stray result"), "four")
    shown = ["user: one", "assistant: I look", "user: two", "assistant: [look c3]", "tool: c3=found", "user: three"]
    assert prompt_of(model) == [*shown, "user: four"]
    assert "count=4" in caplog.text
    assert not [each for each in ("orphan result", "stray result", "I look") if each in caplog.text], "content is not logged"
    assert "tool: c8=stray result" not in await talk.log()


async def test_results_are_sent_directly_after_their_calls(talk: Talk) -> None:
    """A nested agent and a user wrote between the call and its result."""
    await talk.append(
        threadkeep.user("go"),
        threadkeep.assistant(tool_calls=[threadkeep.tool_call("c1", "delegate", "{}")]),
        threadkeep.user("research", branch="helper"),
        threadkeep.assistant("researched", branch="helper"),
        threadkeep.user("well?"),
        threadkeep.tool_result("c1", "researched", name="delegate"),
        threadkeep.assistant("done"),
    )
    model = talk.kit.ScriptedModel(["x", "y"])
    await talk.ask(model, talk.memory(), "new")
    assert prompt_of(model)[:3] == ["user: go", "assistant: [delegate c1]", "tool: c1=researched"]
    assert prompt_of(model)[3:] == ["user: research", "assistant: researched", "user: well?", "assistant: done", "user: new"]
    await talk.ask(model, talk.memory(branch="other"), "mine")
    assert "user: research" not in prompt_of(model)


async def test_nested_agent_on_a_branch_stores_complete_pairs(talk: Talk, caplog: pytest.LogCaptureFixture) -> None:
    """Both write to one session at the same time; each reads its own branch, and the log has every pair."""
    helper_model = talk.kit.ScriptedModel([calls("h1"), "it is 42"])
    helper_memory = talk.memory(author="helper", branch="chief.helper")
    kit, options = talk.kit, ToolOptions(tools=(look_tool(),))

    def chain() -> Any:
        return kit.AdvisorChain([kit.ToolCallingAdvisor(internal_history=False), helper_memory], helper_model)

    async def delegate_async(arguments: str, context: Any) -> str:
        return (await chain().next_call(talk.request("what is it?", options=options))).text

    def delegate_sync(arguments: str, context: Any) -> str:
        return chain().next_call(talk.request("what is it?", options=options)).text

    delegate = Tool(ToolDefinition("delegate"), delegate_async if kit.is_async else delegate_sync)
    model = kit.ScriptedModel([calls("c1", name="delegate"), "the answer is 42", "again"])
    memory = talk.memory(author="chief", branch="chief")
    assert text_of(await talk.ask_with_tools(model, memory, "find out", tools=[delegate])) == "the answer is 42"
    assert prompt_of(model) == ["user: find out", "assistant: [delegate c1]", "tool: c1=it is 42"]
    assert prompt_of(helper_model) == ["user: find out", "user: what is it?", "assistant: [look h1]", "tool: h1=found"]
    # Other loggers may warn of a busy machine.
    assert not [each for each in caplog.records if each.name == "threadkeep.chat"], (
        "an open call of the chief is no defect of the history"
    )
    branches = [event.branch for event in await talk.events()]
    assert branches == ["chief"] * 2 + ["chief.helper"] * 4 + ["chief"] * 2
    await talk.ask(model, memory, "once more")
    assert prompt_of(model) == [
        "user: find out",
        "assistant: [delegate c1]",
        "tool: c1=it is 42",
        "assistant: the answer is 42",
        "user: once more",
    ]


async def test_concurrent_turns_in_one_session_keep_their_pairs(talk: Talk) -> None:
    async def one(number: int) -> None:
        model = talk.kit.ScriptedModel([calls(f"c{number}"), f"done {number}"])
        await talk.ask_with_tools(model, talk.memory(), f"q{number}", tools=[look_tool(f"found {number}")])
        assert prompt_of(model)[-2:] == [f"assistant: [look c{number}]", f"tool: c{number}=found {number}"]

    await asyncio.gather(*map(one, range(5)))
    model = talk.kit.ScriptedModel(["x"])
    await talk.ask(model, talk.memory(), "all")
    shown = prompt_of(model)
    assert len(shown) == 21
    for number in range(5):
        at = shown.index(f"assistant: [look c{number}]")
        assert shown[at + 1] == f"tool: c{number}=found {number}"


async def test_return_direct_results_are_stored_as_answers(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([calls("c1", "c2"), "next"])
    answers = await talk.ask_with_tools(model, talk.memory(), "hi", tools=[look_tool(return_direct=True)])
    assert response_of(answers).finish_reason == "returnDirect"
    turn = ["user: hi", "assistant: [look c1] [look c2]", "tool: c1=found c2=found", "assistant: found", "assistant: found"]
    assert await talk.log() == turn
    await talk.ask(model, talk.memory(), "more")
    assert prompt_of(model) == [*turn, "user: more"]


async def test_turn_over_call_limit_stores_a_result_for_every_call(talk: Talk) -> None:
    manager = talk.kit.ToolCallingManager(limits=ToolCallLimits(per_tool=1))
    model = talk.kit.ScriptedModel([calls("c1", "c2"), "next"])
    answers = await talk.ask_with_tools(model, talk.memory(), "hi", tools=[look_tool()], loop={"manager": manager})
    assert response_of(answers).finish_reason == "toolCallLimitExceeded"
    await talk.ask(model, talk.memory(), "more")
    user, call, result, answer, more = prompt_of(model)
    assert (user, call, more) == ("user: hi", "assistant: [look c1] [look c2]", "user: more")
    assert result.startswith("tool: c1=found c2=not run")
    assert answer == f"assistant: {text_of(answers)}"
    results = [event for event in await talk.events() if event.message.parts[0].HasField("tool_result")]
    assert [part.tool_result.is_error for part in results[0].message.parts] == [False, True]


async def test_turn_over_iteration_limit_stores_a_result_for_every_call(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([calls("c1"), calls("c2")])
    await talk.ask_with_tools(model, talk.memory(), "hi", tools=[look_tool()], loop={"max_iterations": 2})
    log = await talk.log()
    assert log[:4] == [*ROUND, "assistant: [look c2]"]
    assert log[4].startswith("tool: c2=not run")
    assert log[5].startswith("assistant: ")


async def test_turn_ended_by_error_stores_a_result_for_every_call(talk: Talk) -> None:
    def fails(arguments: str, context: Any) -> str:
        raise OSError("no disk")

    model = talk.kit.ScriptedModel([calls("c1"), calls("c2", name="unknown"), "next"])
    manager = talk.kit.ToolCallingManager(errors_to_model=False)
    for error in (ToolFailed, UnknownTool):
        with pytest.raises(error):
            await talk.ask_with_tools(
                model, talk.memory(), "hi", tools=[Tool(ToolDefinition("look"), fails)], loop={"manager": manager}
            )
    await talk.ask(model, talk.memory(), "more")
    shape = [each.partition("=")[0] for each in prompt_of(model)]
    first = ["user: hi", "assistant: [look c1]", "tool: c1"]
    assert shape == [*first, "user: hi", "assistant: [unknown c2]", "tool: c2", "user: more"]


async def test_user_message_added_between_rounds_is_stored(talk: Talk) -> None:
    """An advisor adds a user message to the next instructions of the loop."""

    def steered(request: Any) -> Any:
        if request.messages[-1].role is not Role.TOOL:
            return None
        return request.with_messages(*request.messages, threadkeep.chat.user("be quick"))

    model = talk.kit.ScriptedModel([calls("c1"), "done"])
    steering = talk.kit.advisor(order=context_keys.SESSION_MEMORY_ORDER - 1, before=steered)
    await talk.ask_with_tools(model, talk.memory(), "hi", tools=[look_tool()], advisors=[steering])
    assert prompt_of(model) == [*ROUND, "user: be quick"]
    assert await talk.log() == [*ROUND, "user: be quick", "assistant: done"]


async def test_session_deleted_during_a_turn_is_not_recreated(talk: Talk) -> None:
    def delete(arguments: str, context: Any) -> str:
        with threadkeep.Client(talk.sdk.address, app="shop", user_id="alice") as other:
            other.delete_session(talk.session)
        return "deleted"

    model = talk.kit.ScriptedModel([calls("c1"), "done"])
    with pytest.raises(threadkeep.errors.SessionNotFound):
        await talk.ask_with_tools(model, talk.memory(), "hi", tools=[Tool(ToolDefinition("look"), delete)])
    assert await talk.log() == []


async def test_model_failure_in_later_round_keeps_stored_steps(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([calls("c1"), RuntimeError("overloaded")])
    with pytest.raises(RuntimeError, match="overloaded"):
        await talk.ask_with_tools(model, talk.memory(), "hi", tools=[look_tool()])
    assert await talk.log() == ROUND


@pytest.mark.parametrize("way", ["call"], indirect=True)  # a stream is one generation
async def test_text_and_call_generations_of_one_answer_are_stored(talk: Talk) -> None:
    both = ChatResponse((Generation(assistant("I look"), "stop"), Generation(calls("c1"), "tool_calls")))
    model = talk.kit.ScriptedModel([both, "done"])
    await talk.ask_with_tools(model, talk.memory(), "hi", tools=[look_tool()])
    assert prompt_of(model) == ["user: hi", "assistant: I look", "assistant: [look c1]", "tool: c1=found"]
    assert await talk.log() == [*prompt_of(model), "assistant: done"]


@pytest.mark.parametrize("way", ["call"], indirect=True)
@pytest.mark.parametrize("other", [calls("b"), assistant("or so"), assistant("or so", tool_calls=calls("b").tool_calls)])
async def test_calls_of_other_generations_are_not_stored(talk: Talk, other: Any) -> None:
    """The calls that run are stored last; an interrupted turn resumes with them."""
    both = ChatResponse((Generation(calls("a"), "tool_calls"), Generation(other, "stop")))
    said = [f"assistant: {other.text}"] if other.text else []
    model = talk.kit.ScriptedModel([both, RuntimeError("overloaded"), "done"])
    with pytest.raises(RuntimeError, match="overloaded"):
        await talk.ask_with_tools(model, talk.memory(), "hi", tools=[look_tool()])
    turn = ["user: hi", *said, "assistant: [look a]", "tool: a=found"]
    assert prompt_of(model) == await talk.log() == turn
    await talk.ask_with_tools(model, talk.memory(), tools=[look_tool()], context={context_keys.RESUME: True})
    assert prompt_of(model) == turn
    assert await talk.log() == [*turn, "assistant: done"]
