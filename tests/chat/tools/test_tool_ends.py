"""Turns that end without another model call, what memories record of them, and resumed turns."""

from __future__ import annotations

import pytest

from threadkeep.chat import (
    AnswerNotStored,
    ChatClientResponse,
    Message,
    Role,
    Text,
    ToolCall,
    ToolCallLimitExceeded,
    ToolCallLimits,
    ToolFailed,
    ToolOutput,
    ToolResult,
    UnknownTool,
    Usage,
    tool,
    user,
)
from threadkeep.chat.context_keys import RESUME
from threadkeep.chat.tools.executions import PARTIAL_RESULTS, TOOL_ID, TOOL_NAME, complete_results
from threadkeep.chat.types.responses import RETURN_DIRECT, TOOL_CALL_LIMIT_EXCEEDED, TOOL_ITERATIONS_EXCEEDED

from ..async_and_sync import Kit, Way, response_of, text_of
from ..tool_loop import RecordingTools, answer_calling, answer_saying, failing, loop, memory, request


def results_of(messages: tuple[Message, ...]) -> list[tuple[str, str, bool]]:
    """Returns the results of the TOOL message, which comes first: call id, text, and whether it is an error."""
    assert messages[0].role is Role.TOOL
    return [(result.call_id, result.text, result.is_error) for result in messages[0].tool_results]


