"""Trace contexts, which calls are recorded, and the fields that the log adds."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from threadkeep_server.logs import setup_logging
from threadkeep_server.telemetry import spans
from threadkeep_server.telemetry.otlp.sampling import Sampling, sampling_of
from threadkeep_server.telemetry.otlp.tracing import PassedOn
from threadkeep_server.telemetry.rpcs import Rpcs, log_fields
from threadkeep_server.telemetry.traceparent import TraceParent, parsed, usable_state
from threadkeep_server.transport.errors import as_domain_error

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = TraceParent(int(TRACE, 16), int(SPAN, 16), True)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (f"00-{TRACE}-{SPAN}-01", PARENT),
        (f"00-{TRACE}-{SPAN}-00", PARENT._replace(sampled=False)),
        (f" 00-{TRACE}-{SPAN}-03 ", PARENT),
        (f"cc-{TRACE}-{SPAN}-01-later", PARENT),
        (f"00-{TRACE}-{SPAN}-01-later", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        ("", None),
        (None, None),
    ],
)
def test_a_traceparent_is_read_as_w3c_defines_it(header: str | None, expected: TraceParent | None) -> None:
    assert parsed(header) == expected


def test_a_trace_state_is_passed_on_if_it_is_short_ascii() -> None:
    assert usable_state("vendor=1") == "vendor=1"
    assert [usable_state(each) for each in (None, "", "ä=1", "a=\n", "a" * 513)] == [None] * 5


@pytest.mark.parametrize(
    ("name", "ratio", "alone", "recorded_by_caller", "dropped_by_caller"),
    [
        ("always_on", 0.0, True, True, True),
        ("always_off", 1.0, False, False, False),
        ("parentbased_always_on", 0.0, True, True, False),
        ("parentbased_always_off", 1.0, False, True, False),
        ("parentbased_traceidratio", 0.5, True, True, False),
        ("traceidratio", 1.0, True, True, True),
        ("traceidratio", 0.0, False, False, False),
    ],
)
def test_samplers_decide_as_their_names_say(
    name: str, ratio: float, alone: bool, recorded_by_caller: bool, dropped_by_caller: bool
) -> None:
    found = sampling_of(name, ratio)
    sampling = Sampling(found.ratio, found.parent_based, random=lambda: 0.4)
    decided = [sampling.records(each) for each in (None, PARENT, PARENT._replace(sampled=False))]
    assert decided == [alone, recorded_by_caller, dropped_by_caller]


def test_a_ratio_without_parents_is_decided_by_the_trace_id() -> None:
    sampling = sampling_of("traceidratio", 0.25)
    ids = [TraceParent((number << 55) | 1, 1, False) for number in range(256)]
    assert sum(sampling.records(each) for each in ids) == 64


@pytest.mark.parametrize(("name", "ratio"), [("sometimes", 1.0), ("parentbased_", 1.0), ("traceidratio", 1.5)])
def test_an_unknown_sampler_and_a_wrong_ratio_are_refused(name: str, ratio: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        sampling_of(name, ratio)


class Passing:
    """A tracer that records nothing and passes on."""

    def begin(
        self, name: str, attributes: spans.Attributes, traceparent: str | None, tracestate: str | None
    ) -> spans.Span | None:
        parent = parsed(traceparent)
        return None if parent is None else PassedOn(parent._replace(sampled=False), tracestate)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    stream = io.StringIO()
    setup_logging("info", "json", stream)
    yield stream
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(capture=False)


async def test_log_lines_of_a_call_have_its_request_id_and_its_trace(log: io.StringIO) -> None:
    sent = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1", "x-request-id": "call-7"}
    call = Rpcs(tracer=Passing()).rpc("S", "M", streaming=False).begin(sent.get)
    logging.getLogger("within").warning("something")
    error = as_domain_error(RuntimeError("hush"))
    assert spans.headers() == {"traceparent": f"00-{TRACE}-{SPAN}-00", "tracestate": "vendor=1"}
    call.failed(error)
    logging.getLogger("after").warning("something")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(each.get("request_id"), each.get("trace_id")) for each in lines] == [
        ("call-7", TRACE),
        ("call-7", TRACE),
        (None, None),
    ]
    assert error.metadata["request_id"] == "call-7"


@pytest.mark.parametrize("sent", ["", "x" * 65, "a b", "a\nb"])
async def test_an_unusable_request_id_is_replaced(sent: str) -> None:
    Rpcs().rpc("S", "M", streaming=False).begin({"x-request-id": sent}.get)
    assert len(log_fields()["request_id"]) == 36
    assert log_fields() == log_fields()
