"""The tool manager: its input, its results and its spans."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from threadkeep.chat import (
    ChatOptions,
    ChatResponse,
    Generation,
    Media,
    Prompt,
    Role,
    Text,
    ToolCall,
    ToolFailed,
    ToolOptions,
    ToolOutput,
    ToolResult,
    UnknownTool,
    assistant,
    function_tool,
    system,
    user,
)
from threadkeep.chat.tools.executions import ToolExecution

from ..async_and_sync import Kit
from ..tool_loop import RecordingTools, answer_calling, answer_saying, failing, request


def calls(*made: ToolCall) -> ChatResponse:
    return ChatResponse((Generation(assistant(tool_calls=made)),))


async def execute(kit: Kit, response: ChatResponse, *tools: Any, **settings: Any) -> ToolExecution:
    found: ToolExecution = await kit.of(kit.ToolCallingManager(**settings).execute, request(*tools).prompt, response)
    return found


async def test_invalid_manager_settings_are_rejected_by_name(kit: Kit) -> None:
    for timeout in (0, -1):
        with pytest.raises(ValueError, match="tool_timeout"):
            kit.ToolCallingManager(tool_timeout=timeout)
    with pytest.raises(ValueError, match="max_concurrency"):
        kit.ToolCallingManager(max_concurrency=0)


async def test_definitions_are_those_of_the_options(kit: Kit) -> None:
    runs = RecordingTools()
    clock, weather = runs.tool("clock"), runs.tool("weather")
    manager = kit.ToolCallingManager()
    assert manager.definitions(ToolOptions(tools=(clock, weather))) == (clock.definition, weather.definition)
    assert manager.definitions(None) == manager.definitions(ChatOptions()) == ()


@pytest.mark.parametrize("response", [answer_saying("hello"), ChatResponse()])
async def test_response_without_calls_is_rejected(kit: Kit, response: ChatResponse) -> None:
    with pytest.raises(ValueError, match="response: it has no tool calls"):
        await execute(kit, response, RecordingTools().tool("clock"))


async def test_unlisted_tool_is_rejected_unless_the_resolver_knows_it(kit: Kit) -> None:
    runs = RecordingTools()
    hidden = runs.tool("hidden")
    with pytest.raises(UnknownTool, match="'hidden'") as unknown:
        await execute(kit, answer_calling("clock", "hidden"), runs.tool("clock"))
    assert (unknown.value.name, runs.made) == ("hidden", [])
    resolver = {"hidden": hidden, "clock": runs.tool("another clock")}.get
    await execute(kit, answer_calling("clock", "hidden"), runs.tool("clock"), resolver=resolver)
    assert runs.made == ["clock", "hidden"]
    with pytest.raises(UnknownTool, match="tools: none"):
        await execute(kit, answer_calling("other"), resolver=resolver)


async def test_plain_chat_options_have_no_tools(kit: Kit) -> None:
    with pytest.raises(UnknownTool, match="tools: none"):
        await kit.of(kit.ToolCallingManager().execute, Prompt((user("hi"),), ChatOptions()), answer_calling("clock"))


@pytest.mark.parametrize("concurrent", [False, True])
async def test_history_has_the_prompt_the_calls_and_one_result_message(kit: Kit, concurrent: bool) -> None:
    runs = RecordingTools()
    response = answer_calling("clock", "weather", "clock", text="let me see")
    prompt = Prompt((system("be brief"), user("hi")), request(runs.tool("clock"), runs.tool("weather")).options)
    found = await kit.of(kit.ToolCallingManager(concurrent=concurrent).execute, prompt, response)
    assert found.history[:3] == (*prompt.messages, response.message)
    assert (len(found.history), found.history[-1].role) == (4, Role.TOOL)
    assert [(result.call_id, result.name) for result in found.results] == [("c1", "clock"), ("c2", "weather"), ("c3", "clock")]
    assert [context.history for context in runs.contexts] == [found.history[:3]] * 3


async def test_function_tools_are_run(kit: Kit) -> None:
    @function_tool
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    found = await execute(kit, calls(ToolCall("c1", "add", '{"a": 1, "b": 2}'), ToolCall("c2", "add", '{"a": "x"}')), add)
    first, second = found.results
    assert (first.text, first.is_error, second.is_error) == ("3", False, True)


@pytest.mark.parametrize("concurrent", [False, True])
@pytest.mark.parametrize("timeout", [None, 60.0])
async def test_tool_spans_are_children_of_the_current_span(kit: Kit, concurrent: bool, timeout: float | None) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    within: list[Any] = []
    runs = RecordingTools()
    clock = runs.tool("clock", lambda: within.append(trace.get_current_span().get_span_context().span_id))
    broken = runs.tool("broken", failing(OSError("a secret path")))
    with provider.get_tracer("test").start_as_current_span("turn") as turn:
        settings = {"tracer_provider": provider, "concurrent": concurrent, "tool_timeout": timeout}
        await execute(kit, answer_calling("clock", "broken", "clock"), clock, broken, **settings)
    finished = [span for span in spans.get_finished_spans() if span.name != "turn"]
    assert sorted(span.name for span in finished) == ["execute_tool broken", "execute_tool clock", "execute_tool clock"]
    for span in finished:
        assert span.parent is not None
        assert span.parent.span_id == turn.get_span_context().span_id
        assert (span.attributes or {})["gen_ai.operation.name"] == "execute_tool"
    by_call = {str((span.attributes or {})["gen_ai.tool.call.id"]): span for span in finished}
    assert (by_call["c2"].attributes or {})["error.type"] == "OSError"
    assert "error.type" not in (by_call["c1"].attributes or {})
    assert sorted(within) == sorted(by_call[call].context.span_id for call in ("c1", "c3"))
    assert "secret" not in "".join(span.to_json() for span in finished)


@pytest.mark.parametrize(
    ("called", "expected"), [(["a"], True), (["a", "b"], True), (["a", "b", "no"], False), (["no"], False)]
)
async def test_execution_returns_direct_only_if_every_called_tool_does(kit: Kit, called: list[str], expected: bool) -> None:
    runs = RecordingTools()
    tools = (runs.tool("a", return_direct=True), runs.tool("b", return_direct=True), runs.tool("no"))
    assert (await execute(kit, answer_calling(*called), *tools)).return_direct is expected


@pytest.mark.parametrize("concurrent", [False, True])
async def test_tool_exception_is_an_error_result_and_other_calls_run(kit: Kit, concurrent: bool) -> None:
    runs = RecordingTools()
    tools = (runs.tool("clock"), runs.tool("broken", failing(OSError("no battery"))), runs.tool("mute", failing(KeyError())))
    found = await execute(kit, answer_calling("broken", "mute", "clock"), *tools, concurrent=concurrent)
    assert [(result.text, result.is_error) for result in found.results] == [
        ("no battery", True),
        ("KeyError", True),
        ("clock says so", False),
    ]


async def test_error_output_of_a_tool_is_an_error_result(kit: Kit) -> None:
    said = ToolOutput((Text("no such city"),), is_error=True)
    [result] = (
        await execute(kit, answer_calling("weather"), RecordingTools().tool("weather", said), errors_to_model=False)
    ).results
    assert result == ToolResult("c1", "weather", (Text("no such city"),), is_error=True)


async def test_tool_exception_raises_tool_failed_when_configured(kit: Kit) -> None:
    runs = RecordingTools()
    tools = (runs.tool("clock"), runs.tool("broken", failing(OSError("no battery"))))
    for concurrent, made in ((False, ["clock", "broken"]), (True, ["broken", "clock", "clock"])):
        runs.made.clear()
        with pytest.raises(ToolFailed, match="no battery") as failed:
            await execute(kit, answer_calling("clock", "broken", "clock"), *tools, errors_to_model=False, concurrent=concurrent)
        assert (sorted(runs.made), failed.value.name) == (sorted(made), "broken")
        assert failed.value.partial is not None
        kept = [result.call_id for result in failed.value.partial.tool_results]
        assert kept == (["c1", "c3"] if concurrent else ["c1"])


@pytest.mark.parametrize("written", ["", "  ", "\n"])
async def test_blank_arguments_become_an_empty_object(kit: Kit, written: str) -> None:
    runs = RecordingTools()
    found = await execute(kit, calls(ToolCall("c1", "clock", written)), runs.tool("clock"))
    assert runs.arguments == ["{}"]
    assert found.history[1].tool_calls[0].arguments == written  # the stored call is unchanged


@pytest.mark.parametrize(
    "written", ['{"a": {"b": [1, "\\u00e9", null]}, "c": 12345678901234567890}', "{not json", "[1]", "null"]
)
async def test_arguments_reach_the_tool_unchanged(kit: Kit, written: str) -> None:
    runs = RecordingTools()
    await execute(kit, calls(ToolCall("c1", "clock", written)), runs.tool("clock"))
    assert runs.arguments == [written]


async def test_malformed_arguments_are_an_error_result(kit: Kit) -> None:
    @function_tool
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    [result] = (await execute(kit, calls(ToolCall("c1", "add", '{"a": 1, "b"')), add)).results
    assert result.is_error


async def test_missing_result_is_empty_text_and_other_results_are_unchanged(kit: Kit) -> None:
    picture = Media("image/png", data=b"png")
    outputs = {
        "none": (lambda: None, ToolResult("c1", "none", (Text(""),))),
        "empty": ("", ToolResult("c1", "empty", (Text(""),))),
        "parts": (ToolOutput((Text("here"), picture)), ToolResult("c1", "parts", (Text("here"), picture))),
        "json": (ToolOutput(structured_json='{"a": 1}'), ToolResult("c1", "json", (), '{"a": 1}')),
    }
    for name, (output, expected) in outputs.items():
        assert (await execute(kit, answer_calling(name), RecordingTools().tool(name, output))).results == (expected,)
    [result] = (await execute(kit, answer_calling("number"), RecordingTools().tool("number", 7))).results
    assert (result.text, result.is_error) == ("a tool returns a text, a ToolOutput or None, not a int", True)


async def test_first_generation_with_calls_is_executed(kit: Kit) -> None:
    runs = RecordingTools()
    response = ChatResponse(
        (*answer_saying("hm").generations, *answer_calling("clock").generations, *answer_calling("weather").generations)
    )
    found = await execute(kit, response, runs.tool("clock"), runs.tool("weather"))
    assert (runs.made, found.history[1]) == (["clock"], answer_calling("clock").message)


async def test_copy_of_manager_differs_only_in_changed_settings(kit: Kit) -> None:
    class Mine(kit.ToolCallingManager):  # type: ignore[name-defined]
        pass

    manager = Mine(errors_to_model=False, tool_timeout=3)
    copied = manager.changed(errors_to_model=True)
    assert type(copied) is Mine
    found = await kit.of(
        copied.execute, request(RecordingTools().tool("broken", failing(OSError("x")))).prompt, answer_calling("broken")
    )
    assert found.results[0].is_error
    with pytest.raises(ToolFailed):
        await kit.of(
            manager.execute, request(RecordingTools().tool("broken", failing(OSError("x")))).prompt, answer_calling("broken")
        )
    with pytest.raises(TypeError):
        manager.changed(color="red")


async def test_coroutine_tool_in_blocking_manager_is_an_error_result() -> None:
    async def answer() -> str:
        return "never"

    kit = Kit(is_async=False)
    [result] = (await execute(kit, answer_calling("clock"), RecordingTools().tool("clock", answer))).results
    assert result.is_error
    assert "AsyncChatClient" in result.text


async def test_async_manager_awaits_coroutines_and_runs_plain_functions_in_threads() -> None:
    kit = Kit(is_async=True)
    loops: list[object] = []

    async def answer(arguments: str, context: object) -> str:
        loops.append(asyncio.get_running_loop())
        return "here"

    def blocking() -> str:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        return "elsewhere"

    clock = RecordingTools().tool("clock")
    tools = (replace(clock, run=answer), RecordingTools().tool("plain", blocking))
    found = await execute(kit, answer_calling("clock", "plain"), *tools)
    assert [result.text for result in found.results] == ["here", "elsewhere"]
    assert loops == [asyncio.get_running_loop()]


async def test_lone_surrogates_in_results_are_replaced(kit: Kit) -> None:
    """A tool may return file names that are not UTF-8, and an error may contain one."""
    runs = RecordingTools()
    tools = (
        runs.tool("list", "caf\udce9.txt"),
        runs.tool("open", failing(FileNotFoundError("no caf\udce9.txt"))),
    )
    found = await execute(kit, answer_calling("list", "open"), *tools)
    assert [each.text for each in found.results] == ["caf\ufffd.txt", "no caf\ufffd.txt"]
