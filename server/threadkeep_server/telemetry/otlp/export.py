"""Exporters of OTLP over gRPC. What the settings leave open, the environment variables of OpenTelemetry decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from .metrics import MetricsExport
from .sampling import Sampling
from .tracing import OtelTracer

_PLAIN: Final = "http://"
_NO_NAME: Final = "unknown_service"


def resource_of(version: str, instance: str) -> Resource:
    """Returns what names the server. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come first."""
    own = Resource({"service.name": "threadkeep", "service.version": version, "service.instance.id": instance})
    given = {name: value for name, value in Resource.create().attributes.items() if not str(value).startswith(_NO_NAME)}
    return own.merge(Resource(given))


def open_tracer(resource: Resource, endpoint: str, sampling: Sampling, version: str) -> OtelTracer:
    """Returns a tracer that exports in the background. `endpoint`: a URL; empty: OTEL_EXPORTER_OTLP_ENDPOINT decides."""
    exporter = OTLPSpanExporter(endpoint=endpoint or None, insecure=_insecure(endpoint))
    return OtelTracer(resource, BatchSpanProcessor(exporter), sampling, version)


def open_metrics(resource: Resource, endpoint: str, version: str, clock: Callable[[], int]) -> MetricsExport:
    """Returns what exports metrics. `endpoint`: as for traces."""
    exporter = OTLPMetricExporter(endpoint=endpoint or None, insecure=_insecure(endpoint))
    return MetricsExport(exporter, resource, version, clock)


def _insecure(endpoint: str) -> bool | None:
    return endpoint.startswith(_PLAIN) if endpoint else None
