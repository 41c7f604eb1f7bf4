"""Interrupted turns: the agent resumes after any last event of the log, and nothing is stored twice."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from typing import Any

import pytest

import threadkeep
from threadkeep import MemoryProvider
from threadkeep.chat import (
    AnswerNotStored,
    NothingToResume,
    Role,
    Tool,
    ToolCall,
    ToolDefinition,
    assistant,
    context_keys,
    system,
)
from threadkeep.chat.memory.events import from_event
from threadkeep.v1.event_pb2 import SessionEvent

from ..async_and_sync import text_of
from ..conversations import CountingClient, Talk, lines, look_tool, prompt_of

RESUME = {context_keys.RESUME: True}
ASKED = ["user: hi", "assistant: [look c1] [look c2]"]
FOUND = "tool: c1=found c2=found"


def question(text: str = "hi", **fields: Any) -> SessionEvent:
    return threadkeep.user(text, **fields)


def calls_of(*ids: str, **fields: Any) -> SessionEvent:
    return threadkeep.assistant(tool_calls=[threadkeep.tool_call(each, "look", "{}") for each in ids], **fields)


def results(*ids: str, **fields: Any) -> SessionEvent:
    parts = [threadkeep.tool_result_part(each, "found", name="look") for each in ids]
    return threadkeep.event("tool", parts, **fields)


async def resumed(
    talk: Talk, model: Any, *said: Any, memory: Any = None, looped: bool = True, answer: str = "found"
) -> list[Any]:
    memory = memory or talk.memory()
    if looped:
        return await talk.ask_with_tools(model, memory, *said, tools=[look_tool(answer)], context=RESUME)
    return await talk.ask(model, memory, *said, context=RESUME)


async def test_resume_after_question_calls_the_model(talk: Talk) -> None:
    await talk.append(threadkeep.user("before"), threadkeep.assistant("yes"), question())
    model = talk.kit.ScriptedModel(["hello"])
    assert text_of(await resumed(talk, model, system("Be brief."))) == "hello"
    assert prompt_of(model) == ["system: Be brief.", "user: before", "assistant: yes", "user: hi"]
    assert (await talk.log())[2:] == ["user: hi", "assistant: hello"]


async def test_resume_after_tool_calls_runs_the_tools(talk: Talk) -> None:
    await talk.append(question(), calls_of("c1", "c2"))
    model = talk.kit.ScriptedModel(["done"])
    assert text_of(await resumed(talk, model, system("One."), system("Two."))) == "done"
    assert prompt_of(model) == ["system: One.", "system: Two.", *ASKED, FOUND]
    assert await talk.log() == [*ASKED, FOUND, "assistant: done"]


async def test_resume_after_partial_results_runs_only_missing_calls(talk: Talk) -> None:
    """Another program may store one event per result."""
    await talk.append(question(), calls_of("c1", "c2"), results("c1"))
    model = talk.kit.ScriptedModel(["done"])
    assert text_of(await resumed(talk, model, answer="found now")) == "done"
    assert prompt_of(model) == [*ASKED, "tool: c1=found", "tool: c2=found now"]
    assert await talk.log() == [*ASKED, "tool: c1=found", "tool: c2=found now", "assistant: done"]


async def test_resume_after_results_continues_the_tool_loop(talk: Talk) -> None:
    await talk.append(question(), calls_of("c1", "c2"), results("c1", "c2"))
    more = assistant(tool_calls=[ToolCall("c3", "look", "{}")])
    model = talk.kit.ScriptedModel([more, "done"])
    assert text_of(await resumed(talk, model, answer="more")) == "done"
    assert await talk.log() == [*ASKED, FOUND, "assistant: [look c3]", "tool: c3=more", "assistant: done"]


async def test_resume_after_final_answer_returns_the_stored_answer(talk: Talk) -> None:
    await talk.append(question(), threadkeep.assistant("hello"))
    model, counted = talk.kit.ScriptedModel(), CountingClient(talk.sdk)
    memory = talk.kit.SessionMemoryAdvisor(counted)
    for looped in (True, False):
        answers = await resumed(talk, model, memory=memory, looped=looped)
        assert (text_of(answers), answers[-1].response.finish_reason) == ("hello", "stop")
    assert (model.prompts, counted.calls["append"]) == ([], 0)
    assert await talk.log() == ["user: hi", "assistant: hello"]


async def test_second_resume_in_sequence_stores_nothing_new(talk: Talk) -> None:
    await talk.append(question(), calls_of("c1", "c2"))
    for _ in range(2):
        assert text_of(await resumed(talk, talk.kit.ScriptedModel(["done"]))) == "done"
    assert await talk.log() == [*ASKED, FOUND, "assistant: done"]


class Together(CountingClient):
    """An SDK client whose users all wait until every one has read the context."""

    def __init__(self, client: Any, programs: int) -> None:
        super().__init__(client)
        self._async, self._threads = asyncio.Barrier(programs), threading.Barrier(programs)

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)
        if name != "get_context":
            return method

        async def reads(*args: Any, **settings: Any) -> Any:
            found = await method(*args, **settings)
            await self._async.wait()
            return found

        def reads_blocking(*args: Any, **settings: Any) -> Any:
            found = method(*args, **settings)
            self._threads.wait(30)
            return found

        return reads if inspect.iscoroutinefunction(method) else reads_blocking


async def at_once(talk: Talk, models: list[Any], ran: list[str] | None = None) -> list[Any]:
    """Resumes with all models concurrently and returns the answers. `ran` collects the ids of executed calls."""
    memory = talk.kit.SessionMemoryAdvisor(Together(talk.sdk, len(models)))

    def look(number: int) -> Tool:
        def run(arguments: str, context: Any) -> str:
            (ran if ran is not None else []).append(context.call_id)
            return f"found {number}"

        return Tool(ToolDefinition("look"), run)

    turns = (talk.ask_with_tools(model, memory, tools=[look(n)], context=RESUME) for n, model in enumerate(models))
    return await asyncio.gather(*turns)


@pytest.mark.parametrize("left", ["question", "calls", "results"])
async def test_concurrent_resumes_store_one_turn(talk: Talk, left: str) -> None:
    """All finish the turn with what the first stored, although results and answers differ."""
    events = [question(), calls_of("c1", "c2"), results("c1", "c2")]
    await talk.append(*events[: ["question", "calls", "results"].index(left) + 1])
    models = [talk.kit.ScriptedModel([f"done {n}"]) for n in range(4)]
    answers = await at_once(talk, models)
    log = await talk.log()
    roles = [each.partition(":")[0] for each in log]
    assert roles == (["user", "assistant"] if left == "question" else ["user", "assistant", "tool", "assistant"])
    for model in models:
        assert prompt_of(model) == log[:-1], "the model received what is stored"
    if not talk.way.streams:  # a stream yields its text before the append
        assert {f"assistant: {text_of(each)}" for each in answers} == {log[-1]}


async def test_concurrent_resumes_with_more_rounds_run_only_the_stored_call(talk: Talk) -> None:
    """A call that was not stored is not run; all continue with the stored one."""
    await talk.append(question())

    def calls(number: int) -> Any:
        return assistant(f"I look {number}", tool_calls=[ToolCall(f"c{number}", "look", "{}")])

    models = [talk.kit.ScriptedModel([calls(n), f"done {n}"]) for n in range(4)]
    ran: list[str] = []
    await at_once(talk, models, ran)
    log = await talk.log()
    assert [each.partition(":")[0] for each in log] == ["user", "assistant", "tool", "assistant"]
    [call] = [number for number in range(4) if f"[look c{number}]" in log[1]]
    assert log[2].startswith(f"tool: c{call}=found")
    assert ran == [f"c{call}"] * 4


async def test_resume_with_new_message_after_an_answer_calls_the_model_again(talk: Talk) -> None:
    """An advisor that rejects the answer of a resumed turn gets a new one."""
    await talk.append(question())
    model = talk.kit.ScriptedModel(["no JSON", "{}"])
    for said in ((), ("Once more, as JSON.",)):
        await resumed(talk, model, *said)
    assert prompt_of(model) == ["user: hi", "assistant: no JSON", "user: Once more, as JSON."]
    assert await talk.log() == [*prompt_of(model), "assistant: {}"]


async def test_resume_with_new_message_skips_the_open_calls(talk: Talk) -> None:
    await talk.append(question(), calls_of("c1"))
    model = talk.kit.ScriptedModel(["fine"])
    await resumed(talk, model, "never mind")
    assert prompt_of(model) == ["user: hi", "user: never mind"]
    assert (await talk.log())[2:] == ["user: never mind", "assistant: fine"]


async def test_resume_without_loop_returns_the_open_calls(talk: Talk) -> None:
    await talk.append(question(), calls_of("c1", "c2"), results("c1"))
    model = talk.kit.ScriptedModel()
    [answer] = await resumed(talk, model, looped=False)
    assert lines([answer.message]) == ["assistant: [look c2]"]
    assert answer.response.finish_reason == "tool_calls"
    assert model.prompts == []


async def test_resume_with_memory_outside_loop_calls_the_model_again(talk: Talk) -> None:
    """The calls are of an agent with its memory inside the loop; this loop would not run them."""
    await talk.append(question(), calls_of("c1"))
    model = talk.kit.ScriptedModel([assistant(tool_calls=[ToolCall("c2", "look", "{}")]), "done"])
    outside = talk.memory(order=context_keys.CHAT_MEMORY_ORDER)
    loop = {"internal_history": True}
    assert text_of(await talk.ask_with_tools(model, outside, tools=[look_tool()], context=RESUME, loop=loop)) == "done"
    assert prompt_of(model) == ["user: hi", "assistant: [look c2]", "tool: c2=found"]
    assert await talk.log() == ["user: hi", "assistant: [look c1]", "assistant: done"]
    assert text_of(await talk.ask_with_tools(model, outside, tools=[look_tool()], context=RESUME, loop=loop)) == "done"


async def test_each_agent_resumes_its_own_branch(talk: Talk) -> None:
    """The chief and the helper it waits for were both interrupted."""
    await talk.append(
        question("go", branch="chief"),
        calls_of("c1", branch="chief"),
        question("research", branch="chief.helper"),
        calls_of("h1", branch="chief.helper"),
        threadkeep.assistant("of another", branch="chief.other"),
    )
    helper, chief = talk.kit.ScriptedModel(["researched"]), talk.kit.ScriptedModel(["done"])
    await resumed(talk, helper, memory=talk.memory(branch="chief.helper"))
    assert prompt_of(helper) == ["user: go", "user: research", "assistant: [look h1]", "tool: h1=found"]
    await resumed(talk, chief, memory=talk.memory(branch="chief"), answer="researched")
    assert prompt_of(chief) == ["user: go", "assistant: [look c1]", "tool: c1=researched"]
    branches = [event.branch for event in await talk.events()]
    assert branches[5:] == ["chief.helper", "chief.helper", "chief", "chief"]


async def test_concurrent_resumes_on_different_branches_store_separate_answers(talk: Talk) -> None:
    """One agent sees the question of the other, and both store their own answers."""
    await talk.append(question("go"), question("research", branch="helper"))
    sdk = Together(talk.sdk, 2)
    memories = [talk.kit.SessionMemoryAdvisor(sdk, branch=branch) for branch in ("", "helper")]
    models = [talk.kit.ScriptedModel([answer]) for answer in ("done", "researched")]
    both = await asyncio.gather(*(resumed(talk, model, memory=each) for model, each in zip(models, memories, strict=True)))
    assert [text_of(answers) for answers in both] == ["done", "researched"]
    stored = {(event.branch, from_event(event).text) for event in (await talk.events())[2:]}
    assert stored == {("", "done"), ("helper", "researched")}


async def test_concurrent_resumes_on_one_branch_store_one_turn(talk: Talk) -> None:
    """Events stored by the turn itself count as its own: all resumed copies give the next answer the same id."""
    await talk.append(question(branch="helper"))
    memory = talk.kit.SessionMemoryAdvisor(Together(talk.sdk, 2), branch="helper")
    models = [talk.kit.ScriptedModel([decided] * 3) for _ in range(2)]
    await asyncio.gather(*(talk.ask_with_tools(each, memory, tools=[look_tool()], context=RESUME) for each in models))
    rounds = [each for n in range(2) for each in (f"assistant: [look c{n}]", f"tool: c{n}=found")]
    assert await talk.log() == ["user: hi", *rounds, "assistant: done"]


async def test_resume_without_open_turn_raises_nothing_to_resume(talk: Talk) -> None:
    def refused() -> Any:
        return pytest.raises(NothingToResume, match=talk.session)

    model = talk.kit.ScriptedModel()
    with refused():
        await resumed(talk, model)
    await talk.append(threadkeep.assistant("a summary", synthetic=True), threadkeep.system("Be brief."))
    with refused():
        await resumed(talk, model)
    await talk.append(question())
    with refused():
        await resumed(talk, model, memory=talk.memory(branch="other"))
    with refused():
        await resumed(talk, model, memory=talk.memory(memory=MemoryProvider.limited_window().write_only()))


async def test_resume_ignores_summaries_and_instructions_at_the_end(talk: Talk) -> None:
    await talk.append(
        threadkeep.user("What was said?", synthetic=True),
        threadkeep.assistant("Much.", synthetic=True),
        question(),
        threadkeep.system("Be brief."),
    )
    model = talk.kit.ScriptedModel(["hello"])
    await resumed(talk, model)
    assert prompt_of(model) == ["system: Be brief.", "user: What was said?", "assistant: Much.", "user: hi"]


class Killed(Exception):
    pass


class Mortal(CountingClient):
    """An SDK client whose n-th append raises Killed, before or after it is stored."""

    def __init__(self, client: Any, at: int, *, stores: bool) -> None:
        super().__init__(client)
        self.at = at
        self.stores = stores

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)
        if name != "append" or self.calls[name] != self.at:
            return method
        stores = self.stores

        async def dies(*args: Any, **settings: Any) -> Any:
            if stores:
                await method(*args, **settings)
            raise Killed

        def dies_blocking(*args: Any, **settings: Any) -> Any:
            if stores:
                method(*args, **settings)
            raise Killed

        return dies if inspect.iscoroutinefunction(method) else dies_blocking


def decided(prompt: Any) -> Any:
    """Answers like a model that needs two tool rounds."""
    rounds = sum(message.role is Role.TOOL for message in prompt.messages)
    return "done" if rounds == 2 else assistant(tool_calls=[ToolCall(f"c{rounds}", "look", "{}")])


@pytest.mark.parametrize("stores", [True, False])
@pytest.mark.parametrize("dies_at", range(1, 7))
async def test_resume_after_failure_at_any_append_completes_the_turn(talk: Talk, dies_at: int, stores: bool) -> None:
    model = talk.kit.ScriptedModel([decided] * 9)
    mortal = talk.kit.SessionMemoryAdvisor(Mortal(talk.sdk, dies_at, stores=stores))
    with pytest.raises(AnswerNotStored if dies_at == 6 else Killed):
        await talk.ask_with_tools(model, mortal, "hi", tools=[look_tool()])
    if dies_at == 1 and not stores:
        with pytest.raises(NothingToResume):
            await resumed(talk, model)
        return
    assert text_of(await resumed(talk, model)) == "done"
    rounds = [each for n in range(2) for each in (f"assistant: [look c{n}]", f"tool: c{n}=found")]
    assert await talk.log() == ["user: hi", *rounds, "assistant: done"]


AGENT = """
import sys, time
from threadkeep import Client
from threadkeep.chat import ChatClient, ScriptedModel, SessionMemoryAdvisor, ToolCall, assistant, function_tool

