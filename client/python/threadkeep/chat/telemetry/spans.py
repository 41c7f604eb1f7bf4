"""Spans and metrics of a conversation, named by OpenTelemetry's semantic conventions for generative AI.

Messages, arguments, results and error texts, which may quote them, are recorded only with `record_content`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

from ..tools.tool import Tool
from ..types.aggregate import Aggregator
from ..types.messages import ToolCall, ToolResult
from ..types.options import ChatOptions, ToolOptions
from ..types.requests import ChatClientResponse, Prompt
from ..types.responses import ChatResponse, Usage
from .content import definitions_json, input_json, output_json
from .metrics import Measures, error_type

Attributes = Mapping[str, Any]
TOOL_ERROR = "tool_error"
"""`error.type` of a tool that returned an error without raising an exception."""


class Telemetry:
    """Starts spans and measures model calls. `tracer_provider`, `meter_provider`: None for OpenTelemetry's global ones.

    `record_content`: record messages, definitions, arguments, results and error texts.
    """

    __slots__ = ("_measures", "_tracer", "record_content")

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        *,
        meter_provider: MeterProvider | None = None,
        record_content: bool = False,
    ) -> None:
        self._tracer = trace.get_tracer("threadkeep.chat", tracer_provider=tracer_provider)
        self._measures = Measures(meter_provider)
        self.record_content = record_content

    @contextmanager
    def agent_span(self, name: str, provider: str, options: ChatOptions | None, conversation: str) -> Iterator[AgentSpan]:
        """A request to a client, with all its calls: INTERNAL, "invoke_agent {name}". It is not the current span."""
        about = {"gen_ai.agent.name": name or None, "gen_ai.conversation.id": conversation or None}
        attributes = {**_begun("invoke_agent", provider), **_asked(options), **about}
        with self._span("invoke_agent", name, SpanKind.INTERNAL, attributes) as span:
            yield AgentSpan(span)

    @contextmanager
    def chat_span(self, provider: str, prompt: Prompt, *, conversation: str = "", streams: bool = False) -> Iterator[ChatSpan]:
        """A model call: CLIENT, "chat {model}". It is not the current span; see `ChatSpan.current`."""
        attributes = {**_begun("chat", provider), **_asked(prompt.options), "gen_ai.conversation.id": conversation or None}
        model = (prompt.options.model if prompt.options else None) or ""
        with self._span("chat", model, SpanKind.CLIENT, attributes) as span:
            if streams:
                span.set_attribute("gen_ai.request.stream", True)
            if self.record_content and span.is_recording():
                span.set_attribute("gen_ai.input.messages", input_json(prompt.messages))
                if isinstance(prompt.options, ToolOptions) and prompt.options.tools:
                    span.set_attribute("gen_ai.tool.definitions", definitions_json(prompt.options.tools))
            call = ChatSpan(span, self.record_content)
            with self._measures.chat(provider, model, call):
                yield call

    @contextmanager
    def tool_span(self, call: ToolCall, tool: Tool | None = None) -> Iterator[ToolSpan]:
        """A tool run: INTERNAL, "execute_tool {name}", current in the block. `tool`: None if unknown."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id or None,
            "gen_ai.tool.type": call.kind or None,
            "gen_ai.tool.description": (tool.definition.description if tool else "") or None,
            "gen_ai.tool.call.arguments": call.arguments if self.record_content else None,
        }
        with self._span("execute_tool", call.name, SpanKind.INTERNAL, attributes) as span, _entering(span)():
            yield ToolSpan(span, self.record_content)

    @contextmanager
    def _span(self, operation: str, subject: str, kind: SpanKind, attributes: Attributes) -> Iterator[Span]:
        known = {name: value for name, value in attributes.items() if value is not None}
        span = self._tracer.start_span(f"{operation} {subject}".strip(), kind=kind, attributes=known)
        try:
            yield span
        except GeneratorExit:  # the reader closed the stream: not a failure
            raise
        except BaseException as error:
            _note(span, error, quote=self.record_content)
            raise
        finally:
            span.end()


class AgentSpan:
    """A request in progress."""

    __slots__ = ("_span", "current")

    def __init__(self, span: Span) -> None:
        self._span = span
        self.current = _entering(span)
        """Makes the span the parent of spans that start in the block."""

    def add(self, answer: ChatClientResponse) -> None:
        """Adds an answer or a chunk. The last non-empty usage covers all model calls so far."""
        if answer.usage and self._span.is_recording():
            self._span.set_attributes(_counted(answer.usage))


