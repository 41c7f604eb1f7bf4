"""The text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from .instruments import Histogram, Kind, Reading

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
_FAMILIES: Final[dict[Kind, Any]] = {
    Kind.COUNTER: CounterMetricFamily,
    Kind.GAUGE: GaugeMetricFamily,
    Kind.HISTOGRAM: HistogramMetricFamily,
}


def page_of(readings: Iterable[Reading]) -> bytes:
    """Returns the page with these values, and those of the process where the system gives them."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Once([_family(each) for each in readings]))
    return generate_latest(registry)


def _family(each: Reading) -> Metric:
    definition = each.of
    name, labels = definition.prometheus_name, definition.prometheus_labels
    family = _FAMILIES[definition.kind](name, definition.text.replace("`", ""), labels=labels)
    for values, value in each.values.items():
        if isinstance(value, Histogram):
            family.add_metric(values, buckets=value.cumulative(), sum_value=value.sum)
        else:
            family.add_metric(values, value)
    found: Metric = family
    return found


class _Once(Collector):
    """The metrics of one page."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
