"""What a metric is, and the instruments that count: plain objects of one event loop, without locks.

A label has few values, all known in advance or counted by the code: never the name of a user, an app or a session.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Final, Generic, TypeVar

DURATIONS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of durations, in seconds; the last bucket has none."""
SIZES: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
"""Upper bounds of the buckets of numbers of requests."""

OTHER: Final = "_OTHER"
"""The value of a label for everything that is not one of the known values."""

_SUFFIXES: Final = {"s": "_seconds", "By": "_bytes"}


class Kind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Definition:
    """A metric. `name` is that of OpenTelemetry; `unit`: "s", "By", or none for a number. `omitted`: when it is left out."""

    name: str
    kind: Kind
    text: str
    unit: str = ""
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    omitted: str = ""

    @property
    def prometheus_name(self) -> str:
        """The name on the page: with the unit, and `_total` for a counter."""
        total = "_total" if self.kind is Kind.COUNTER else ""
        return self.name.replace(".", "_") + _SUFFIXES.get(self.unit, "") + total

    @property
    def prometheus_labels(self) -> tuple[str, ...]:
        return tuple(label.replace(".", "_") for label in self.labels)


class Counter:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, number: int = 1) -> None:
        self.value += number


class Histogram:
    """Values by bucket."""

    __slots__ = ("bounds", "buckets", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        self.sum += value
        self.buckets[bisect_left(self.bounds, value)] += 1

    def cumulative(self) -> list[tuple[str, float]]:
        """Returns the number of values up to each bound, as Prometheus counts them."""
        return list(zip([*map(str, self.bounds), "+Inf"], map(float, accumulate(self.buckets)), strict=True))


Labels = tuple[str, ...]
Value = float | Histogram
I = TypeVar("I", Counter, Histogram)  # noqa: E741 - an instrument


@dataclass(frozen=True, slots=True)
class Reading:
    """The values of a metric at one time, by the values of its labels."""

    of: Definition
    values: Mapping[Labels, Value]


def reading(of: Definition, value: Value, *labels: str) -> Reading:
    """Returns a reading of one value."""
    return Reading(of, {labels: int(value) if isinstance(value, bool) else value})


class Family(Generic[I]):
    """The instruments of a metric, one for each combination of values of its labels. Keep those that a hot path uses."""

    def __init__(self, of: Definition, make: Callable[[], I]) -> None:
        self.of = of
        self._make: Callable[[], I] = make
        self._children: dict[Labels, I] = {}

    def child(self, *labels: str) -> I:
        """Returns the instrument with these values of the labels."""
        found = self._children.get(labels)
        if found is None:
            found = self._children[labels] = self._make()
        return found

    def items(self) -> Iterator[tuple[Labels, I]]:
        yield from sorted(self._children.items())

    def read(self) -> Reading:
        """Returns the values. A histogram is left out until it has some: its children may be made in advance."""
        values: dict[Labels, Value] = {}
        for labels, child in self.items():
            if isinstance(child, Counter):
                values[labels] = child.value
            elif any(child.buckets):
                values[labels] = child
        return Reading(self.of, values)


def counters(of: Definition) -> Family[Counter]:
    return Family(of, Counter)


def histograms(of: Definition) -> Family[Histogram]:
    return Family(of, lambda: Histogram(of.bounds))
