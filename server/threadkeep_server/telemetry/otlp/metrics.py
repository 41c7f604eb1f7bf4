"""The metrics over OTLP: the same readings as on the page, under the names of OpenTelemetry."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    HistogramDataPoint,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as ExportedHistogram
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from ..instruments import Histogram, Kind, Labels, Reading, Value

_log = logging.getLogger(__name__)


class MetricsExport:
    """Exports readings. `clock` returns nanoseconds since 1970; counters started at `started`."""

    def __init__(self, exporter: MetricExporter, resource: Resource, version: str, clock: Callable[[], int]) -> None:
        self._exporter = exporter
        self._resource = resource
        self._scope = InstrumentationScope("threadkeep", version)
        self._clock = clock
        self._started = clock()

    async def run(self, read: Callable[[], Awaitable[Sequence[Reading]]], interval_s: float) -> None:
        """Exports every so many seconds until canceled."""
        while True:
            await asyncio.sleep(interval_s)
            try:
                await self.export(await read())
            except Exception as exc:  # the next export must not depend on this one
                _log.warning("exporting metrics failed: %s", type(exc).__name__)

    async def export(self, readings: Sequence[Reading]) -> None:
        """Exports the readings once, in a thread."""
        data = self.data(readings)
        if await asyncio.to_thread(self._exporter.export, data) is not MetricExportResult.SUCCESS:
            _log.warning("the collector did not accept the metrics; the next export has them")

    def close(self) -> None:
        self._exporter.shutdown()

    def data(self, readings: Sequence[Reading]) -> MetricsData:
        """Returns the readings as OpenTelemetry has them."""
        now = self._clock()
        metrics = [self._metric(each, now) for each in readings if each.values]
        return MetricsData([ResourceMetrics(self._resource, [ScopeMetrics(self._scope, metrics, "")], "")])

    def _metric(self, each: Reading, now: int) -> Metric:
        of = each.of
        data: Sum | Gauge | ExportedHistogram
        if of.kind is Kind.HISTOGRAM:
            points = [self._histogram(of.labels, labels, value, now) for labels, value in each.values.items()]
            data = ExportedHistogram(points, AggregationTemporality.CUMULATIVE)
        else:
            numbers = [
                NumberDataPoint(_attributes(of.labels, labels), self._started, now, value)
                for labels, value in each.values.items()
                if not isinstance(value, Histogram)
            ]
            data = Gauge(numbers) if of.kind is Kind.GAUGE else Sum(numbers, AggregationTemporality.CUMULATIVE, True)
        return Metric(of.name, of.text, of.unit or "1", data)

    def _histogram(self, names: Sequence[str], labels: Labels, value: Value, now: int) -> HistogramDataPoint:
        assert isinstance(value, Histogram)  # noqa: S101 - by its definition
        return HistogramDataPoint(
            attributes=_attributes(names, labels),
            start_time_unix_nano=self._started,
            time_unix_nano=now,
            count=sum(value.buckets),
            sum=value.sum,
            bucket_counts=list(value.buckets),
            explicit_bounds=value.bounds,
            min=float("inf"),
            max=float("-inf"),
        )


def _attributes(names: Sequence[str], labels: Labels) -> Mapping[str, str]:
    return dict(zip(names, labels, strict=True))
