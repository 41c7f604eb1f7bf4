"""Heartbeats for idle channels. All channels share one timer."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count

from .channel import Channel


class Heartbeats:
    """Sends a heartbeat on each channel that has been idle for `seconds`, and repeats it at that interval."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due: list[tuple[float, int, Channel]] = []
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, channel: Channel) -> None:
        channel.sent_at = asyncio.get_running_loop().time()
        self._push(channel, channel.sent_at)
        self._set_timer()

    def _push(self, channel: Channel, idle_since: float) -> None:
        heappush(self._due, (idle_since + self._seconds, next(self._numbers), channel))

    def _set_timer(self) -> None:
        if self._timer is None and self._due:
            self._timer = asyncio.get_running_loop().call_at(self._due[0][0], self._send_due)

    def _send_due(self) -> None:
        now = asyncio.get_running_loop().time()
        self._timer = None
        while self._due and self._due[0][0] <= now:
            channel = heappop(self._due)[2]
            if not channel.subscribers:
                continue
            active = channel.sent_at + self._seconds > now
            if not active:
                channel.beat()
            self._push(channel, channel.sent_at if active else now)
        self._set_timer()