async def test_return_direct_result_is_the_answer(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    kept = memory(kit)
    model = kit.ScriptedModel([answer_calling("clock")])
    answers = await way.ask(loop(kit, model, kept), request(runs.tool("clock", "9:10", return_direct=True)))
    end = response_of(answers)
    assert (text_of(answers), end.finish_reason, runs.made, len(model.prompts)) == ("9:10", RETURN_DIRECT, ["clock"], 1)
    assert dict(end.generations[0].metadata) == {TOOL_ID: "c1", TOOL_NAME: "clock"}
    [(question, messages)] = kept.recorded
    assert results_of(messages) == [("c1", "9:10", False)]
    assert [message.text for message in messages[1:]] == ["9:10"]
    assert question.messages == (user("what time is it?"),)


async def test_each_return_direct_result_is_a_generation(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    kept = memory(kit)
    structured = runs.tool("weather", ToolOutput(structured_json='{"rain": true}'), return_direct=True)
    clock = runs.tool("clock", ToolOutput((Text("9:"), Text("10"))), return_direct=True)
    answers = await way.ask(
        loop(kit, kit.ScriptedModel([answer_calling("weather", "clock")]), kept), request(structured, clock)
    )
    assert [each.message.text for each in response_of(answers).generations] == ['{"rain": true}', "9:10"]
    assert [message.text for message in kept.recorded[0][1][1:]] == ['{"rain": true}', "9:10"]


async def test_usage_is_summed_when_a_later_round_returns_direct(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    model = kit.ScriptedModel(
        [answer_calling("weather", usage=Usage(10, 20, 30)), answer_calling("clock", usage=Usage(1, 2, 3))]
    )
    tools = (runs.tool("weather"), runs.tool("clock", "9:10", return_direct=True))
    answers = await way.ask(loop(kit, model), request(*tools))
    assert (text_of(answers), answers[-1].usage) == ("9:10", Usage(11, 22, 33))


@pytest.mark.parametrize("concurrent", [False, True])
async def test_call_limit_ends_the_turn_with_its_message(kit: Kit, way: Way, concurrent: bool) -> None:
    runs = RecordingTools()
    kept = memory(kit)
    manager = kit.ToolCallingManager(limits=ToolCallLimits(per_tool=1), concurrent=concurrent)
    model = kit.ScriptedModel([answer_calling("weather", "clock", "clock", "weather")])
    chain = loop(kit, model, kept, manager=manager)
    answers = await way.ask(chain, request(runs.tool("clock"), runs.tool("weather")))
    end = response_of(answers)
    breach = "the tool 'clock' cannot be called again in this turn: the limit is 1"
    assert (text_of(answers), end.finish_reason) == (breach, TOOL_CALL_LIMIT_EXCEEDED)
    assert (sorted(runs.made), len(model.prompts)) == (["clock", "weather"], 1)
    partial = end.generations[0].metadata[PARTIAL_RESULTS]
    assert [(result.call_id, result.text) for result in partial] == [("c1", "weather says so"), ("c2", "clock says so")]
    [(_, messages)] = kept.recorded
    not_run = f"not run: {breach}"
    assert results_of(messages) == [
        ("c1", "weather says so", False),
        ("c2", "clock says so", False),
        ("c3", not_run, True),
        ("c4", not_run, True),
    ]
    assert [message.text for message in messages[1:]] == [breach]


async def test_iteration_limit_ends_the_turn_with_its_message(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    kept = memory(kit)
    model = kit.ScriptedModel([answer_calling("clock", usage=Usage(1, 1, 2))] * 3)
    answers = await way.ask(loop(kit, model, kept, max_iterations=3), request(runs.tool("clock")))
    end = response_of(answers)
    assert (end.finish_reason, end.text) == (
        TOOL_ITERATIONS_EXCEEDED,
        "the turn was ended: after 3 answers the model still called tools",
    )
    assert (len(model.prompts), runs.made, end.usage) == (3, ["clock", "clock"], Usage(3, 3, 6))
    [(_, messages)] = kept.recorded
    assert results_of(messages) == [("c1", f"not run: {end.text}", True)]
    assert [message.text for message in messages[1:]] == [end.text]


async def test_last_allowed_iteration_may_answer(kit: Kit, way: Way) -> None:
    kept = memory(kit)
    chain = loop(kit, kit.ScriptedModel([answer_calling("clock"), "done"]), kept, max_iterations=2)
    assert text_of(await way.ask(chain, request(RecordingTools().tool("clock")))) == "done"
    assert kept.recorded == []


async def test_loop_without_iteration_limit_is_unbounded(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    chain = loop(kit, kit.ScriptedModel([answer_calling("clock")] * 60 + ["done"]), max_iterations=None, manager=unlimited(kit))
    assert text_of(await way.ask(chain, request(runs.tool("clock")))) == "done"
    assert len(runs.made) == 60


def unlimited(kit: Kit) -> object:
    return kit.ToolCallingManager(limits=ToolCallLimits(per_tool=None, total=None))


async def test_unknown_tool_raises_and_records_a_result_for_every_call(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    kept = memory(kit)
    with pytest.raises(UnknownTool, match="'clocks', which is not a tool of this request; its tools: clock"):
        await way.ask(loop(kit, kit.ScriptedModel([answer_calling("clock", "clocks")]), kept), request(runs.tool("clock")))
    assert runs.made == []
    [(_, messages)] = kept.recorded
    assert [(call, is_error) for call, _, is_error in results_of(messages)] == [("c1", True), ("c2", True)]
    assert len(messages) == 1


async def test_failed_tool_raises_when_configured_and_keeps_earlier_results(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    kept = memory(kit)
    chain = loop(
        kit,
        kit.ScriptedModel([answer_calling("clock", "broken", "clock")]),
        kept,
        manager=kit.ToolCallingManager(errors_to_model=False),
    )
    with pytest.raises(ToolFailed, match="the tool 'broken' failed: no battery") as failed:
        await way.ask(chain, request(runs.tool("clock"), runs.tool("broken", failing(OSError("no battery")))))
    assert isinstance(failed.value.__cause__, OSError)
    assert runs.made == ["clock", "broken"]
    assert [(call, is_error) for call, _, is_error in results_of(kept.recorded[0][1])] == [
        ("c1", False),
        ("c2", True),
        ("c3", True),
    ]


async def test_failing_memory_does_not_hide_the_end_of_the_turn(kit: Kit, way: Way) -> None:
    kept = memory(kit, error=OSError("no server"))
    with pytest.raises(UnknownTool) as unknown:
        await way.ask(loop(kit, kit.ScriptedModel([answer_calling("clock")]), kept), request())
    assert unknown.value.__notes__ == ["in addition, the memory could not store the results: no server"]
    with pytest.raises(AnswerNotStored, match="no server") as ended:  # an answer that was not stored is not returned
        await way.ask(
            loop(kit, kit.ScriptedModel([answer_calling("clock")]), kept),
            request(RecordingTools().tool("clock", return_direct=True)),
        )
    assert ended.value.response.text == "clock says so"


async def test_memory_records_with_the_context_of_the_round(kit: Kit, way: Way) -> None:
    kept = memory(kit)
    marking = kit.advisor(order=1, before=lambda request: request.with_context({"mark": 1}))
    chain = loop(kit, kit.ScriptedModel([answer_calling("clock")]), kept, marking)
    await way.ask(chain, request(RecordingTools().tool("clock", return_direct=True)).with_context({"mine": 2}))
    [(question, _)] = kept.recorded
    assert dict(question.context) == {"mine": 2, "mark": 1}


def test_complete_results_gives_each_call_one_result_for_duplicate_ids() -> None:
    calls = [ToolCall("a", "clock"), ToolCall("a", "clock"), ToolCall("a", "weather"), ToolCall("b", "clock")]
    done = tool(ToolResult("a", "weather", (Text("rain"),)), ToolResult("a", "clock", (Text("9:10"),)))
    assert results_of((complete_results(calls, done, "no time"),)) == [
        ("a", "9:10", False),
        ("a", "not run: no time", True),
        ("a", "rain", False),
        ("b", "not run: no time", True),
    ]


async def test_memory_outside_loop_records_no_results(kit: Kit, way: Way) -> None:
    kept = memory(kit)
    chain = kit.AdvisorChain([kept, kit.ToolCallingAdvisor(order=5)], kit.ScriptedModel([answer_calling("clock")]))
    await way.ask(chain, request(RecordingTools().tool("clock", return_direct=True)))
    assert kept.recorded == []


async def test_resumed_turn_begins_with_the_open_calls(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    left = ChatClientResponse(answer_calling("clock"), {"history": "kept"})
    kept = memory(kit, pending=left)
    model = kit.ScriptedModel([answer_calling("weather"), "done"])
    question = request(runs.tool("clock"), runs.tool("weather")).with_messages().with_context({RESUME: True})
    answers = await way.ask(loop(kit, model, kept, internal_history=False), question)
    assert (text_of(answers), runs.made, kept.pending_reads) == ("done", ["clock", "weather"], 1)
    assert not any(answer.tool_calls for answer in answers)
    assert [[message.role for message in each.messages] for each in kept.requests] == [[Role.TOOL], [Role.TOOL]]
    assert [(each.context["history"], each.context[RESUME]) for each in kept.requests] == [("kept", False)] * 2


async def test_resumed_turn_without_open_calls_calls_the_inner_chain(kit: Kit, way: Way) -> None:
    kept = memory(kit)
    chain = loop(kit, kit.ScriptedModel(["done"]), kept)
    assert text_of(await way.ask(chain, request().with_context({RESUME: True}))) == "done"
    assert (kept.pending_reads, kept.requests[0].context[RESUME]) == (1, True)
    await way.ask(loop(kit, kit.ScriptedModel(["done"]), kept), request())
    assert kept.pending_reads == 1


async def test_limit_error_has_the_partial_results(kit: Kit) -> None:
    manager = kit.ToolCallingManager(limits=ToolCallLimits(total=1))
    question = request(RecordingTools().tool("clock"))
    with pytest.raises(ToolCallLimitExceeded) as breach:
        await kit.of(manager.execute, question.prompt, answer_calling("clock", "clock"))
    assert breach.value.partial is not None
    assert [result.call_id for result in breach.value.partial.tool_results] == ["c1"]
    with pytest.raises(ValueError, match="no tool calls"):
        await kit.of(manager.execute, question.prompt, answer_saying("hello"))
