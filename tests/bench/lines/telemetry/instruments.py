"""The work of measuring and tracing one unary append, alone: what the server does for it, with nothing between.

A group of one append is the worst case: usually many share the work of a commit.
"""

import time
import timeit
from functools import partial

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor

from threadkeep_server.domain.model import NO_COUNTERS, SessionRef
from threadkeep_server.store.contract.events import Appended, AppendedEvent, AppendRequest
from threadkeep_server.store.sql.engine.unit_spans import unit_span
from threadkeep_server.store.sql.log.commit_spans import commit_span
from threadkeep_server.store.sql.log.outcome_counts import count_outcome
from threadkeep_server.telemetry.meters import Meters
from threadkeep_server.telemetry.otlp.sampling import Sampling
from threadkeep_server.telemetry.otlp.tracing import OtelTracer
from threadkeep_server.telemetry.rpcs import Rpcs
from threadkeep_server.telemetry.spans import Tracer, enter, recorded

_METADATA = (("user-agent", "grpc-python"), ("authorization", "Bearer token"))
_REPEATS = 7
_NUMBER = 20_000


def _header(wanted: str) -> str | None:
    return next((value for name, value in _METADATA if name == wanted), None)


def tracer(ratio: float) -> Tracer:
    """Returns a tracer that records a part of the calls and drops what is recorded."""
    return OtelTracer(Resource({}), SpanProcessor(), Sampling(ratio, parent_based=True), "1")


def seconds(traces: Tracer | None) -> float:
    """Returns the seconds that measuring, and tracing if that is on, takes for one append; the least of several runs."""
    meters = Meters()
    rpc, store = Rpcs(meters, traces).rpc("threadkeep.v1.EventService", "AppendEvents", streaming=False), meters.store
    request = AppendRequest("acme", SessionRef("app", "user", "session"), [], 0)
    appended = Appended([AppendedEvent("e", 1, False)], 1, 1, NO_COUNTERS, False)

    def unit(_: object) -> None:
        """In place of the commit."""

    def append() -> None:
        call = rpc.begin(partial(_header))
        waiting = (request, None, 1000, recorded(), time.monotonic())
        began = time.monotonic()
        with commit_span([waiting]), unit_span("sqlite", "write", unit):  # type: ignore[list-item]  # a future is not needed
            pass
        now = time.monotonic()
        store.commit_duration.add(now - began)
        store.commit_size.add(1)
        count_outcome(store, request, appended, 1000, now - waiting[4])
        call.succeeded()

    taken = min(timeit.repeat(append, number=_NUMBER, repeat=_REPEATS)) / _NUMBER
    enter(None)
    return taken
