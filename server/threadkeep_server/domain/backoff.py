"""Delays between attempts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

_MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential delays in seconds: `first` after one failure, doubled for each further failure in a row, at most `longest`.
    `jitter` returns a number from 0 to 1."""

    first: float
    longest: float
    jitter: Callable[[], float] = random.random

    def delay(self, failures: int) -> float:
        """Returns half to all of `limit`, by chance."""
        return self.limit(failures) * (0.5 + self.jitter() / 2)

    def limit(self, failures: int) -> float:
        """Returns the delay after `failures` (at least 1) without jitter."""
        return min(self.first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), self.longest)
