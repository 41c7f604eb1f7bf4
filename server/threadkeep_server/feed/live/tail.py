"""The tail: reads the feed once for all live subscribers.

It sleeps while there are none. A commit notification wakes it; the changes are read from the feed, so a lost notification only
delays them, at most by the polling interval.
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
from ..encoder import ChangeEncoder
from ..limits import CHANGES_PER_READ
from .channel import Channel, Frame, encode_changes
from .heartbeats import Heartbeats
from .subscription_registry import SubscriptionRegistry

_log = logging.getLogger(__name__)

_BYTES_AT_ONCE = 4 << 20
# These bound how long the loop is blocked.
_ROUTED_AT_ONCE = 64
_CHANNELS_AT_ONCE = 4
_KEPT_BYTES = 16 << 20
_MOST_FRAMES = 65_536
# The first wait for unsettled changes. It doubles up to the polling interval.
_UNSETTLED_S = 0.005
_RETRY_S = 1.0

Routed = tuple[Change, Sequence[Channel]]


@dataclass(frozen=True, slots=True)
class TailStats:
    """`behind` counts subscribers that currently read the log, `fell_behind` how often one fell back to it since the start."""

    subscribers: int
    behind: int
    fell_behind: int
    channels: int
    kept_bytes: int
    position: Position


class Tail:
    """`poll` and `heartbeat` are in seconds; `kept_bytes` bounds the frames kept for all subscribers together."""

    def __init__(self, store: FeedStore, *, poll: float = 1.0, heartbeat: float = 15.0, kept_bytes: int = _KEPT_BYTES) -> None:
        self._store = store
        self._poll = poll
        self._heartbeats = Heartbeats(heartbeat)
        self._most_kept = kept_bytes
        self._registry = SubscriptionRegistry()
        self._kept: deque[tuple[Channel, int]] = deque()
        self._kept_bytes = 0
        self._left = 0
        """How many entries of `_kept` are of channels without subscribers: they hold channels, and no frames."""
        self._hint = asyncio.Event()
        self._moved = asyncio.Event()
        self._waiting = 0
        self._starting = asyncio.Lock()
        self._reading = False
        self._routed = BEGINNING
        """Changes up to this position have been assigned to the channels that existed."""
        self.position = BEGINNING
        """Changes up to this position have been published."""
        self.incarnations = 0
        """How many have begun. A subscription of an earlier one ends."""
        self._followed = 0
        self.draining = False
        self.behind = 0
        self.fell_behind = 0
        store.on_change(self._hint.set)
        store.on_incarnation(self._begin_again)

    # --- for subscribers

    async def attach(self, key: str, scope: FeedScope, wanted: EventFilter, encoder: ChangeEncoder) -> Channel:
        """Returns the channel of this key, which identifies scope, filter and encoder. Requires a later `detach`."""
        await self._start()
        key = f"{self.incarnations} {key}"
        channel = self._registry.get(key)
        if channel is None:
            channel = Channel(key, scope, wanted, encoder, self._routed)
            self._registry.add(channel)
            self._heartbeats.add(channel)
        channel.subscribers += 1
        return channel

    def detach(self, channel: Channel) -> None:
        channel.subscribers -= 1
        if not channel.subscribers:
            sizes = [frame.size for frame in channel.kept()]
            self._kept_bytes -= sum(sizes)
            self._left += len(sizes)
            channel.close()
            self._registry.remove(channel)
            if 2 * self._left > len(self._kept):  # not each time, since it looks at all entries
                self._kept = deque(entry for entry in self._kept if entry[0].subscribers)
                self._left = 0

    async def wait_beyond(self, position: Position, timeout: float) -> None:
        """Waits until the feed may have settled changes beyond the position, at most `timeout` seconds."""
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
        """Ends every subscription with a last checkpoint."""
        self.draining = True
        for channel in self._registry:
            channel.wake()

    def stats(self) -> TailStats:
        subscribers = sum(channel.subscribers for channel in self._registry)
        return TailStats(subscribers, self.behind, self.fell_behind, len(self._registry), self._kept_bytes, self.position)

    def _begin_again(self) -> None:
        self.incarnations += 1
        self._hint.set()
        for channel in self._registry:
            channel.wake()

    async def _start(self) -> None:
        """Wakes the tail; it continues at the head of the feed if it was asleep."""
        async with self._starting:
            if not self._reading:
                await self._go_to_head()
                self._reading = True
                self._hint.set()

    # --- reading

    async def run(self) -> None:
        """Runs until canceled."""
        pause: float | None = self._poll
        while True:
            await self._rest(pause)
            if not self._registry and not self._waiting:
                self._reading = False
            if not self._reading:  # no subscribers, or the first is still reading the head
                pause = None
                continue
            pause = await self._read_on(pause)

    async def _rest(self, pause: float | None) -> None:
        """Waits for a notification, at most `pause` seconds; None waits without a limit."""
        try:
            async with asyncio.timeout(pause):
                await self._hint.wait()
        except TimeoutError:
            pass
        self._hint.clear()

    async def _read_on(self, pause: float | None) -> float:
        """Publishes settled changes. Returns the seconds to wait before the next read."""
        try:
            page = await self._step()
            while page.more:
                page = await self._step()
        except Exception as exc:  # subscribers wait until a retry succeeds
            _log.warning("reading the feed failed (%s); retrying in %g s", type(exc).__name__, _RETRY_S)
            return _RETRY_S
        if not page.unsettled:
            return self._poll
        return min(self._poll, 2 * pause if pause is not None and pause < self._poll else _UNSETTLED_S)

    async def _go_to_head(self) -> None:
        self.position = self._routed = await self._store.feed_head()
        self._followed = self.incarnations
        self._wake()  # what it passes over is not published

    async def _skip_to_head(self) -> None:
        await self._go_to_head()
        self._kept.clear()
        self._kept_bytes = self._left = 0
        for channel in self._registry:
            channel.restart(self.position)

    async def _step(self) -> ChangePage:
        try:
            page = await self._store.changes(self.position, CHANGES_PER_READ)
        except FeedTrimmed:
            # The process was stopped for longer than the retention of the feed. Each subscription detects its own gap.
            await self._skip_to_head()
            page = await self._store.changes(self.position, CHANGES_PER_READ)
        if self._followed != self.incarnations:
            await self._skip_to_head()
            return ChangePage((), self.position, more=True)
        for start in range(0, len(page.changes), _ROUTED_AT_ONCE):
            await self._route(page.changes[start : start + _ROUTED_AT_ONCE])
        self._routed = max(self._routed, page.reached)
        self._move(page.reached)
        return page

    async def _route(self, changes: Sequence[Change]) -> None:
        # One step without await: a channel created later starts after these changes.
        routed = [(change, channels) for change in changes if (channels := self._registry.interested(change))]
        self._routed = max(self._routed, changes[-1].position)
        start, size = 0, 0
        for index, (change, _) in enumerate(routed):
            if size and size + change.size > _BYTES_AT_ONCE:
                await self._publish(routed[start:index])
                start, size = index, 0
            size += change.size
        await self._publish(routed[start:])

    async def _publish(self, routed: Sequence[Routed]) -> None:
        """Publishes one frame on each channel that has a change."""
        if not routed:
            return
        with_text = any(channel.wanted.reads_body for _, channels in routed for channel in channels)
        events = await self._store.change_events([change for change, _ in routed], with_text=with_text)
        concerned: dict[Channel, list[int]] = {}
        for index, (_, channels) in enumerate(routed):
            for channel in channels:
                concerned.setdefault(channel, []).append(index)
        for number, (channel, indexes) in enumerate(concerned.items()):
            if number % _CHANNELS_AT_ONCE == _CHANNELS_AT_ONCE - 1:
                await asyncio.sleep(0)  # lets other tasks run, however many channels there are
            if channel.subscribers:  # the last subscriber may have left meanwhile
                self._publish_or_restart(channel, [(routed[index][0], events[index]) for index in indexes])
        self._move(routed[-1][0].position)

    def _publish_or_restart(self, channel: Channel, changes: Sequence[tuple[Change, Sequence[FeedEvent]]]) -> None:
        try:
            self._publish_frame(channel, changes)
        except Exception as exc:  # the subscribers of this channel get the error from the log; others are not affected
            _log.warning("encoding changes failed (%s); the subscriptions concerned read the log", type(exc).__name__)
            self._restart(channel, changes[-1][0].position)

    def _publish_frame(self, channel: Channel, changes: Sequence[tuple[Change, Sequence[FeedEvent]]]) -> None:
        messages = encode_changes(changes, self.position, channel.wanted, channel.encoder)
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
            self._wake()

    def _wake(self) -> None:
        """Makes those who wait for a position look at it."""
        self._moved.set()
        self._moved.clear()

    def _keep(self, channel: Channel, size: int) -> None:
        """Drops the oldest frames of all channels until the limits hold. The newest frame stays, however large; otherwise each
        of its subscribers would read it from the log."""
        self._kept.append((channel, size))
        self._kept_bytes += size
        while len(self._kept) > 1 and (self._kept_bytes > self._most_kept or len(self._kept) > _MOST_FRAMES):
            oldest, _ = self._kept.popleft()
            if oldest.subscribers:
                self._kept_bytes -= oldest.drop()
            else:
                self._left -= 1
