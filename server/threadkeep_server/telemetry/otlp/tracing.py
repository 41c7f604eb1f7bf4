"""Spans over OpenTelemetry's SDK."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags, TraceState, set_span_in_context

from ..spans import Attribute, Attributes, Span, SpanKind
from ..traceparent import TraceParent, parsed, usable_state
from .sampling import Sampling

_CLOSES_WITHIN_S: Final = 2.0
_KINDS: Final = {each: trace.SpanKind[each.name] for each in SpanKind}


class OtelTracer:
    """A Tracer that gives its spans to a processor. Decides by itself what is recorded: a call that is not costs no span."""

    def __init__(self, resource: Resource, processor: SpanProcessor, sampling: Sampling, version: str) -> None:
        self._provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("threadkeep", version)
        self._sampling = sampling

    def begin(self, name: str, attributes: Attributes, traceparent: str | None, tracestate: str | None) -> Span | None:
        parent = parsed(traceparent)
        if not self._sampling.records(parent):
            return None if parent is None else PassedOn(parent, tracestate)
        context = (
            Context() if parent is None else set_span_in_context(NonRecordingSpan(_context(parent, tracestate)), Context())
        )
        return OtelSpan(self._tracer, self._tracer.start_span(name, context, trace.SpanKind.SERVER, attributes))

    def close(self) -> None:
        """Exports what is left, for two seconds at most: a collector that does not answer must not hold up the end. Blocks."""
        closing = threading.Thread(target=self._provider.shutdown, name="last traces", daemon=True)
        closing.start()
        closing.join(_CLOSES_WITHIN_S)


class OtelSpan:
    """A recorded span."""

    __slots__ = ("_span", "_tracer")

    recorded = True

    def __init__(self, tracer: trace.Tracer, span: trace.Span) -> None:
        self._tracer = tracer
        self._span = span

    @property
    def trace_id(self) -> str:
        return f"{self._span.get_span_context().trace_id:032x}"

    @property
    def headers(self) -> Mapping[str, str]:
        return _headers(self._span.get_span_context())

    def child(self, name: str, kind: SpanKind, attributes: Attributes) -> OtelSpan:
        context = set_span_in_context(self._span, Context())
        return OtelSpan(self._tracer, self._tracer.start_span(name, context, _KINDS[kind], attributes))

    def set(self, name: str, value: Attribute) -> None:
        self._span.set_attribute(name, value)

    def end(self, error: str = "") -> None:
        if error:
            self._span.set_attribute("error.type", error)
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


class PassedOn:
    """A trace of a caller that is not recorded here. Other servers get the context as it came."""

    __slots__ = ("_context",)

    recorded = False

    def __init__(self, parent: TraceParent, tracestate: str | None) -> None:
        self._context = _context(parent, tracestate)

    @property
    def trace_id(self) -> str:
        return f"{self._context.trace_id:032x}"

    @property
    def headers(self) -> Mapping[str, str]:
        return _headers(self._context)

    def child(self, name: str, kind: SpanKind, attributes: Attributes) -> PassedOn:
        return self

    def set(self, name: str, value: Attribute) -> None:
        """Does nothing: nothing is recorded."""

    def end(self, error: str = "") -> None:
        """Does nothing: nothing is recorded."""


def _context(parent: TraceParent, tracestate: str | None) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if parent.sampled else TraceFlags.DEFAULT)
    state = usable_state(tracestate)
    return SpanContext(parent.trace_id, parent.span_id, True, flags, TraceState.from_header([state]) if state else None)


def _headers(context: SpanContext) -> Mapping[str, str]:
    found = {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"}
    if context.trace_state:
        found["tracestate"] = context.trace_state.to_header()
    return found
