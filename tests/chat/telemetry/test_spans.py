"""Spans, as an exporter receives them: names, attributes, parents, and content that they must not have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.trace import SpanKind, StatusCode

from threadkeep.chat import (
    ChatResponse,
    Data,
    Generation,
    Media,
    ModelFailed,
    Prompt,
    Reasoning,
    Text,
    Tool,
    ToolCall,
    ToolDefinition,
    ToolOptions,
    ToolResult,
    Usage,
    assistant,
    tool,
    user,
)
from threadkeep.chat.telemetry.spans import Telemetry

from ..async_and_sync import Kit, Way

# These tests need no memory advisor.
pytestmark = pytest.mark.filterwarnings(r"ignore:\.session\(\.\.\.\) without a memory")

SECRET = "the code is 4711"
CALL = ToolCall("c1", "open_door", f'{{"code": "{SECRET}"}}')
WHOLE = ChatResponse(
    (Generation(assistant("Good evening"), "stop"),), Usage(11, 7, 18, 4, 2, 3), id="r-1", model="scripted-2026-11", metadata={}
)


class Spans:
    """The exported spans, in the order in which they ended."""

    def __init__(self) -> None:
        self.provider = TracerProvider()
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.all]

    def one(self, name: str) -> ReadableSpan:
        [found] = [span for span in self.all if span.name == name]
        return found

    def text(self) -> str:
        """Returns all exported spans as text."""
        return "\n".join(span.to_json() for span in self.all)


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


@pytest.fixture
def spans() -> Iterator[Spans]:
    kept = Spans()
    yield kept
    kept.provider.shutdown()


def client(kit: Kit, spans: Spans, *replies: Any, **settings: Any) -> Any:
    return kit.ChatClient(kit.ScriptedModel(replies), tracer_provider=spans.provider, auto_tool_calling=False, **settings)


async def test_model_call_span_has_request_and_usage_attributes(kit: Kit, way: Way, spans: Spans) -> None:
    prompt = client(kit, spans, WHOLE).prompt("Hello").options(temperature=0.5, top_p=0.9, max_tokens=50, stop="END", seed=3)
    await way.ask(prompt.session("s1"))
    span = spans.one("chat scripted")
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    attributes = dict(span.attributes or {})
    first = attributes.pop("gen_ai.response.time_to_first_chunk", None)
    in_time = isinstance(first, int | float) and 0 <= first < 60
    assert (in_time, attributes.pop("gen_ai.request.stream", False)) == (way.streams, way.streams)
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.conversation.id": "s1",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.max_tokens": 50,
        "gen_ai.request.stop_sequences": ("END",),
        "gen_ai.request.seed": 3,
        "gen_ai.response.id": "r-1",
        "gen_ai.response.model": "scripted-2026-11",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.cache_creation.input_tokens": 2,
        "gen_ai.usage.reasoning.output_tokens": 3,
    }


async def test_request_span_is_parent_of_model_calls_and_child_of_program_span(kit: Kit, way: Way, spans: Spans) -> None:
    with spans.provider.get_tracer("program").start_as_current_span("handle"):
        await way.ask(client(kit, spans, WHOLE, name="concierge").prompt("Hello").session("s1"))
    inner, outer = spans.one("chat scripted"), spans.one("invoke_agent concierge")
    assert (parent_of(inner), parent_of(outer)) == (id_of(outer), id_of(spans.one("handle")))
    assert outer.kind is SpanKind.INTERNAL
    about = dict(outer.attributes or {})
    assert about["gen_ai.operation.name"] == "invoke_agent"
    assert (about["gen_ai.agent.name"], about["gen_ai.conversation.id"]) == ("concierge", "s1")
    assert (about["gen_ai.usage.input_tokens"], about["gen_ai.usage.output_tokens"]) == (11, 7)


async def test_spans_made_by_the_model_are_children_of_its_call(kit: Kit, way: Way, spans: Spans) -> None:
    """The HTTP requests of a vendor's library are such spans, also during a stream."""
    tracer = spans.provider.get_tracer("library")

    class Telling(kit.ScriptedModel):  # type: ignore[name-defined]
        def _next(self, prompt: Prompt) -> ChatResponse:
            tracer.start_span("POST").end()
            answer: ChatResponse = super()._next(prompt)
            return answer

    await way.ask(kit.ChatClient(Telling([WHOLE]), tracer_provider=spans.provider).prompt("Hello"))
    assert parent_of(spans.one("POST")) == id_of(spans.one("chat scripted"))


