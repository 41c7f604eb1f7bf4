"""Time under the control of a test."""

from __future__ import annotations

from threadkeep_server.domain.model import SECOND_NS

NOW = 1_750_000_000 * SECOND_NS


class Clock:
    """A clock that changes only by `advance`."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> int:
        self.now += round(seconds * SECOND_NS)
        return self.now
