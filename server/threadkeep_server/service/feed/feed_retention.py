"""Keeping the feed as long as it is to be kept: a loop that forgets older changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ...store.contract.feed import FeedStore

_log = logging.getLogger(__name__)

# Few enough that a transaction is over before the appends notice it; between two of them they come first.
_CHANGES_A_STEP = 1000
_REST_S = 0.01


class FeedRetention:
    """Trims the feed now and then. `clock` and `retention` in nanoseconds, `interval` in seconds."""

    def __init__(self, store: FeedStore, clock: Callable[[], int], *, retention: int, interval: float = 60.0) -> None:
        self._store = store
        self._clock = clock
        self._retention = retention
        self._interval = interval

    async def run(self) -> None:
        """Runs until cancelled; returns at once if changes are kept for ever."""
        while self._retention:
            try:
                trimmed = await self.trim()
            except Exception as exc:  # what could not be forgotten today is forgotten tomorrow
                _log.warning("the feed could not be trimmed, next try in %g s: %s", self._interval, type(exc).__name__)
            else:
                if trimmed:
                    _log.info("forgot %d changes that are older than the feed is kept", trimmed)
            await asyncio.sleep(self._interval)

    async def trim(self) -> int:
        """Forgets every change that is too old, step by step; how many."""
        trimmed = 0
        while True:
            step = await self._store.trim_feed(self._clock() - self._retention, _CHANGES_A_STEP)
            trimmed += step
            if step < _CHANGES_A_STEP:
                return trimmed
            await asyncio.sleep(_REST_S)