async def test_reader_of_a_stream_runs_outside_its_spans(kit: Kit, spans: Spans) -> None:
    stream = client(kit, spans, WHOLE).prompt("Hello").stream()
    tracer = spans.provider.get_tracer("program")
    if kit.is_async:
        async for _ in stream:
            tracer.start_span("own").end()
    else:
        for _ in stream:
            tracer.start_span("own").end()
    own = [span for span in spans.all if span.name == "own"]
    assert len(own) > 1
    assert [parent_of(span) for span in own] == [None] * len(own)


async def test_closed_stream_ends_its_spans_without_error(kit: Kit, spans: Spans) -> None:
    stream = client(kit, spans, WHOLE).prompt("Hello").stream()
    if kit.is_async:
        await anext(stream)
        await stream.aclose()
    else:
        next(stream)
        stream.close()
    assert spans.names == ["chat scripted", "invoke_agent"]
    assert [span.status.status_code for span in spans.all] == [StatusCode.UNSET] * 2


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelFailed(SECRET, status=429), "429"),
        (ModelFailed(SECRET), "threadkeep.chat.errors.ModelFailed"),
        (ValueError(SECRET), "ValueError"),
    ],
)
async def test_failed_call_records_error_type_but_no_message(
    kit: Kit, way: Way, spans: Spans, error: Exception, kind: str
) -> None:
    with pytest.raises(type(error)):
        await way.ask(client(kit, spans, error).prompt("Hello"))
    for name in ("chat scripted", "invoke_agent"):
        span = spans.one(name)
        assert ((span.attributes or {})["error.type"], span.status.status_code) == (kind, StatusCode.ERROR)
    assert SECRET not in spans.text()


async def test_cancelled_call_ends_its_spans(spans: Spans) -> None:
    kit = Kit(is_async=True)

    class Silent(kit.ScriptedModel):  # type: ignore[name-defined]
        async def call(self, prompt: Prompt) -> ChatResponse:
            await asyncio.sleep(60)
            raise AssertionError("the call was not canceled")

    prompt = kit.ChatClient(Silent(), tracer_provider=spans.provider, auto_tool_calling=False).prompt("Hello")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(prompt.call(), 0.05)
    assert [(span.name, (span.attributes or {})["error.type"]) for span in spans.all] == [
        ("chat scripted", "asyncio.exceptions.CancelledError"),
        ("invoke_agent", "asyncio.exceptions.CancelledError"),
    ]


async def test_spans_without_record_content_have_no_content(kit: Kit, way: Way, spans: Spans) -> None:
    await way.ask(client(kit, spans, assistant(SECRET), system=SECRET).prompt(SECRET).tool_context(code=SECRET))
    telemetry = Telemetry(spans.provider)
    with telemetry.tool_span(CALL) as span:
        span.answered(ToolResult("c1", parts=(Text(SECRET),), is_error=True), RuntimeError(SECRET))
    with telemetry.tool_span(CALL) as span:
        span.answered(ToolResult("c1", parts=(Text(SECRET),), is_error=True))
    assert spans.names == ["chat scripted", "invoke_agent", *["execute_tool open_door"] * 2]
    assert SECRET not in spans.text()


