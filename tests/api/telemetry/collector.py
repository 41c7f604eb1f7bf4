"""A collector of OTLP over gRPC, in this process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc


@dataclass(frozen=True, slots=True)
class Received:
    """A span as it was exported. Ids are hexadecimal."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    attributes: dict[str, Any]
    failed: bool


@dataclass
class Collector:
    """What was received."""

    endpoint: str = ""
    spans: list[Received] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    resource: dict[str, Any] = field(default_factory=dict)
    raw: list[bytes] = field(default_factory=list)
    """The requests."""

    def trace(self, trace_id: str, *names: str) -> dict[str, Received]:
        """Returns the spans of a trace by name. Waits, for a while, until these are there."""
        for _ in range(1_200):
            found = {each.name: each for each in self.spans if each.trace_id == trace_id}
            if found.keys() >= set(names):
                break
            time.sleep(0.05)
        return found

    def exported(self, *names: str) -> dict[str, Any]:
        """Returns the metrics that were received last, by name. Waits, for a while, until these are there."""
        for _ in range(1_200):
            if self.metrics.keys() >= set(names):
                break
            time.sleep(0.05)
        return dict(self.metrics)

    def Export(self, request: Any, _: grpc.ServicerContext) -> Any:
        self.raw.append(request.SerializeToString())
        if isinstance(request, trace_service_pb2.ExportTraceServiceRequest):
            for of_resource in request.resource_spans:
                self.resource = _values(of_resource.resource.attributes)
                self.spans += [_received(span) for scope in of_resource.scope_spans for span in scope.spans]
            return trace_service_pb2.ExportTraceServiceResponse()
        for of_resource in request.resource_metrics:
            self.metrics |= {each.name: each for scope in of_resource.scope_metrics for each in scope.metrics}
        return metrics_service_pb2.ExportMetricsServiceResponse()


@contextmanager
def collecting() -> Iterator[Collector]:
    """Receives while the context is open."""
    collector = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(collector, server)
    collector.endpoint = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(None).wait()


def _received(span: Any) -> Received:
    ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
    return Received(span.name, *ids, span.kind, _values(span.attributes), span.status.code == 2)


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
