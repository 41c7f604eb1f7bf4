"""The tool loop, for call and stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from threadkeep.chat import (
    ChatClientRequest,
    ChatOptions,
    ChatResponse,
    InvalidChain,
    Prompt,
    Role,
    ToolCall,
    ToolOptions,
    Usage,
    assistant,
    system,
    tool,
    user,
)
from threadkeep.chat.context_keys import HIGHEST_PRECEDENCE, LOWEST_PRECEDENCE
from threadkeep.chat.tools.executions import ToolExecution

from ..async_and_sync import Kit, Way, text_of
from ..recording_loops import recording
from ..tool_loop import RecordingTools, answer_calling, answer_saying, loop, manager_with_execute, memory, request


async def test_invalid_loop_settings_are_rejected_by_name(kit: Kit) -> None:
    with pytest.raises(TypeError, match="manager"):
        kit.ToolCallingAdvisor(manager=object())
    with pytest.raises(TypeError, match="eligible"):
        kit.ToolCallingAdvisor(eligible=None)
    for order in (HIGHEST_PRECEDENCE, LOWEST_PRECEDENCE):
        with pytest.raises(ValueError, match="order"):
            kit.ToolCallingAdvisor(order=order)
    with pytest.raises(ValueError, match="max_iterations"):
        kit.ToolCallingAdvisor(max_iterations=0)
    with pytest.raises(ValueError, match="concurrent"):
        kit.ToolCallingAdvisor(manager=kit.ToolCallingManager(), concurrent=True)


async def test_loop_defaults_and_given_settings(kit: Kit) -> None:
    advisor = kit.ToolCallingAdvisor()
    assert (advisor.name, advisor.order, advisor.internal_history) == ("Tool Calling Advisor", HIGHEST_PRECEDENCE + 300, True)
    assert advisor.runs_tools
    assert isinstance(advisor.manager, kit.ToolCallingManager)
    manager = kit.ToolCallingManager()
    other = kit.ToolCallingAdvisor(manager=manager, order=5, name="mine", internal_history=False)
    assert (other.name, other.order, other.internal_history, other.manager) == ("mine", 5, False, manager)
    assert not advisor.changed(internal_history=False).internal_history


async def test_copy_of_loop_keeps_type_and_unchanged_settings(kit: Kit, way: Way) -> None:
    seen: list[str] = []
    advisor = recording(kit, seen=seen, name="mine")
    copied = advisor.changed(internal_history=False, order=7)
    assert type(copied) is type(advisor)
    assert (copied.name, copied.order, copied.internal_history) == ("mine", 7, False)
    assert (advisor.order, advisor.internal_history) == (HIGHEST_PRECEDENCE + 300, True)
    await way.ask(kit.AdvisorChain([copied], kit.ScriptedModel(["hello"])), request())
    assert seen == ["initialize", "before", "after", "finalize"]
    mine: list[str] = []
    await way.ask(kit.AdvisorChain([advisor.changed(seen=mine)], kit.ScriptedModel(["hello"])), request())
    assert mine == seen
    with pytest.raises(TypeError, match="no setting 'color'; it has: manager, order"):
        advisor.changed(color="red")
    with pytest.raises(ValueError, match="order"):
        advisor.changed(order=LOWEST_PRECEDENCE)


async def test_ineligible_answer_runs_no_tool(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    model = kit.ScriptedModel([answer_calling("clock", text="let me see")])
    answers = await way.ask(loop(kit, model, eligible=lambda answer: False), request(runs.tool("clock")))
    assert (text_of(answers), runs.made, len(model.prompts)) == ("let me see", [], 1)
    assert [call.name for answer in answers for call in answer.tool_calls] == ["clock"]  # the caller may run them


async def test_eligible_answer_without_calls_is_executed(kit: Kit, way: Way) -> None:
    executed: list[Prompt] = []

    def execute(prompt: Prompt, response: object) -> ToolExecution:
        executed.append(prompt)
        return ToolExecution((*prompt.messages, assistant("looking"), tool()))

    verdicts = iter([True, False])
    model = kit.ScriptedModel(["looking", "found"])
    chain = loop(kit, model, manager=manager_with_execute(kit, execute), eligible=lambda answer: next(verdicts))
    answers = await way.ask(chain, request())
    assert text_of(answers).endswith("found")
    assert (len(model.prompts), len(executed)) == (2, 1)


@pytest.mark.parametrize("options", [None, ChatOptions(model="plain")])
async def test_request_without_tool_options_passes_unchanged(kit: Kit, way: Way, options: ChatOptions | None) -> None:
    advisor = recording(kit)
    model = kit.ScriptedModel([answer_calling("clock")])
    answers = await way.ask(kit.AdvisorChain([advisor], model), ChatClientRequest((user("hi"),), options))
    assert [call.name for answer in answers for call in answer.tool_calls] == ["clock"]
    assert model.prompts == [Prompt((user("hi"),), options)]
    assert advisor._seen == []


async def test_answer_without_calls_ends_the_loop(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    usage = Usage(1, 2, 3, native={"tokens": 3})
    model = kit.ScriptedModel([answer_saying("ten past nine", usage)])
    answers = await way.ask(loop(kit, model), request(runs.tool("clock")))
    assert (text_of(answers), len(model.prompts), runs.made) == ("ten past nine", 1, [])
    assert (answers[-1].usage, answers[-1].usage.native) == (usage, {"tokens": 3})


async def test_response_without_answer_is_returned_unchanged(kit: Kit) -> None:
    silent = kit.advisor(after=lambda response: response.with_response(None))
    chain = loop(kit, kit.ScriptedModel([answer_calling("clock")]), silent, eligible=lambda answer: True)
    answer = await kit.of(chain.next_call, request(RecordingTools().tool("clock")))
    assert answer.response is None


async def test_one_round_sends_the_result_to_the_model(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    model = kit.ScriptedModel([answer_calling("clock"), "ten past nine"])
    answers = await way.ask(loop(kit, model), request(runs.tool("clock", "9:10")))
    assert (text_of(answers), runs.made) == ("ten past nine", ["clock"])
    assert not any(answer.tool_calls for answer in answers)
    assert [message.role for message in model.prompts[1].messages] == [Role.USER, Role.ASSISTANT, Role.TOOL]
    [result] = model.prompts[1].messages[-1].tool_results
    assert (result.call_id, result.name, result.text, result.is_error) == ("c1", "clock", "9:10", False)


async def test_two_rounds_run_all_calls_and_extend_the_history(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    model = kit.ScriptedModel([answer_calling("clock"), answer_calling("weather", "clock"), "rain at ten past nine"])
    answers = await way.ask(loop(kit, model), request(runs.tool("clock"), runs.tool("weather")))
    assert (text_of(answers), runs.made) == ("rain at ten past nine", ["clock", "weather", "clock"])
    assert [len(prompt.messages) for prompt in model.prompts] == [1, 3, 5]


async def test_usage_of_all_rounds_is_summed(kit: Kit, way: Way) -> None:
    first = Usage(10, 20, 30, cache_read_tokens=100, cache_write_tokens=5, reasoning_tokens=4, native={"n": 1})
    last = Usage(1, 2, 3, cache_read_tokens=200, native={"n": 2})
    model = kit.ScriptedModel([answer_calling("clock", usage=first), answer_saying("done", last)])
    answers = await way.ask(loop(kit, model), request(RecordingTools().tool("clock")))
    assert answers[-1].usage == Usage(11, 22, 33, cache_read_tokens=300, cache_write_tokens=5, reasoning_tokens=4)
    assert answers[-1].usage.native is None


async def test_loop_without_internal_history_sends_last_message_and_gives_tools_the_whole_turn(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    model = kit.ScriptedModel([answer_calling("clock"), answer_calling("clock"), "done"])
    chain = loop(kit, model, internal_history=False)
    await way.ask(chain, request(runs.tool("clock")))
    assert [[message.role for message in prompt.messages] for prompt in model.prompts] == [
        [Role.USER],
        [Role.TOOL],
        [Role.TOOL],
    ]
    assert [len(context.history) for context in runs.contexts] == [2, 4]  # the turn and the message with the call


async def test_loop_without_internal_history_keeps_the_first_system_message(kit: Kit, way: Way) -> None:
    model = kit.ScriptedModel([answer_calling("clock"), "done"])
    question = request(RecordingTools().tool("clock")).with_messages(
        user("first"), system("be brief"), system("and kind"), user("now")
    )
    await way.ask(loop(kit, model, internal_history=False), question)
    assert [message.role for message in model.prompts[1].messages] == [Role.SYSTEM, Role.TOOL]
    assert model.prompts[1].messages[0].text == "be brief"


async def test_hooks_run_in_order_once_per_turn_or_round(kit: Kit, way: Way) -> None:
    advisor = recording(kit)
    model = kit.ScriptedModel(["hello", answer_calling("clock"), "done"])
    chain = kit.AdvisorChain([advisor], model)
    await way.ask(chain, request(RecordingTools().tool("clock")))
    assert advisor._seen == ["initialize", "before", "after", "finalize"]
    advisor._seen.clear()
    await way.ask(chain, request(RecordingTools().tool("clock")))
    assert advisor._seen == ["initialize", "before", "after", "next", "before", "after", "finalize"]


def changing(kit: Kit, change: Callable[[ChatClientRequest], ChatClientRequest]) -> Any:
    """Returns a loop that applies `change` to the request of each round."""

    class Async(kit.ToolCallingAdvisor):  # type: ignore[name-defined]
        async def before_call(self, request: ChatClientRequest, chain: object) -> ChatClientRequest:
            return change(request)

    class Sync(kit.ToolCallingAdvisor):  # type: ignore[name-defined]
        def before_call(self, request: ChatClientRequest, chain: object) -> ChatClientRequest:
            return change(request)

    return Async() if kit.is_async else Sync()


async def test_tools_added_before_a_round_can_be_run(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    added = ToolOptions(tools=(runs.tool("clock"),))
    adding = changing(kit, lambda request: request.with_options(added.over(request.options)))
    model = kit.ScriptedModel([answer_calling("clock"), "done"])
    answers = await way.ask(kit.AdvisorChain([adding], model), request())
    assert (text_of(answers), runs.made) == ("done", ["clock"])
    assert all(isinstance(prompt.options, ToolOptions) and len(prompt.options.tools) == 1 for prompt in model.prompts)


async def test_each_round_starts_with_the_original_options(kit: Kit, way: Way) -> None:
    seen: list[int] = []

    def take_one(request: ChatClientRequest) -> ChatClientRequest:
        assert isinstance(request.options, ToolOptions)
        seen.append(len(request.options.tools))
        return request.with_options(request.options.changed(tools=request.options.tools[:1]))

    runs = RecordingTools()
    model = kit.ScriptedModel([answer_calling("clock"), "done"])
    await way.ask(kit.AdvisorChain([changing(kit, take_one)], model), request(runs.tool("clock"), runs.tool("weather")))
    assert seen == [2, 2]


async def test_messages_added_by_a_hook_stay_in_the_turn(kit: Kit, way: Way) -> None:
    """With internal history; without it each round starts from the next instructions."""

    def hinted(request: ChatClientRequest) -> ChatClientRequest:
        return request.with_messages(*request.messages, user(f"hint {len(request.messages)}"))

    runs = RecordingTools()
    model = kit.ScriptedModel([answer_calling("clock"), answer_calling("clock"), "done"])
    await way.ask(kit.AdvisorChain([changing(kit, hinted)], model), request(runs.tool("clock"), text="hi"))
    said = [[message.text for message in context.history if message.role is Role.USER] for context in runs.contexts]
    assert said == [["hi", "hint 1"], ["hi", "hint 1", "hint 4"]]
    assert [message.text for message in model.prompts[2].messages if message.role is Role.USER][-1] == "hint 7"


async def test_context_of_a_round_is_passed_to_the_next(kit: Kit, way: Way) -> None:
    counting = kit.advisor(before=lambda request: request.with_context({"rounds": request.context.get("rounds", 0) + 1}))
    model = kit.ScriptedModel([answer_calling("clock"), answer_calling("clock"), "done"])
    answers = await way.ask(loop(kit, model, counting), request(RecordingTools().tool("clock")).with_context({"mine": 1}))
    assert dict(answers[-1].context) == {"mine": 1, "rounds": 3}


async def test_tools_see_the_tool_context_but_not_the_advisor_context(kit: Kit, way: Way) -> None:
    runs = RecordingTools()
    question = request(runs.tool("clock"), tool_context={"tenant": "acme"}).with_context({"secret": "for advisors"})
    await way.ask(loop(kit, kit.ScriptedModel([answer_calling("clock"), "done"])), question)
    [context] = runs.contexts
    assert (dict(context.values), context.call_id) == ({"tenant": "acme"}, "c1")


async def test_model_failure_in_later_round_ends_the_turn_without_recording(kit: Kit, way: Way) -> None:
    kept = memory(kit)
    model = kit.ScriptedModel([answer_calling("clock"), InvalidChain("the line is cut")])
    with pytest.raises(InvalidChain, match="the line is cut"):
        await way.ask(loop(kit, model, kept), request(RecordingTools().tool("clock")))
    assert kept.recorded == []


async def test_inner_advisor_runs_per_round_and_outer_advisor_per_turn(kit: Kit, way: Way) -> None:
    inner: list[int] = []
    outer: list[int] = []
    chain = kit.AdvisorChain(
        [
            kit.advisor(order=HIGHEST_PRECEDENCE, before=lambda request: outer.append(len(request.messages))),
            kit.ToolCallingAdvisor(),
            kit.advisor(before=lambda request: inner.append(len(request.messages))),
        ],
        kit.ScriptedModel([answer_calling("clock"), "done"]),
    )
    await way.ask(chain, request(RecordingTools().tool("clock")))
    assert (outer, inner) == ([1], [1, 3])


async def test_calls_in_a_later_generation_are_run(kit: Kit) -> None:
    runs = RecordingTools()
    first = answer_saying("I could look").generations[0]
    model = kit.ScriptedModel([ChatResponse((first, *answer_calling("clock").generations)), "done"])
    answer = await kit.of(loop(kit, model).next_call, request(runs.tool("clock")))
    assert (answer.text, runs.made) == ("done", ["clock"])
    assert model.prompts[1].messages[1].tool_calls == (ToolCall("c1", "clock", "{}"),)