async def test_spans_with_record_content_have_messages_and_tools(kit: Kit, way: Way, spans: Spans) -> None:
    said = (
        user([SECRET, Media("image/png", data=b"12345"), Media("image/png", uri="https://a/b"), Media("a/b", file_id="f")]),
        assistant([Reasoning("Hm."), Data("note", '{"n": 1}')], tool_calls=[CALL, ToolCall("c2", "open_door", "{no json")]),
        tool(ToolResult("c1", parts=(Text("open"),)), ToolResult("c2", structured_json='{"ok":false}')),
    )
    door = Tool(ToolDefinition("open_door", "Opens it."), lambda arguments, context: "")
    prompt = client(kit, spans, WHOLE, system="Be kind.", record_content=True).prompt().messages(*said).tools(door)
    await way.ask(prompt)
    about = spans.one("chat scripted").attributes or {}
    assert json.loads(str(about["gen_ai.input.messages"])) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": SECRET},
                {"type": "media", "modality": "image", "mime_type": "image/png", "size": 5},
                {"type": "uri", "modality": "image", "mime_type": "image/png", "uri": "https://a/b"},
                {"type": "file", "modality": "a", "mime_type": "a/b", "file_id": "f"},
            ],
        },
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "Hm."},
                {"type": "note", "content": {"n": 1}},
                {"type": "tool_call", "id": "c1", "name": "open_door", "arguments": {"code": SECRET}},
                {"type": "tool_call", "id": "c2", "name": "open_door", "arguments": "{no json"},
            ],
        },
        {
            "role": "tool",
            "parts": [
                {"type": "tool_call_response", "id": "c1", "response": "open"},
                {"type": "tool_call_response", "id": "c2", "response": '{"ok":false}'},
            ],
        },
    ]
    assert json.loads(str(about["gen_ai.output.messages"])) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "Good evening"}], "finish_reason": "stop"}
    ]
    [definition] = json.loads(str(about["gen_ai.tool.definitions"]))
    assert (definition["name"], definition["parameters"]["type"]) == ("open_door", "object")


@pytest.mark.parametrize("concurrent", [False, True])
async def test_turn_is_one_tree_of_spans(kit: Kit, way: Way, spans: Spans, concurrent: bool) -> None:
    tracer = spans.provider.get_tracer("program")

    def open_door(code: str) -> str:
        """Opens the door."""
        tracer.start_span("inside").end()
        return SECRET

    manager = kit.ToolCallingManager(concurrent=concurrent, tracer_provider=spans.provider)
    calls = assistant(tool_calls=[CALL, ToolCall("c2", "open_door", '{"code": "1"}')])
    model = kit.ScriptedModel([calls, WHOLE])
    chat = kit.ChatClient(
        model, tools=[open_door], tool_manager=manager if concurrent else None, tracer_provider=spans.provider
    )
    await way.ask(chat.prompt("Open it").session("s1"))
    [root] = [span for span in spans.all if span.parent is None]
    below = sorted(span.name for span in spans.all if parent_of(span) == id_of(root))
    assert (root.name, below) == ("invoke_agent", ["chat scripted"] * 2 + ["execute_tool open_door"] * 2)
    runs = [span for span in spans.all if span.name.startswith("execute_tool")]
    assert sorted(map(str, (parent_of(span) for span in spans.all if span.name == "inside"))) == sorted(
        str(id_of(run)) for run in runs
    )
    assert {(run.attributes or {})["gen_ai.tool.call.id"] for run in runs} == {"c1", "c2"}
    assert SECRET not in spans.text()


async def test_added_loop_inherits_telemetry_settings_of_the_client(kit: Kit, way: Way, spans: Spans) -> None:
    door = Tool(ToolDefinition("open_door", "Opens it."), lambda arguments, context: "open")
    model = kit.ScriptedModel([assistant(tool_calls=[CALL]), WHOLE])
    prompt = kit.ChatClient(model, tools=[door], tracer_provider=spans.provider, record_content=True).prompt("Open it")
    await way.ask(prompt)
    about = spans.one("execute_tool open_door").attributes or {}
    assert (about["gen_ai.tool.call.arguments"], about["gen_ai.tool.call.result"]) == (CALL.arguments, "open")


