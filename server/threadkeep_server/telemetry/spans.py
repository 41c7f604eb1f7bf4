"""Spans of a trace, without a library: what parts of the server use to describe their work.

The span that work runs in is a context variable, set by the front end for a call whose trace is recorded. Without one, and so
for every call while traces are off, `span` does nothing. Attributes are names of the code and numbers: never what callers sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from enum import Enum
from types import TracebackType
from typing import Final, Protocol, Self

Attribute = str | int | float | bool
Attributes = Mapping[str, Attribute]


class SpanKind(Enum):
    SERVER = "server"
    INTERNAL = "internal"
    CLIENT = "client"


class Span(Protocol):
    """A span, or a trace that is not recorded and only passed on."""

    @property
    def recorded(self) -> bool: ...

    @property
    def trace_id(self) -> str:
        """32 hexadecimal digits."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers that pass the trace on to another server."""
        ...

    def child(self, name: str, kind: SpanKind, attributes: Attributes) -> Span: ...

    def set(self, name: str, value: Attribute) -> None: ...

    def end(self, error: str = "") -> None:
        """Ends the span. `error`: the class or the code of a failure, without its text."""
        ...


class Tracer(Protocol):
    """Begins the spans of calls."""

    def begin(self, name: str, attributes: Attributes, traceparent: str | None, tracestate: str | None) -> Span | None:
        """Returns the span of a call, or None if there is nothing to record and to pass on. The arguments are headers of the
        call as they came."""
        ...


_CURRENT: Final[ContextVar[Span | None]] = ContextVar("threadkeep_span", default=None)


def current() -> Span | None:
    """Returns the span that the caller runs in; None if there is none."""
    return _CURRENT.get()


def recorded() -> Span | None:
    """Returns the span that the caller runs in, if it is recorded."""
    span = _CURRENT.get()
    return span if span is not None and span.recorded else None


def enter(span: Span | None) -> Token[Span | None]:
    """Runs what follows in this context in the span."""
    return _CURRENT.set(span)


def leave(token: Token[Span | None]) -> None:
    _CURRENT.reset(token)


def headers() -> Mapping[str, str]:
    """Returns the headers that pass the trace on; none outside of a trace."""
    span = _CURRENT.get()
    return {} if span is None else span.headers


class _Nothing(AbstractContextManager["_Nothing"]):
    """In place of a span that is not recorded."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def set(self, name: str, value: Attribute) -> None:
        """Does nothing."""


class _Within(AbstractContextManager["_Within"]):
    """Runs its body in a span."""

    __slots__ = ("_span", "_token")

    def __init__(self, span: Span) -> None:
        self._span = span
        self._token: Token[Span | None]

    def __enter__(self) -> Self:
        self._token = _CURRENT.set(self._span)
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        _CURRENT.reset(self._token)
        self._span.end("" if kind is None else kind.__name__)

    def set(self, name: str, value: Attribute) -> None:
        self._span.set(name, value)


NOTHING: Final = _Nothing()
"""The context of a span that is not recorded."""
_NONE: Final[Attributes] = {}


def span(name: str, attributes: Attributes = _NONE, kind: SpanKind = SpanKind.INTERNAL) -> _Nothing | _Within:
    """Returns a context whose body is a span within the current one."""
    parent = _CURRENT.get()
    if parent is None or not parent.recorded:
        return NOTHING
    return _Within(parent.child(name, kind, attributes))
