"""When a worker makes its next call."""

from __future__ import annotations

import asyncio
import contextlib
import time


class Stop:
    """Ends the load: after its time, or at once."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    @property
    def is_set(self) -> bool:
        """Whether the load ends."""
        return self._event.is_set()

    def set(self) -> None:
        """Ends the load."""
        self._event.set()

    async def wait(self, seconds: float) -> bool:
        """Waits at most so long; returns whether the load ends."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._event.wait(), seconds)
        return self.is_set


class Pace:
    """Calls at a fixed rate, of this worker; without a rate each as soon as the last one ended.

    A call that is late because the last one took too long has the time at which it was due: its latency includes the wait,
    as that of a caller who does not know how the server is doing.
    """

    def __init__(self, stop: Stop, rate: float, phase: float) -> None:
        self._stop = stop
        self._period = 1 / rate if rate else 0.0
        self._due = time.perf_counter() + phase * self._period

    async def next(self) -> float | None:
        """Returns the time at which the next call is due, when it is due; None if the load ends."""
        now = time.perf_counter()
        if not self._period:
            return None if self._stop.is_set else now
        due, self._due = self._due, self._due + self._period
        return None if await self._stop.wait(due - now) else due
