"""Traces: a caller's context in, the work of the server below it, and everything exported to a collector."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any
from unittest.mock import ANY

import grpc
import pytest
from google.protobuf.json_format import ParseDict

from tests.api.search.searching import ENGINES, serving
from tests.api.telemetry.collector import Collector, collecting
from tests.api.telemetry.traffic import post
from threadkeep.v1 import event_service_pb2
from threadkeep.v1.event_service_pb2_grpc import EventServiceStub
from threadkeep_server.app.server import Running

EVENTS, SESSIONS, SEARCH = (f"threadkeep.v1.{name}" for name in ("EventService", "SessionService", "SearchService"))
CALLER = "00f067aa0ba902b7"
TEXT = "hush-text of a message"
REF = {"app": "hush-app", "user_id": "hush-user", "session_id": "hush-session"}
MESSAGE = {"message": {"role": "ROLE_USER", "parts": [{"text": TEXT}]}}
APPEND = {"session": REF, "create_if_missing": {}, "events": [MESSAGE]}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        patch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "200")
        exported = {"export_traces": "otlp", "export_metrics": "otlp", "otlp_endpoint": collector.endpoint}
        with serving(request.param, request, tmp_path_factory.mktemp("traces"), embedder="hashing", **exported) as server:
            assert post(server, f"{EVENTS}/AppendEvents", APPEND)[0] == 200
            yield server


def traceparent(trace_id: str, *, sampled: bool = True) -> str:
    return f"00-{trace_id}-{CALLER}-{sampled:02x}"


def test_a_callers_trace_contains_the_rpc_the_commit_and_the_statements(server: Running, collector: Collector) -> None:
    trace_id = secrets.token_hex(16)
    request = event_service_pb2.AppendEventsRequest()
    ParseDict(APPEND, request)
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        append = EventServiceStub(channel).AppendEvents
        append(request, metadata=(("traceparent", traceparent(trace_id)), ("x-request-id", "call-7")), timeout=60)
    spans = collector.trace(trace_id, f"{EVENTS}/AppendEvents", "group commit", "sql write")
    call, commit, sql = spans[f"{EVENTS}/AppendEvents"], spans["group commit"], spans["sql write"]
    assert call.parent_id == CALLER
    assert (commit.parent_id, sql.parent_id) == (call.span_id, commit.span_id)
    assert call.kind == 2, "a span of a server"
    assert call.attributes["rpc.response.status_code"] == "OK"
    assert commit.attributes == {"threadkeep.commit.group_size": 1}
    assert sql.attributes["db.system.name"] == server.store.engine.split()[0]
    assert collector.resource["service.name"] == "threadkeep"


def test_a_search_over_http_is_traced_with_its_stages(server: Running, collector: Collector) -> None:
    trace_id = secrets.token_hex(16)
    whose = {"app": "hush-app", "user_id": "hush-user"}
    query = {"user": whose, "query": "hush-query message", "mode": "SEARCH_MODE_HYBRID"}
    assert post(server, f"{SEARCH}/SearchEvents", query, traceparent=traceparent(trace_id)) == (200, ANY)
    wanted = f"{SEARCH}/SearchEvents", "search events", "embedder", "search vectors", "search words", "search load"
    spans = collector.trace(trace_id, *wanted)
    assert spans.keys() >= set(wanted)
    assert spans["search events"].parent_id == spans[f"{SEARCH}/SearchEvents"].span_id
    assert spans["search events"].attributes == {"threadkeep.search.mode": "hybrid"}
    assert spans["embedder"].parent_id == spans["search vectors"].span_id


def test_a_trace_that_the_caller_does_not_record_is_not_recorded(server: Running, collector: Collector) -> None:
    unrecorded, recorded = secrets.token_hex(16), secrets.token_hex(16)
    for trace_id, sampled in ((unrecorded, False), (recorded, True)):
        headers = {"traceparent": traceparent(trace_id, sampled=sampled)}
        assert post(server, f"{SESSIONS}/GetSession", {"session": REF}, **headers)[0] == 200
    assert collector.trace(recorded, f"{SESSIONS}/GetSession")
    assert unrecorded not in {each.trace_id for each in collector.spans}


def test_a_failed_call_has_its_code_and_no_span_has_what_callers_sent(server: Running, collector: Collector) -> None:
    trace_id = secrets.token_hex(16)
    missing = {"session": {**REF, "session_id": "hush-missing"}}
    headers = {"traceparent": traceparent(trace_id), "authorization": "Bearer hush-token"}
    assert post(server, f"{SESSIONS}/GetSession", missing, **headers)[0] == 404
    [span] = [each for name, each in collector.trace(trace_id, f"{SESSIONS}/GetSession").items() if "/" in name]
    assert span.attributes["rpc.response.status_code"] == "NOT_FOUND"
    assert not span.failed, "the caller is to blame"
    assert collector.raw
    assert not [raw for raw in collector.raw if b"hush" in raw]


def test_metrics_are_exported_under_the_names_of_opentelemetry(server: Running, collector: Collector) -> None:
    collector.metrics.clear()
    metrics = collector.exported("rpc.server.duration", "threadkeep.feed_head")
    points = {_attribute(each, "rpc.method"): each for each in metrics["rpc.server.duration"].histogram.data_points}
    append = points["AppendEvents"]
    assert metrics["rpc.server.duration"].unit == "s"
    assert append.count >= 1
    assert append.count == sum(append.bucket_counts)
    assert len(append.bucket_counts) == len(append.explicit_bounds) + 1
    assert metrics["threadkeep.feed_head"].gauge.data_points[0].as_int >= 1
    assert metrics["threadkeep.subscription_fell_behind"].sum.is_monotonic


def _attribute(point: Any, name: str) -> str:
    [value] = [each.value.string_value for each in point.attributes if each.key == name]
    return str(value)
