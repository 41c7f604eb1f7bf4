"""Content that cannot be stored, and failing appends: no answer is lost, and the log stays whole."""

from __future__ import annotations

from typing import Any

import pytest

from threadkeep import errors
from threadkeep.chat import AnswerNotStored, Text, Tool, ToolCallLimits, ToolDefinition, ToolOutput, UnknownTool, context_keys

from ..conversations import Talk, look_tool, prompt_of
from .test_memory_rounds import ROUND, calls
from .test_resume import Killed, Mortal


def failing_at(talk: Talk, append: int) -> Any:
    """Returns a memory whose n-th append fails."""
    return talk.kit.SessionMemoryAdvisor(Mortal(talk.sdk, append, stores=False))


async def test_append_failure_of_final_answer_raises_answer_not_stored(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([calls("c1"), "done", "done again"])
    with pytest.raises(AnswerNotStored, match=r"\.response") as caught:
        await talk.ask_with_tools(model, failing_at(talk, 4), "hi", tools=[look_tool()])
    assert (caught.value.response.text, type(caught.value.__cause__)) == ("done", Killed)
    assert await talk.log() == ROUND
    await talk.ask_with_tools(model, talk.memory(), tools=[look_tool()], context={context_keys.RESUME: True})
    assert await talk.log() == [*ROUND, "assistant: done again"]


@pytest.mark.parametrize("end", ["returnDirect", "toolCallLimitExceeded", "toolIterationsExceeded"])
async def test_append_failure_of_loop_answer_raises_answer_not_stored(talk: Talk, end: str) -> None:
    manager = talk.kit.ToolCallingManager(limits=ToolCallLimits(per_tool=0 if end == "toolCallLimitExceeded" else 9))
    loop = {"manager": manager, "max_iterations": 1 if end == "toolIterationsExceeded" else 9}
    model = talk.kit.ScriptedModel([calls("c1"), "fine"])
    with pytest.raises(AnswerNotStored) as caught:
        await talk.ask_with_tools(model, failing_at(talk, 3), "hi", tools=[look_tool(return_direct=True)], loop=loop)
    response = caught.value.response.response
    assert response is not None
    assert (response.finish_reason, bool(response.text)) == (end, True)
    assert await talk.log() == ROUND[:2]
    await talk.ask(model, talk.memory(), "more")
    assert prompt_of(model) == ["user: hi", "user: more"]


async def test_append_failure_before_an_answer_raises_the_original_error(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([calls("c1"), calls("c2"), calls("c3", name="unknown")])
    for append, left in ((1, []), (2, ["user: hi"]), (3, ["user: hi", "user: hi", "assistant: [look c2]"])):
        with pytest.raises(Killed):
            await talk.ask_with_tools(model, failing_at(talk, append), "hi", tools=[look_tool()])
        assert await talk.log() == left
    with pytest.raises(UnknownTool) as caught:
        await talk.ask_with_tools(model, failing_at(talk, 3), "hi", tools=[look_tool()])
    assert len(caught.value.__notes__) == 1


async def test_tool_result_too_large_for_an_event_ends_only_the_turn(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([calls("c1"), "fine"])
    with pytest.raises(errors.EventTooLarge):
        await talk.ask_with_tools(model, talk.memory(), "hi", tools=[look_tool("x" * (17 << 20))])
    assert await talk.log() == ROUND[:2]
    await talk.ask(model, talk.memory(), "more")
    assert prompt_of(model) == ["user: hi", "user: more"]


@pytest.mark.parametrize(
    "output", ["\ud83d", ToolOutput((Text("\ud83d"),)), OSError("\ud83d"), ToolOutput(structured_json='["\ud83d"]')]
)
async def test_lone_surrogates_in_tool_results_are_replaced(talk: Talk, output: Any) -> None:
    """File names may have lone surrogates; events cannot."""

    def lists(arguments: str, context: Any) -> Any:
        if isinstance(output, Exception):
            raise output
        return output

    model = talk.kit.ScriptedModel([calls("c1"), "done"])
    await talk.ask_with_tools(model, talk.memory(), "hi", tools=[Tool(ToolDefinition("look"), lists)])
    assert [each.replace('["\N{REPLACEMENT CHARACTER}"]', "\N{REPLACEMENT CHARACTER}") for each in await talk.log()] == [
        *ROUND[:2],
        "tool: c1=\N{REPLACEMENT CHARACTER}",
        "assistant: done",
    ]


@pytest.mark.parametrize(
    "output",
    [3, ToolOutput(["text"]), ToolOutput((Text(None),)), ToolOutput(structured_json={})],  # type: ignore[arg-type]
)
async def test_tool_output_of_invalid_type_is_an_error_result(talk: Talk, output: Any) -> None:
    model = talk.kit.ScriptedModel([calls("c1"), "done"])
    tools = [Tool(ToolDefinition("look"), lambda arguments, context: output)]
    await talk.ask_with_tools(model, talk.memory(), "hi", tools=tools)
    [result] = model.prompts[-1].messages[-1].tool_results
    assert result.is_error
    assert "ToolOutput" in result.text
    assert len(await talk.log()) == 4
