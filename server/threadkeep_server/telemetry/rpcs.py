"""Measures and traces the calls of RPCs, from their arrival to their end. Each front end begins and ends them."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

from ..domain.errors import Kind, QuotaExceeded, RateLimited, ThreadkeepError
from . import spans
from .instruments import OTHER, Counter, Histogram
from .meters import Meters

OK: Final = "OK"
CANCELLED: Final = "CANCELLED"
UNIMPLEMENTED: Final = "UNIMPLEMENTED"
DEADLINE_EXCEEDED: Final = Kind.DEADLINE_EXCEEDED.name

REQUEST_ID: Final = "x-request-id"
"""The header with which a caller names its call, for the log."""
_USABLE_ID: Final = re.compile(r"[A-Za-z0-9._:/-]{1,64}")
# Codes for which the server is to blame; a span of another one is no error of the server.
_FAULTS: Final = frozenset({"INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED"})

Header = Callable[[str], str | None]
"""Returns a header of the call by its name in lower case."""

_CALL: Final[ContextVar[Call | None]] = ContextVar("threadkeep_call", default=None)


def code_of(exc: BaseException) -> str:
    """Returns the name of the status code that the caller gets for an error."""
    if isinstance(exc, ThreadkeepError):
        return exc.kind.name
    return Kind.INTERNAL.name if isinstance(exc, Exception) else CANCELLED


def log_fields() -> dict[str, str]:
    """Returns what the log adds to a line: `request_id` and, in a trace, `trace_id`; nothing outside of a call."""
    call = _CALL.get()
    if call is None or call.ended:
        return {}
    span = spans.current()
    return {"request_id": call.request_id} | ({} if span is None else {"trace_id": span.trace_id})


def request_id() -> str:
    """Returns the id of the call; a new one outside of a call."""
    call = _CALL.get()
    return str(uuid.uuid4()) if call is None or call.ended else call.request_id


class Rpc:
    """An RPC whose calls are measured. `streaming`: its calls last as long as clients want, and are only counted."""

    __slots__ = ("_attributes", "_limited", "_name", "_outcome", "_tracer", "clock", "count_ok")

    def __init__(
        self,
        meters: Meters,
        service: str,
        method: str,
        *,
        streaming: bool,
        clock: Callable[[], float],
        tracer: spans.Tracer | None = None,
    ) -> None:
        family = meters.rpc_streams if streaming else meters.rpc_duration
        self._outcome: Callable[[str], Counter | Histogram] = lambda code: family.child(service, method, code)
        self.count_ok = _counting(self._outcome(OK))
        self._limited = meters.limited
        self.clock = clock
        self._tracer = tracer
        self._name = f"{service}/{method}"
        self._attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}

    def begin(self, header: Header | None = None) -> Call:
        """Begins a call in the context of its task."""
        span = None
        if self._tracer is not None:
            traceparent = None if header is None else header("traceparent")
            tracestate = None if traceparent is None or header is None else header("tracestate")
            span = self._tracer.begin(self._name, self._attributes, traceparent, tracestate)
            spans.enter(span)
        call = Call(self, self.clock(), header, span)
        _CALL.set(call)
        return call

    def count(self, began: float, exc: BaseException, code: str) -> None:
        """Counts a call that failed."""
        _counting(self._outcome(code))(self.clock() - began)
        if isinstance(exc, RateLimited | QuotaExceeded):
            self._limited.child(exc.metadata["limit" if isinstance(exc, RateLimited) else "quota"]).add()


def _counting(outcome: Counter | Histogram) -> Callable[[float], None]:
    """Returns what counts a call of so many seconds."""
    return outcome.add if isinstance(outcome, Histogram) else lambda _: outcome.add()


class Call:
    """A call. Ends once: what follows the first end is not counted."""

    __slots__ = ("_began", "_header", "_id", "_rpc", "_span")

    def __init__(self, rpc: Rpc, began: float, header: Header | None, span: spans.Span | None) -> None:
        self._rpc: Rpc | None = rpc
        self._began = began
        self._header = header
        self._span = span
        self._id = ""

    @property
    def ended(self) -> bool:
        return self._rpc is None

    @property
    def request_id(self) -> str:
        """The id that the caller gave the call, or one of the server's own."""
        if not self._id:
            given = None if self._header is None else self._header(REQUEST_ID)
            self._id = given if given and _USABLE_ID.fullmatch(given) else str(uuid.uuid4())
        return self._id

    def succeeded(self) -> None:
        rpc = self._rpc
        if rpc is not None:
            self._rpc = self._header = None
            rpc.count_ok(rpc.clock() - self._began)
            if self._span is not None:
                self._end_span(self._span, OK)

    def failed(self, exc: BaseException, code: str = "") -> None:
        """`code`: the name of the code that the caller gets, if it does not follow from the error."""
        rpc = self._rpc
        if rpc is not None:
            self._rpc = self._header = None
            code = code or code_of(exc)
            rpc.count(self._began, exc, code)
            if self._span is not None:
                self._end_span(self._span, code)

    def _end_span(self, span: spans.Span, code: str) -> None:
        span.set("rpc.response.status_code", code)
        if self._id:
            span.set("threadkeep.request_id", self._id)
        span.end(code if code in _FAULTS else "")


class Rpcs:
    """The RPCs of a server. `tracer`: None without traces."""

    def __init__(
        self,
        meters: Meters | None = None,
        tracer: spans.Tracer | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.meters = meters or Meters()
        self._tracer = tracer
        self._clock = clock
        self._rpcs: dict[str, Rpc] = {}
        self._unknown = Rpc(self.meters, OTHER, OTHER, streaming=False, clock=clock)

    def rpc(self, service: str, method: str, *, streaming: bool) -> Rpc:
        """Returns the measured RPC, the same one to every front end."""
        path = f"/{service}/{method}"
        if path not in self._rpcs:
            self._rpcs[path] = Rpc(self.meters, service, method, streaming=streaming, clock=self._clock, tracer=self._tracer)
        return self._rpcs[path]

    def count_unknown(self) -> None:
        """Counts a call of a method that the server does not have."""
        self._unknown.begin().failed(LookupError(), UNIMPLEMENTED)
