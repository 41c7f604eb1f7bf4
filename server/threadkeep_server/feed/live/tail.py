"""The tail: reads the feed once for all who follow it live.

It sleeps while nobody does. A hint that something was committed wakes it; what was committed it reads from the feed, so a hint
that is lost costs time only, at most the polling interval.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ...domain.feed import BEGINNING, Change, ChangePage, FeedEvent, FeedScope, FeedTrimmed, Position
from ...domain.filters import EventFilter
from ...store.contract.feed import FeedStore
from ..encoder import Renderer
from .channel import Channel, Frame, rendered
from .heartbeats import Heartbeats
from .subscription_registry import Directory

_log = logging.getLogger(__name__)

_CHANGES_AT_ONCE = 512
_BYTES_AT_ONCE = 4 << 20
# So that the loop is not held for long, whoever subscribes to whatever.
_ROUTED_AT_ONCE = 64
_CHANNELS_AT_ONCE = 4
_KEPT_BYTES = 16 << 20
_MOST_FRAMES = 65_536
# What is committed and cannot be told yet is asked for again after this, doubled each time up to the polling interval.
_UNSETTLED_S = 0.005
_RETRY_S = 1.0

Routed = tuple[Change, Sequence[Channel]]


@dataclass(frozen=True, slots=True)
class TailStats:
    """`behind`: subscribers that read from the log for now; `fell_behind`: how often one has had to since the start."""

    subscribers: int
    behind: int
    fell_behind: int
    channels: int
    kept_bytes: int
    position: Position


class Tail:
    """`poll` and `heartbeat` in seconds; `kept_bytes` bounds what is kept for all subscribers together."""

    def __init__(self, store: FeedStore, *, poll: float = 1.0, heartbeat: float = 15.0, kept_bytes: int = _KEPT_BYTES) -> None:
        self._store = store
        self._poll = poll
        self._heartbeats = Heartbeats(heartbeat)
        self._most_kept = kept_bytes
        self._directory = Directory()
        self._kept: deque[tuple[Channel, int]] = deque()
        self._kept_bytes = 0
        self._hint = asyncio.Event()
        self._moved = asyncio.Event()
        self._waiting = 0
        self._starting = asyncio.Lock()
        self._reading = False
        self._routed = BEGINNING
        """Changes up to here have been assigned to the channels that there were."""
        self.position = BEGINNING
        """Changes up to here have been published."""
        self.draining = False
        self.behind = 0
        self.fell_behind = 0
        store.on_change(self._hint.set)

    # --- for those who follow

    async def attach(self, key: str, scope: FeedScope, wanted: EventFilter, renderer: Renderer) -> Channel:
        """The channel of this key, which stands for the scope, the filter and how messages are written. To be given back."""
        await self._start()
        channel = self._directory.get(key)
        if channel is None:
            channel = Channel(key, scope, wanted, renderer, self._routed)
            self._directory.add(channel)
            self._heartbeats.add(channel)
        channel.subscribers += 1
        return channel

    def detach(self, channel: Channel) -> None:
        channel.subscribers -= 1
        if not channel.subscribers:
            self._kept_bytes -= sum(frame.size for frame in channel.kept())
            channel.close()
            self._directory.remove(channel)

    async def wait_beyond(self, position: Position, timeout: float) -> None:
        """Until the feed may have settled changes beyond the position, or for this many seconds."""
        self._waiting += 1
        try:
            async with asyncio.timeout(timeout):
                await self._start()
                while self.position <= position:
                    await self._moved.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1

    def drain(self) -> None:
        """Every subscription ends, with a last checkpoint."""
        self.draining = True
        for channel in self._directory:
            channel.wake()

    def stats(self) -> TailStats:
        subscribers = sum(channel.subscribers for channel in self._directory)
        return TailStats(subscribers, self.behind, self.fell_behind, len(self._directory), self._kept_bytes, self.position)

    async def _start(self) -> None:
        """Has the tail read on, from the head of the feed if it was asleep."""
        async with self._starting:
            if not self._reading:
                self.position = self._routed = await self._store.feed_head()
                self._reading = True
                self._hint.set()

    # --- reading

    async def run(self) -> None:
        """Runs until cancelled."""
        pause: float | None = self._poll
        while True:
            await self._rest(pause)
            if not self._directory and not self._waiting:
                self._reading = False
            if not self._reading:  # nobody follows, or whoever is to be the first still looks for the head
                pause = None
                continue
            pause = await self._read_on(pause)

    async def _rest(self, pause: float | None) -> None:
        """Until there is a hint; or, if somebody follows, for so many seconds."""
        try:
            async with asyncio.timeout(pause):
                await self._hint.wait()
        except TimeoutError:
            pass
        self._hint.clear()

    async def _read_on(self, pause: float | None) -> float:
        """Publishes what is settled; how long to rest."""
        try:
            page = await self._step()
            while page.more:
                page = await self._step()
        except Exception as exc:  # the database is gone, a fault of ours: subscribers wait, and we try again
            _log.warning("the feed cannot be read (%s), next try in %g s", type(exc).__name__, _RETRY_S)
            return _RETRY_S
        if not page.unsettled:
            return self._poll
        return min(self._poll, 2 * pause if pause is not None and pause < self._poll else _UNSETTLED_S)

    async def _skip_to_head(self) -> None:
        self.position = self._routed = await self._store.feed_head()
        self._kept.clear()
        self._kept_bytes = 0
        for channel in self._directory:
            channel.restart(self.position)

    async def _step(self) -> ChangePage:
        try:
            page = await self._store.changes(self.position, _CHANGES_AT_ONCE)
        except FeedTrimmed:
            # We were stopped for longer than the feed is kept. Subscribers find out for themselves what they have missed.
            await self._skip_to_head()
            page = await self._store.changes(self.position, _CHANGES_AT_ONCE)
        for start in range(0, len(page.changes), _ROUTED_AT_ONCE):
            await self._route(page.changes[start : start + _ROUTED_AT_ONCE])
        self._routed = max(self._routed, page.reached)
        self._move(page.reached)
        return page

    async def _route(self, changes: Sequence[Change]) -> None:
        # At once for all of these: a channel made from now on starts behind them.
        routed = [(change, channels) for change in changes if (channels := self._directory.interested(change))]
        self._routed = max(self._routed, changes[-1].position)
        start, size = 0, 0
        for index, (change, _) in enumerate(routed):
            if size and size + change.size > _BYTES_AT_ONCE:
                await self._publish(routed[start:index])
                start, size = index, 0
            size += change.size
        await self._publish(routed[start:])

    async def _publish(self, routed: Sequence[Routed]) -> None:
        """One frame for each channel that is concerned."""
        if not routed:
            return
        with_text = any(channel.wanted.terms for _, channels in routed for channel in channels)
        events = await self._store.change_events([change for change, _ in routed], with_text=with_text)
        concerned: dict[Channel, list[int]] = {}
        for index, (_, channels) in enumerate(routed):
            for channel in channels:
                concerned.setdefault(channel, []).append(index)
        for number, (channel, indexes) in enumerate(concerned.items()):
            if number % _CHANNELS_AT_ONCE == _CHANNELS_AT_ONCE - 1:
                await asyncio.sleep(0)  # however many there are, calls are answered in between
            if channel.subscribers:  # its last one may have left meanwhile
                self._tell_or_restart(channel, [(routed[index][0], events[index]) for index in indexes])
        self._move(routed[-1][0].position)

    def _tell_or_restart(self, channel: Channel, changes: Sequence[tuple[Change, Sequence[FeedEvent]]]) -> None:
        try:
            self._tell(channel, changes)
        except Exception as exc:  # a fault of ours: its subscribers meet it in the log, and nobody else does
            _log.warning("changes cannot be written for a subscription (%s)", type(exc).__name__)
            self._restart(channel, changes[-1][0].position)

    def _tell(self, channel: Channel, changes: Sequence[tuple[Change, Sequence[FeedEvent]]]) -> None:
        messages = rendered(changes, self.position, channel.wanted, channel.renderer)
        if messages:
            size = sum(map(len, messages))
            channel.publish(Frame(changes[0][0].position, changes[-1][0].position, messages, size))
            self._keep(channel, size)

    def _restart(self, channel: Channel, position: Position) -> None:
        self._kept_bytes -= sum(frame.size for frame in channel.kept())
        self._kept = deque((each, size) for each, size in self._kept if each is not channel)
        channel.restart(position)

    def _move(self, position: Position) -> None:
        if position > self.position:
            self.position = position
            self._moved.set()
            self._moved.clear()

    def _keep(self, channel: Channel, size: int) -> None:
        """Makes room by dropping what is oldest, whosever it is. The newest stays, however large: those who wait for it would
        else each load it for themselves."""
        self._kept.append((channel, size))
        self._kept_bytes += size
        while len(self._kept) > 1 and (self._kept_bytes > self._most_kept or len(self._kept) > _MOST_FRAMES):
            oldest, _ = self._kept.popleft()
            if oldest.subscribers:
                self._kept_bytes -= oldest.drop()
