"""Latencies and errors by operation, of the whole run and of an interval of it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ....errors import ThreadkeepError
from .histogram import Histogram

DELIVER = "deliver"
"""From the send of an event to its delivery to a watcher."""
AROUND = ("create", "delete")
"""Operations before and after the load."""
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(slots=True)
class Operation:
    """Calls of one kind: latencies of those that succeeded, and errors by reason or code."""

    latencies: Histogram = field(default_factory=Histogram)
    errors: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Operation) -> None:
        """Adds the calls of another."""
        self.latencies.merge(other.latencies)
        self.errors.update(other.errors)

    def as_dict(self) -> dict[str, Any]:
        """Numbers for programs; latencies in milliseconds."""
        counted = self.latencies
        millis = {f"{name}_ms": round(counted.percentile(share) * 1e3, 3) for name, share in SHARES.items()}
        whole = {"mean_ms": round(counted.mean * 1e3, 3), "max_ms": round(counted.most * 1e3, 3)}
        return {"count": counted.count, **millis, **whole, "errors": dict(self.errors)}


Operations = dict[str, Operation]


def as_dicts(operations: Operations, seconds: float) -> dict[str, dict[str, Any]]:
    """Returns the numbers by operation, for programs. `seconds`: of the load, for the rates of what it consists of."""
    found = {name: operation.as_dict() for name, operation in sorted(operations.items())}
    for name, numbers in found.items():
        if name not in AROUND:
            numbers["per_second"] = round(numbers["count"] / max(seconds, 1e-9), 1)
    return found


class Measured:
    """The operations of a run."""

    def __init__(self) -> None:
        self._before: Operations = {}
        self._current: Operations = {}

    def add(self, operation: str, seconds: float) -> None:
        """Counts a call that succeeded."""
        self._of(operation).latencies.add(seconds)

    def fail(self, operation: str, error: ThreadkeepError) -> None:
        """Counts a call that failed."""
        self._of(operation).errors[error.reason or error.code.name] += 1

    def interval(self) -> Operations:
        """Returns what was counted since the last interval, and begins the next one."""
        ended, self._current = self._current, {}
        _merge(self._before, ended)
        return ended

    def total(self) -> Operations:
        """Returns what was counted since the start."""
        found: Operations = {}
        _merge(found, self._before)
        _merge(found, self._current)
        return found

    def _of(self, operation: str) -> Operation:
        if operation not in self._current:
            self._current[operation] = Operation()
        return self._current[operation]


def _merge(into: Operations, others: Operations) -> None:
    for name, operation in others.items():
        into.setdefault(name, Operation()).merge(operation)


class Timed:
    """The time of a part of the run: `seconds`, and `cpu`, the share of a core that this process used."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._busy = time.process_time()
        self.seconds = 0.0
        self.cpu = 0.0

    def stop(self) -> None:
        """Ends the part."""
        self.seconds = time.perf_counter() - self._began
        self.cpu = (time.process_time() - self._busy) / max(self.seconds, 1e-9)
