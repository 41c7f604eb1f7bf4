"""Feed retention: a loop that trims old changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ...store.contract.feed import FeedStore

_log = logging.getLogger(__name__)

# Few enough for a short transaction; appends run between two of them.
_CHANGES_A_STEP = 1000
_REST_S = 0.01


class FeedRetention:
    """Trims the feed. `clock` and `retention` in nanoseconds, `interval` in seconds."""

    def __init__(self, store: FeedStore, clock: Callable[[], int], *, retention: int, interval: float = 60.0) -> None:
        self._store = store
        self._clock = clock
        self._retention = retention
        self._interval = interval

    async def run(self) -> None:
        """Runs until canceled; returns at once if `retention` is 0."""
        while self._retention:
            try:
                trimmed = await self.trim()
            except Exception as exc:  # the next round trims the rest
                _log.warning("trimming the feed failed; retrying in %g s: %s", self._interval, type(exc).__name__)
            else:
                if trimmed:
                    _log.info("trimmed %d changes from the feed", trimmed)
            await asyncio.sleep(self._interval)

    async def trim(self) -> int:
        """Trims every expired change in steps. Returns their number."""
        trimmed = 0
        while True:
            step = await self._store.trim_feed(self._clock() - self._retention, _CHANGES_A_STEP)
            trimmed += step
            if step < _CHANGES_A_STEP:
                return trimmed
            await asyncio.sleep(_REST_S)
