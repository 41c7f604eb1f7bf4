"""The budget of one search for reading documents that are not indexed, which are decoded or analyzed one by one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

# Rows, and bytes of their documents, that are processed at once: the time is checked in between.
_MOST_AT_ONCE, _BYTES_AT_ONCE = 256, 128 << 10


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """What one search may read: bytes of stored documents, and seconds."""

    bytes: float = 16 << 20
    seconds: float = 2.0


UNLIMITED = ScanLimits(math.inf, math.inf)


class ScanBudget:
    """What is left for one search. Its time begins with it."""

    def __init__(self, limits: ScanLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._left = limits.bytes
        self._clock = clock
        self._end = clock() + limits.seconds
        self.taken = 0
        """Number of rows that were admitted."""
        self.used_up = False
        """A row was refused."""
        self.reached: Any = None
        """The last row that was admitted."""

    def take(self, row: Any, size: int) -> bool:
        """Admits a row whose document has this size, or refuses it and all later ones. The first is always admitted, so that a
        search can be continued."""
        if self.taken and (size > self._left or self._clock() >= self._end):
            self.used_up = True
        if not self.used_up:
            self.taken += 1
            self._left -= size
            self.reached = row
        return not self.used_up


def affordable(rows: Iterable[Any], budget: ScanBudget, size: Callable[[Any], int]) -> Iterator[list[Any]]:
    """Yields the rows that the budget admits, in batches to process at once. `size`: that of the document to read for a row."""
    batch: list[Any] = []
    held = 0
    for row in rows:
        wanted = size(row)
        if not budget.take(row, wanted):
            break
        batch.append(row)
        held += wanted
        if len(batch) >= _MOST_AT_ONCE or held >= _BYTES_AT_ONCE:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
