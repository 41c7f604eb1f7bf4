"""Concurrent tools, timeouts, and canceled turns."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import pytest

from threadkeep.chat import Tool, ToolContext, ToolDefinition, ToolOptions, user
from threadkeep.chat.tools import _running_aio, _running_threads
from threadkeep.chat.types.requests import ChatClientRequest

from ..async_and_sync import Kit, Way, text_of
from ..tool_loop import RecordingTools, answer_calling, failing, loop, memory, request, slow


@pytest.mark.parametrize("concurrent", [False, True])
async def test_results_are_in_the_order_of_the_calls(kit: Kit, way: Way, concurrent: bool) -> None:
    runs = RecordingTools()
    model = kit.ScriptedModel([answer_calling("slow", "broken", "quick"), "done"])
    tools = (
        runs.tool("slow", slow(kit, 0.1)),
        runs.tool("broken", failing(OSError("no battery"))),
        runs.tool("quick"),
    )
    await way.ask(loop(kit, model, concurrent=concurrent), request(*tools))
    results = model.prompts[1].messages[-1].tool_results
    assert [(result.call_id, result.text, result.is_error) for result in results] == [
        ("c1", "at last", False),
        ("c2", "no battery", True),
        ("c3", "quick says so", False),
    ]


class Meeting:
    """Tools that wait until `of` of them run concurrently, and record the maximum."""

    def __init__(self, of: int) -> None:
        self.most = self._now = 0
        self._of = of
        self._lock = threading.Lock()
        self._met = threading.Event()

    def tool(self, name: str) -> Tool:
        def run(arguments: str, context: ToolContext) -> str:
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
                if self._now == self._of:
                    self._met.set()
            met = self._met.wait(30)
            time.sleep(0.05)  # long enough for others to start, if they may
            with self._lock:
                self._now -= 1
            return "met" if met else "alone"

        return Tool(ToolDefinition(name), run)


async def test_calls_of_a_round_run_concurrently(kit: Kit, way: Way) -> None:
    meeting = Meeting(of=3)
    model = kit.ScriptedModel([answer_calling("a", "b", "c"), "done"])
    await way.ask(loop(kit, model, concurrent=True), request(*map(meeting.tool, "abc")))
    assert [result.text for result in model.prompts[1].messages[-1].tool_results] == ["met"] * 3


async def test_max_concurrency_limits_running_tools(kit: Kit) -> None:
    meeting = Meeting(of=2)
    manager = kit.ToolCallingManager(concurrent=True, max_concurrency=2)
    found = await kit.of(manager.execute, request(*map(meeting.tool, "abcdef")).prompt, answer_calling(*"abcdef"))
    assert [result.text for result in found.results] == ["met"] * 6
    assert meeting.most == 2


@pytest.mark.parametrize("concurrent", [False, True])
async def test_tool_over_timeout_is_an_error_result(kit: Kit, way: Way, concurrent: bool) -> None:
    runs = RecordingTools()
    model = kit.ScriptedModel([answer_calling("stuck", "clock"), "done"])
    manager = kit.ToolCallingManager(tool_timeout=0.05, concurrent=concurrent)
    tools = (runs.tool("stuck", slow(kit, 60)), runs.tool("clock", timeout=60.0))
    began = time.monotonic()
    answers = await way.ask(loop(kit, model, manager=manager), request(*tools))
    assert time.monotonic() - began < 30
    assert text_of(answers) == "done"
    stuck, clock = model.prompts[1].messages[-1].tool_results
    assert stuck.is_error
    assert stuck.text == "no answer within 0.05 seconds; whether anything was done is not known"
    assert (clock.text, clock.is_error) == ("clock says so", False)


async def test_timeout_of_a_tool_overrides_the_manager(kit: Kit) -> None:
    runs = RecordingTools()
    manager = kit.ToolCallingManager(tool_timeout=0.01)
    patient = replace(runs.tool("slow", slow(kit, 0.1)), timeout=60.0)
    found = await kit.of(manager.execute, request(patient).prompt, answer_calling("slow"))
    assert [result.text for result in found.results] == ["at last"]


@pytest.mark.parametrize("timeout", [None, 60.0])
async def test_timeout_error_raised_by_a_tool_keeps_its_message(kit: Kit, timeout: float | None) -> None:
    runs = RecordingTools()
    manager = kit.ToolCallingManager(tool_timeout=timeout)
    question = request(runs.tool("far", failing(TimeoutError("the printer does not answer"))))
    found = await kit.of(manager.execute, question.prompt, answer_calling("far"))
    assert [result.text for result in found.results] == ["the printer does not answer"]


async def test_blocking_tool_over_timeout_is_an_error_result_in_async_manager() -> None:
    kit = Kit(is_async=True)
    release = threading.Event()
    manager = kit.ToolCallingManager(tool_timeout=0.05)
    try:
        found = await manager.execute(
            request(RecordingTools().tool("stuck", lambda: release.wait(60) and "")).prompt, answer_calling("stuck")
        )
    finally:
        release.set()
    assert found.results[0].is_error


STUCK = """
import asyncio, time
from threadkeep.chat import *

