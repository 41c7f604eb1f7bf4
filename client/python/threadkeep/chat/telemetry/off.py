"""Replaces `telemetry` if OpenTelemetry is not installed: spans that record nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


class Telemetry:
    """Raises ImportError if a provider is passed or content is to be recorded."""

    __slots__ = ()

    def __init__(self, tracer_provider: object = None, *, meter_provider: object = None, record_content: bool = False) -> None:
        if tracer_provider is not None or meter_provider is not None or record_content:
            raise ImportError('telemetry needs opentelemetry, which is not installed: pip install "threadkeep[telemetry]"')

    def agent_span(self, *_: Any, **__: Any) -> AbstractContextManager[NoSpan]:
        return nullcontext(_NO_SPAN)

    chat_span = tool_span = agent_span


class NoSpan:
    """Has the methods of all spans of `telemetry`."""

    __slots__ = ()

    current = staticmethod(nullcontext)

    def add(self, answer: object) -> None: ...

    def answered(self, answer: object, error: BaseException | None = None) -> None: ...

    def finish(self) -> None: ...


_NO_SPAN = NoSpan()