def test_tool_span_is_current_and_child_of_the_current_span(spans: Spans) -> None:
    telemetry = Telemetry(spans.provider, record_content=True)
    outer = spans.provider.get_tracer("program").start_as_current_span("outer")
    described = Tool(ToolDefinition("open_door", "Opens it."), lambda arguments, context: "")
    with outer, telemetry.tool_span(CALL, described) as span:
        spans.provider.get_tracer("program").start_span("inside").end()
        span.answered(ToolResult("c1", parts=(Text("open"),)))
    inside, run, around = spans.all
    assert (parent_of(inside), parent_of(run)) == (id_of(run), id_of(around))
    assert (run.name, run.kind, run.status.status_code) == ("execute_tool open_door", SpanKind.INTERNAL, StatusCode.UNSET)
    assert dict(run.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "open_door",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Opens it.",
        "gen_ai.tool.call.arguments": CALL.arguments,
        "gen_ai.tool.call.result": "open",
    }


def test_failed_tool_span_has_error_status_and_type(spans: Spans) -> None:
    telemetry = Telemetry(spans.provider)
    with telemetry.tool_span(CALL) as span:
        span.answered(ToolResult("c1", is_error=True))
    with telemetry.tool_span(CALL) as span:
        span.answered(ToolResult("c1", is_error=True), KeyError("door"))
    with pytest.raises(OSError, match="door"), telemetry.tool_span(CALL):
        raise OSError("door")
    assert [(span.attributes or {})["error.type"] for span in spans.all] == ["tool_error", "KeyError", "OSError"]
    assert {span.status.status_code for span in spans.all} == {StatusCode.ERROR}


async def test_client_without_tracer_provider_works(kit: Kit, way: Way) -> None:
    prompt = kit.ChatClient(kit.ScriptedModel([WHOLE]), auto_tool_calling=False, record_content=True).prompt("Hello")
    assert "".join(answer.text for answer in await way.ask(prompt)) == "Good evening"


async def test_span_attributes_follow_the_semantic_conventions(kit: Kit, way: Way, spans: Spans) -> None:
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    options = ToolOptions(temperature=0.1)
    await way.ask(client(kit, spans, WHOLE, record_content=True, name="a").prompt("Hello").options(options).session("s"))
    with Telemetry(spans.provider, record_content=True).tool_span(CALL) as span:
        span.answered(ToolResult("c1", is_error=True))
    used = {name for each in spans.all for name in each.attributes or {}}
    assert len(used) > 15
    assert used - known == {error_attributes.ERROR_TYPE}


async def test_content_that_cannot_be_recorded_does_not_fail_the_call(kit: Kit, way: Way, spans: Spans) -> None:
    """Deeply nested arguments, lone surrogates, and schemas that JSON cannot represent."""
    deep = "[" * 100_000
    odd = Tool(ToolDefinition("odd", input_schema={"type": "object", "enum": {1, 2}, "x": {1: {}, (2,): 3}}), lambda a, c: "")
    set_only = Tool(ToolDefinition("set", input_schema={"enum": frozenset({1})}), lambda a, c: "")
    for door in (odd, set_only):
        chat = client(kit, spans, assistant(["\ud83d", deep], tool_calls=[ToolCall("a", "odd", deep)]), record_content=True)
        answers = await way.ask(
            chat.prompt().messages(user("\ud83d"), assistant(tool_calls=[ToolCall("a", "odd", deep)])).tools(door)
        )
        assert [call.arguments for answer in answers for call in answer.tool_calls] == [deep]
    for span in spans.all:
        for value in (span.attributes or {}).values():
            str(value).encode()