tool = Tool(ToolDefinition("stuck"), lambda arguments, context: time.sleep(600))
prompt = Prompt((user("hi"),), ToolOptions(tools=(tool,)))
response = ChatResponse((Generation(assistant(tool_calls=[ToolCall("c1", "stuck")])),))
print(ToolCallingManager(tool_timeout=0.01).execute(prompt, response).results[0].is_error)
print(asyncio.run(AsyncToolCallingManager(tool_timeout=0.01).execute(prompt, response)).results[0].is_error)
"""


def test_tool_that_never_ends_does_not_keep_the_process_alive() -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout.split() == ["True", "True"]


@pytest.mark.parametrize("error", [StopIteration("no more"), asyncio.CancelledError()])
@pytest.mark.parametrize("concurrent", [False, True])
async def test_control_flow_exception_of_a_tool_is_an_error_result(error: BaseException, concurrent: bool) -> None:
    async def raising() -> Any:
        raise error

    kit = Kit(is_async=True)
    raised: Any = raising if isinstance(error, asyncio.CancelledError) else failing(error)
    manager = kit.ToolCallingManager(concurrent=concurrent)
    found = await asyncio.wait_for(
        manager.execute(
            request(RecordingTools().tool("odd", raised), RecordingTools().tool("clock")).prompt, answer_calling("odd", "clock")
        ),
        30,
    )
    assert [result.is_error for result in found.results] == [True, False]


@pytest.mark.parametrize("concurrent", [False, True])
@pytest.mark.parametrize("streams", [False, True])
async def test_cancelled_turn_cancels_its_tools_and_records_nothing(concurrent: bool, streams: bool) -> None:
    kit = Kit(is_async=True)
    started: list[str] = []
    cancelled: list[str] = []
    begun = asyncio.Event()

    def forever(name: str) -> Any:
        async def run() -> str:
            started.append(name)
            if len(started) == (2 if concurrent else 1):
                begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(name)
                raise
            return ""

        return run

    kept = memory(kit)
    runs = RecordingTools()
    tools = (runs.tool("a", forever("a")), runs.tool("b", forever("b")))
    model = kit.ScriptedModel([answer_calling("a", "b")])
    turn = asyncio.create_task(Way(kit, streams).ask(loop(kit, model, kept, concurrent=concurrent), request(*tools)))
    await asyncio.wait_for(begun.wait(), 30)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert sorted(cancelled) == sorted(started) == (["a", "b"] if concurrent else ["a"])
    assert (len(model.prompts), kept.recorded) == (1, [])


async def test_failed_async_job_cancels_the_others() -> None:
    """Exceptions of tools become results, but a span exporter may fail."""
    ended: list[str] = []

    async def failing_later() -> None:
        raise LookupError("no exporter")

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("forever")

    with pytest.raises(LookupError, match="no exporter"):
        await _running_aio.gather([forever, failing_later], 2)
    assert ended == ["forever"]


def test_failed_threaded_job_prevents_waiting_jobs() -> None:
    begun: list[str] = []
    with pytest.raises(LookupError, match="no exporter"):
        _running_threads.gather([failing(LookupError("no exporter")), lambda: begun.append("next")], 1)
    assert begun == []


def test_jobs_of_one_thread_have_separate_context_variables() -> None:
    mark: ContextVar[int] = ContextVar("mark", default=0)

    def job() -> int:
        mark.set(mark.get() + 1)
        return mark.get()

    mark.set(5)
    assert _running_threads.gather([job, job, job], 1) == [6, 6, 6]


async def test_concurrent_turns_of_one_advisor_are_isolated(kit: Kit, way: Way) -> None:
    """Each turn has its own tools, history, context and usage."""
    started = threading.Barrier(2)
    advisor = kit.ToolCallingAdvisor()

    def turn_of(name: str) -> tuple[Any, ChatClientRequest]:
        def run(arguments: str, context: ToolContext) -> str:
            started.wait(30)
            return f"{name}: {context.values['name']}, {len(context.history)}"

        model = kit.ScriptedModel([answer_calling("who"), answer_calling("who"), f"done {name}"])
        options = ToolOptions(tools=(Tool(ToolDefinition("who"), run),), tool_context={"name": name})
        return model, ChatClientRequest((user(name),), options, {"for": name})

    (one, first), (two, second) = turn_of("one"), turn_of("two")
    answers = await asyncio.gather(
        way.ask(kit.AdvisorChain([advisor], one), first), way.ask(kit.AdvisorChain([advisor], two), second)
    )
    assert [text_of(each) for each in answers] == ["done one", "done two"]
    assert [dict(each[-1].context) for each in answers] == [{"for": "one"}, {"for": "two"}]
    for name, model in (("one", one), ("two", two)):
        last = model.prompts[-1].messages
        assert [message.text for message in last if message.role == "user"] == [name]
        texts = [result.text for message in last for result in message.tool_results]
        assert texts == [f"{name}: {name}, 2", f"{name}: {name}, 4"]
