"""One member of a named consumer: what a Consume stream does on the server.

It holds partitions under leases, reads ahead of the member, hands deliveries over, and moves positions on as they are
acknowledged.
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
from .assignment import Holding
from .checkpoints import GroupStore, Ledger, Pace, Signals
from .partition import Delivery
from .reader import Reader

# A member that joins gets work soon, and the others hear of it before long.
_FIRST_BALANCES_S = (0.2, 0.5, 1.0)
_BALANCES_IN_A_LEASE = 3
_FLUSH_EVERY_S = 0.02
# Nothing but a safety net under the wake-ups.
_LOOK_EVERY_S = 30.0
_LOOKS_IN_A_TIMEOUT = 20
LEFT = "its member left or died"


class Wake(Protocol):
    async def wait_beyond(self, position: Position, timeout: float) -> None:
        """Returns when the feed may have settled changes beyond the position, or after so many seconds."""
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """What to tell the member: deliveries, and acknowledgements that are durable now. Neither: a sign of life."""

    deliveries: Sequence[Delivery] = ()
    acknowledged: Sequence[int] = ()


class Membership:
    """Works while `run` does: until `leave` or `end`, or until it fails, which `told` raises. The consumer has been joined.

    `lease` in nanoseconds. Cancelling `run` leaves everything as if the server had died: the leases run out.
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
        self._holding = Holding(consumer.max_attempts, max_outstanding)
        self._reader = Reader(store, consumer.scope, wanted, consumer.partitions, self._holding)
        self._ledger = Ledger(store, consumer, member_id, self._holding, self._signals, clock, lease, pace)
        self._end: Position | None = None
        """Where the settled feed ended when that was reached last; None: it may have grown."""
        self._why_lost = LEFT
        self._failure: Exception | None = None

    # --- what the member says

    def acknowledge(self, delivery_ids: Iterable[int]) -> None:
        """They have been handled. Void ones are ignored. Raises InvalidField for what was never delivered."""
        for delivery_id in delivery_ids:
            self._holding.acknowledge(delivery_id)
        self._said()

    def reject(self, delivery_id: int, reason: str, *, park: bool = False) -> None:
        """It could not be handled. Raises InvalidField for what was never delivered."""
        self._holding.reject(delivery_id, reason, park=park)
        self._said()

    def _said(self) -> None:
        self._signals.unsettled.set()
        self._signals.news.set()  # more may be outstanding now

    def leave(self) -> None:
        """Ends the membership: what is acknowledged by now counts, and is still confirmed."""
        if not self._signals.stopping.is_set():
            self._ledger.part_soon()
            self._signals.stopping.set()
            self._signals.unsettled.set()

    def end(self, why: Exception) -> None:
        """As `leave`, and `told` raises this. Where the server is the one that leaves, no attempt counts against the work."""
        if not self._signals.stopping.is_set():
            self._failure = why
            self._ledger.counts_attempts = not isinstance(why, ServerDraining)
            self.leave()

    # --- what it is told

    async def told(self) -> AsyncIterator[Told]:
        """Everything there is to tell, until the membership is over. For one reader. Raises what ended it."""
        quiet = False
        beat_at = self._time() + self._pace.heartbeat
        while True:
            self._signals.news.clear()
            told = Told(self._next_batch(), self._ledger.confirmed())
            if told.deliveries or told.acknowledged or quiet:
                yield told
                quiet, beat_at = False, self._time() + self._pace.heartbeat
                for each in told.deliveries:
                    each.events = ()  # once told, nobody needs them in memory
            elif self._signals.over.is_set():
                break
            else:
                quiet = not await _until(beat_at, self._signals.news)
        if self._failure is not None:
            raise self._failure

    def _next_batch(self) -> list[Delivery]:
        if self._signals.stopping.is_set() or not self._ledger.is_leased:
            return []  # what was read may be somebody else's by now
        batch = self._holding.next_batch(self._time())
        self._signals.room.set()
        return batch

    # --- working

    async def run(self) -> None:
        """Never raises."""
        writers = [self._start(each) for each in (self._balance_all_along, self._settle_all_along)]
        others = [self._start(each) for each in (self._read_all_along, self._listen, self._watch_the_time)]
        try:
            await self._signals.stopping.wait()
            for task in others:
                task.cancel()
            # A write is not interrupted: if its outcome were not known, it could come after the farewell.
            await asyncio.gather(*writers, *others, return_exceptions=True)
            await self._part()
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
        except Exception as exc:  # told to the member, whose stream ends with it
            self.end(exc)

    async def _part(self) -> None:
        try:
            await self._ledger.part(self._why_lost)
        except ConsumerNotFound:
            pass  # it was deleted: nothing is left to be given back
        except Exception as exc:  # told to the member; the leases run out by themselves
            self._failure = self._failure or exc

    async def _balance_all_along(self) -> None:
        interval = self._lease_s / _BALANCES_IN_A_LEASE
        waits = [wait for wait in _FIRST_BALANCES_S if wait < interval]
        while not self._signals.stopping.is_set():
            await self._ledger.persist(self._balance)
            await _within(waits.pop(0) if waits else interval, self._signals.stopping)

    async def _balance(self) -> None:
        replays = await self._ledger.balance()
        if not replays:
            return
        for parked, events in await self._reader.replays(replays):
            if events is None:
                await self._ledger.finish_replay(parked.parked_id, failed=None)
            else:
                self._holding.replay(parked, events)
        self._signals.news.set()

    async def _settle_all_along(self) -> None:
        while not self._signals.stopping.is_set():
            self._signals.unsettled.clear()
            await self._ledger.settle()
            await self._signals.unsettled.wait()
            await _within(_FLUSH_EVERY_S, self._signals.stopping)

    async def _read_all_along(self) -> None:
        while True:
            self._signals.room.clear()
            wanting = self._holding.wanting(self._time(), self._end)
            if not wanting:
                await self._signals.room.wait()
                continue
            end = await self._ledger.persist(partial(self._reader.read, wanting))
            if end is not None:
                self._end = end
                self._signals.at_the_end.set()
            self._signals.news.set()
            self._signals.unsettled.set()

    async def _listen(self) -> None:
        while True:
            await self._signals.at_the_end.wait()
            self._signals.at_the_end.clear()
            if self._end is not None:
                await self._wake.wait_beyond(self._end, _LOOK_EVERY_S)
            self._end = None
            self._signals.room.set()

    async def _watch_the_time(self) -> None:
        """A member that does not acknowledge must not hold its work."""
        timeout = self.consumer.ack_timeout / SECOND_NS
        while True:
            await asyncio.sleep(timeout / _LOOKS_IN_A_TIMEOUT)
            since = self._holding.oldest_sent()
            if since is not None and self._time() - since >= timeout:
                self._why_lost = f"not acknowledged within {timeout:g} s"
                self.end(WatchTooSlow(timeout))


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Waits for it at most so long; whether it has come."""
    return await _until(asyncio.get_running_loop().time() + seconds, event)


async def _until(time: float, event: asyncio.Event) -> bool:
    """Waits for it until that time of the loop; whether it has come."""
    try:
        async with asyncio.timeout_at(time):
            return await event.wait()
    except TimeoutError:
        return False
