"""One member of a named consumer: the server side of a Consume stream.

It holds partitions under leases, reads ahead, sends deliveries, and stores positions as deliveries are acknowledged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from ...domain.errors import ConsumerNotFound, ResumePositionExpired, ServerDraining, WatchTooSlow
from ...domain.feed import FeedTrimmed, Position
from ...domain.filters import EventFilter
from ...domain.model import SECOND_NS
from ...store.contract.consumers import Consumer
from .assignment import Assignment
from .checkpoints import Checkpoints, GroupStore, Pace, Signals
from .partition import Delivery
from .reader import Reader

# Frequent at first: a new member receives work soon, and the other members notice it.
_FIRST_BALANCES_S = (0.2, 0.5, 1.0)
_BALANCES_IN_A_LEASE = 3
_FLUSH_EVERY_S = 0.02
# A safety net for missed notifications.
_LOOK_EVERY_S = 30.0
_LOOKS_IN_A_TIMEOUT = 20
LEFT = "its member left or died"


class Wake(Protocol):
    """Waits for changes; the tail implements it."""

    async def wait_beyond(self, position: Position, timeout: float) -> None:
        """Returns when the feed may have settled changes beyond the position, or after `timeout` seconds."""
        ...


@dataclass(frozen=True, slots=True)
class MemberUpdate:
    """Deliveries, and ids of deliveries whose acknowledgement is durable. An update with neither is a heartbeat."""

    deliveries: Sequence[Delivery] = ()
    acknowledged: Sequence[int] = ()


class Member:
    """A member that has joined. It works while `run` does, until `leave`, `end` or an error, which `updates` raises.

    `lease` is in nanoseconds. Canceling `run` has the effect of a crash: the leases run out.
    """

    def __init__(
        self,
        store: GroupStore,
        wake: Wake,
        consumer: Consumer,
        member_id: str,
        wanted: EventFilter,
        *,
        max_outstanding: int,
        clock: Callable[[], int],
        lease: int,
        pace: Pace,
    ) -> None:
        self.consumer = consumer
        self.member_id = member_id
        self._wake = wake
        self._lease_s = lease / SECOND_NS
        self._pace = pace
        self._time = asyncio.get_running_loop().time
        self._signals = Signals()
        self._assignment = Assignment(consumer.max_attempts, max_outstanding)
        self._reader = Reader(store, consumer.scope, wanted, consumer.partitions, self._assignment)
        self._checkpoints = Checkpoints(store, consumer, member_id, self._assignment, self._signals, clock, lease, pace)
        self._end: Position | None = None
        """The end of the settled feed when it was last reached; None if it may have grown."""
        self._why_lost = LEFT
        self._failure: Exception | None = None

    # --- requests of the member

    def acknowledge(self, delivery_ids: Iterable[int]) -> None:
        """Marks deliveries as handled. Ignores void deliveries. Raises InvalidField for an id that was never sent."""
        for delivery_id in delivery_ids:
            self._assignment.acknowledge(delivery_id)
        self._signal_request()

    def reject(self, delivery_id: int, reason: str, *, park: bool = False) -> None:
        """Marks a delivery as failed. Raises InvalidField for an id that was never sent."""
        self._assignment.reject(delivery_id, reason, park=park)
        self._signal_request()

    def _signal_request(self) -> None:
        self._signals.unsettled.set()
        self._signals.news.set()  # more deliveries may be sent now

    def leave(self) -> None:
        """Ends the member. Earlier acknowledgements count and are still confirmed."""
        if not self._signals.stopping.is_set():
            self._checkpoints.limit_retries()
            self._signals.stopping.set()
            self._signals.unsettled.set()

    def end(self, why: Exception) -> None:
        """Like `leave`, and `updates` raises `why`. ServerDraining does not count as a failed attempt of deliveries."""
        if not self._signals.stopping.is_set():
            self._failure = why
            self._checkpoints.counts_attempts = not isinstance(why, ServerDraining)
            self.leave()

    def is_beyond(self, position: Position) -> bool:
        """Whether the member has read changes after it."""
        return any(each.read_to > position for each in self._assignment)

    def lose(self, why: Exception) -> None:
        """Like `end`, without storing positions, which are of lost changes."""
        self._assignment.drop([each.number for each in self._assignment])
        self.end(why)

    # --- updates

    async def updates(self) -> AsyncIterator[MemberUpdate]:
        """Yields updates until the member has left. For one reader. Raises the error that ended the member."""
        quiet = False
        beat_at = self._time() + self._pace.heartbeat
        while True:
            self._signals.news.clear()
            update = MemberUpdate(self._next_batch(), self._checkpoints.confirmed())
            if update.deliveries or update.acknowledged or quiet:
                yield update
                quiet, beat_at = False, self._time() + self._pace.heartbeat
                for each in update.deliveries:
                    each.events = ()  # frees their memory
            elif self._signals.over.is_set():
                break
            else:
                quiet = not await _until(beat_at, self._signals.news)
        if self._failure is not None:
            raise self._failure

    def _next_batch(self) -> list[Delivery]:
        if self._signals.stopping.is_set() or not self._checkpoints.is_leased:
            return []  # another member may hold the partitions by now
        batch = self._assignment.next_batch(self._time())
        self._signals.room.set()
        return batch

    # --- tasks

    async def run(self) -> None:
        """Runs until the member has left. Never raises."""
        writers = [self._start(each) for each in (self._keep_balancing, self._keep_settling)]
        others = [self._start(each) for each in (self._keep_reading, self._wait_for_changes, self._check_timeouts)]
        try:
            await self._signals.stopping.wait()
            for task in others:
                task.cancel()
            # Writes are not interrupted: one with an unknown outcome could take effect after the member has left.
            await asyncio.gather(*writers, *others, return_exceptions=True)
            await self._finish()
        finally:
            for task in (*writers, *others):
                task.cancel()
            self._signals.over.set()
            self._signals.news.set()

    def _start(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        return asyncio.create_task(self._guarded(work))

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except FeedTrimmed:
            self.end(ResumePositionExpired())
        except Exception as exc:  # ends the stream of the member
            self.end(exc)

    async def _finish(self) -> None:
        try:
            await self._checkpoints.leave(self._why_lost)
        except ConsumerNotFound:
            pass  # the consumer was deleted: there is nothing to give back
        except Exception as exc:  # reported to the member; the leases run out
            self._failure = self._failure or exc

    async def _keep_balancing(self) -> None:
        interval = self._lease_s / _BALANCES_IN_A_LEASE
        waits = [wait for wait in _FIRST_BALANCES_S if wait < interval]
        while not self._signals.stopping.is_set():
            await self._checkpoints.persist(self._balance)
            await _within(waits.pop(0) if waits else interval, self._signals.stopping)

    async def _balance(self) -> None:
        replays = await self._checkpoints.balance()
        if not replays:
            return
        for parked, events in await self._reader.replays(replays):
            if events is None:
                await self._checkpoints.finish_replay(parked.parked_id, failed=None)
            else:
                self._assignment.replay(parked, events)
        self._signals.news.set()

    async def _keep_settling(self) -> None:
        while not self._signals.stopping.is_set():
            self._signals.unsettled.clear()
            await self._checkpoints.settle()
            await self._signals.unsettled.wait()
            await _within(_FLUSH_EVERY_S, self._signals.stopping)

    async def _keep_reading(self) -> None:
        while True:
            self._signals.room.clear()
            wanting = self._assignment.wanting(self._time(), self._end)
            if not wanting:
                await self._signals.room.wait()
                continue
            end = await self._checkpoints.persist(partial(self._reader.read, wanting))
            if end is not None:
                self._end = end
                self._signals.at_the_end.set()
            self._signals.news.set()
            self._signals.unsettled.set()

    async def _wait_for_changes(self) -> None:
        while True:
            await self._signals.at_the_end.wait()
            self._signals.at_the_end.clear()
            if self._end is not None:
                await self._wake.wait_beyond(self._end, _LOOK_EVERY_S)
            self._end = None
            self._signals.room.set()

    async def _check_timeouts(self) -> None:
        """Ends a member that does not acknowledge within the timeout, so that others receive its deliveries."""
        timeout = self.consumer.ack_timeout / SECOND_NS
        while True:
            await asyncio.sleep(timeout / _LOOKS_IN_A_TIMEOUT)
            since = self._assignment.oldest_sent()
            if since is not None and self._time() - since >= timeout:
                self._why_lost = f"not acknowledged within {timeout:g} s"
                self.end(WatchTooSlow(timeout))


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Waits at most `seconds` for the event. Reports whether it was set."""
    return await _until(asyncio.get_running_loop().time() + seconds, event)


async def _until(time: float, event: asyncio.Event) -> bool:
    """Waits for the event until `time`, in loop time. Reports whether it was set."""
    try:
        async with asyncio.timeout_at(time):
            return await event.wait()
    except TimeoutError:
        return False
