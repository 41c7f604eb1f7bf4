"""An event loop with simulated time: tests of leases and pauses take no time, and every run is the same."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from tests.support.clock import NOW
from threadkeep_server.domain.model import SECOND_NS

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    """Advances the time instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise RuntimeError("everything waits, and nothing will ever happen")
        self.now += max(timeout, 0.0)
        return ready


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._simulated = _Selector()
        super().__init__(self._simulated)

    def time(self) -> float:
        return self._simulated.now


def clock() -> int:
    """The wall clock of the simulation."""
    return NOW + round(asyncio.get_running_loop().time() * SECOND_NS)


def simulate(main: Coroutine[Any, Any, T]) -> T:
    """Runs the coroutine to its end in simulated time."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(main)