class ChatSpan:
    """A model call in progress."""

    __slots__ = ("_began", "_quotes", "_seen", "_span", "current", "model", "usage")

    def __init__(self, span: Span, quotes: bool) -> None:
        self._span = span
        self._quotes = quotes
        self._began = time.perf_counter()
        self._seen: Aggregator | None = None
        self.usage = Usage()
        self.model = ""
        self.current = _entering(span)
        """Makes the span the parent of spans that start in the block. A stream enters it for each step: the reader's work
        between two steps is not part of the call."""

    def answered(self, response: ChatResponse) -> None:
        """Records the whole answer."""
        self._count(response)
        if self._span.is_recording():
            self._span.set_attributes(_answered(response))
            if self._quotes:
                self._span.set_attribute("gen_ai.output.messages", output_json(response.generations))

    def add(self, chunk: ChatResponse) -> None:
        """Adds a chunk."""
        self._count(chunk)
        if self._span.is_recording():
            if self._seen is None:
                self._seen = Aggregator()
                self._span.set_attribute("gen_ai.response.time_to_first_chunk", time.perf_counter() - self._began)
            self._seen.add_response(chunk)

    def finish(self) -> None:
        """Records the answer of a stream after its last chunk."""
        if self._seen is not None:
            self.answered(self._seen.chat_response())

    def _count(self, answer: ChatResponse) -> None:
        self.usage = answer.usage or self.usage
        self.model = answer.model or self.model


class ToolSpan:
    """A tool run."""

    __slots__ = ("_quotes", "_span")

    def __init__(self, span: Span, quotes: bool) -> None:
        self._span = span
        self._quotes = quotes

    def answered(self, result: ToolResult, error: BaseException | None = None) -> None:
        """Records the result. `error`: the exception of the tool if the model receives its text."""
        if not self._span.is_recording():
            return
        if self._quotes:
            self._span.set_attribute("gen_ai.tool.call.result", result.text)
        if error is not None:
            _note(self._span, error, quote=self._quotes)
        elif result.is_error:
            self._span.set_attribute("error.type", TOOL_ERROR)
            self._span.set_status(Status(StatusCode.ERROR, result.text if self._quotes else None))


def _note(span: Span, error: BaseException, *, quote: bool) -> None:
    span.set_attribute("error.type", error_type(error))
    span.set_status(Status(StatusCode.ERROR, str(error) if quote else None))
    if quote:
        span.record_exception(error)


class _Current:
    """Makes a span current in a block. `trace.use_span` does more work, and a stream enters once per chunk."""

    __slots__ = ("_context", "_token")

    def __init__(self, inside: Context) -> None:
        self._context = inside

    def __enter__(self) -> None:
        self._token = context.attach(self._context)

    def __exit__(self, *_: object) -> None:
        context.detach(self._token)


_Enters = Callable[[], AbstractContextManager[None]]


def _entering(span: Span) -> _Enters:
    """Returns a context manager that makes the span current, or does nothing for an invalid one."""
    if not span.get_span_context().is_valid:
        return nullcontext
    inside = trace.set_span_in_context(span)
    return lambda: _Current(inside)


def _begun(operation: str, provider: str) -> Attributes:
    return {"gen_ai.operation.name": operation, "gen_ai.provider.name": provider}


def _asked(options: ChatOptions | None) -> Attributes:
    if options is None:
        return {}
    return {
        "gen_ai.request.model": options.model,
        "gen_ai.request.temperature": options.temperature,
        "gen_ai.request.top_p": options.top_p,
        "gen_ai.request.max_tokens": options.max_tokens,
        "gen_ai.request.stop_sequences": options.stop,
        "gen_ai.request.seed": options.seed,
    }


def _answered(response: ChatResponse) -> dict[str, Any]:
    reasons: Sequence[str] = [each.finish_reason for each in response.generations if each.finish_reason]
    about = {
        "gen_ai.response.id": response.id,
        "gen_ai.response.model": response.model,
        "gen_ai.response.finish_reasons": reasons,
    }
    return {name: value for name, value in about.items() if value} | (_counted(response.usage) if response.usage else {})


def _counted(usage: Usage) -> dict[str, Any]:
    """Returns the usage. Zero counts of cached and reasoning tokens are left out: not every provider reports them."""
    parts = {
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    whole = {"gen_ai.usage.input_tokens": usage.input_tokens, "gen_ai.usage.output_tokens": usage.output_tokens}
    return whole | {name: count for name, count in parts.items() if count}
