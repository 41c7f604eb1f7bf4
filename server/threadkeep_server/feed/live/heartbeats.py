"""Signs of life for channels that have nothing to tell: one timer for all of them."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count

from .channel import Channel


class Heartbeats:
    """Has every channel beat after it was quiet for so many seconds, and again after as long."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due: list[tuple[float, int, Channel]] = []
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, channel: Channel) -> None:
        channel.told_at = asyncio.get_running_loop().time()
        self._push(channel, channel.told_at)
        self._set_timer()

    def _push(self, channel: Channel, quiet_since: float) -> None:
        heappush(self._due, (quiet_since + self._seconds, next(self._numbers), channel))

    def _set_timer(self) -> None:
        if self._timer is None and self._due:
            self._timer = asyncio.get_running_loop().call_at(self._due[0][0], self._look)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        self._timer = None
        while self._due and self._due[0][0] <= now:
            channel = heappop(self._due)[2]
            if not channel.subscribers:
                continue
            told = channel.told_at + self._seconds > now
            if not told:
                channel.beat()
            self._push(channel, channel.told_at if told else now)
        self._set_timer()