def look() -> str:
    "Looks."
    if len(model.prompts) == 2:
        print("looking", flush=True)
        time.sleep(60)
    return "found"

address, session = sys.argv[1:]
calls = [assistant(tool_calls=[ToolCall(f"c{n}", "look", "{}")]) for n in range(2)]
model = ScriptedModel(calls)
with Client(address, app="shop", user_id="alice") as sdk:
    client = ChatClient(model, tools=[function_tool(look)], advisors=[SessionMemoryAdvisor(sdk)])
    client.prompt("hi").session(session).call()
"""


@pytest.mark.parametrize("way", ["call"], indirect=True)
async def test_resume_after_sigkill_during_a_tool_completes_the_turn(talk: Talk) -> None:
    """The process gets SIGKILL while its second tool runs."""
    command = [sys.executable, "-c", AGENT, talk.sdk.address, talk.session]
    agent = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert agent.stdout is not None
    async with asyncio.timeout(120):  # the start of a process
        assert await agent.stdout.readline() == b"looking\n"
    agent.kill()
    await agent.communicate()
    before = ["user: hi", "assistant: [look c0]", "tool: c0=found", "assistant: [look c1]"]
    assert await talk.log() == before
    model = talk.kit.ScriptedModel(["done"])
    client = talk.kit.ChatClient(model, tools=[look_tool()], advisors=[talk.memory()])
    assert (await talk.kit.of(client.prompt().session(talk.session).resume)).text == "done"
    assert prompt_of(model) == [*before, "tool: c1=found"]
    assert await talk.log() == [*before, "tool: c1=found", "assistant: done"]
