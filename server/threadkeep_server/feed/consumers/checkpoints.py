"""What a member of a consumer writes to the store: its leases, its positions, and what became of deliveries that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from ...domain.errors import StoreUnavailable
from ...domain.model import SECOND_NS
from ...store.contract.consumers import Consumer, ConsumerStore, Parked
from ...store.contract.feed import FeedStore
from .assignment import Holding
from .partition import Delivery, OwnedPartition, Rejection, State

_T = TypeVar("_T")

_FIRST_RETRY_S, _LONGEST_RETRY_S = 0.05, 2.0
# For so long a member that leaves waits for a store that fails.
_PARTING_S = 2.0


class GroupStore(FeedStore, ConsumerStore, Protocol):
    """What of the Store contract a member needs."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take, in seconds: the longest silence towards the member, and the pauses between a rejection and the next
    delivery, doubling."""

    heartbeat: float = 15.0
    first_pause: float = 1.0
    longest_pause: float = 30.0


@dataclass(slots=True)
class Signals:
    """What a member's tasks wait for. Each has one waiter, which clears it before it looks; `stopping` and `over` stay set."""

    news: asyncio.Event = field(default_factory=asyncio.Event)
    """There is something to tell the member."""
    room: asyncio.Event = field(default_factory=asyncio.Event)
    """There may be partitions to read on."""
    at_the_end: asyncio.Event = field(default_factory=asyncio.Event)
    unsettled: asyncio.Event = field(default_factory=asyncio.Event)
    """There is something to write."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Ledger:
    """Keeps a holding and the store at one. Its methods may run at the same time; they write one after the other."""

    def __init__(
        self,
        store: ConsumerStore,
        consumer: Consumer,
        member_id: str,
        holding: Holding,
        signals: Signals,
        clock: Callable[[], int],
        lease: int,
        pace: Pace,
    ) -> None:
        self._store = store
        self._key = consumer.key
        self._member_id = member_id
        self._holding = holding
        self._signals = signals
        self._clock = clock
        self._lease = lease
        self._pace = pace
        self._time = asyncio.get_running_loop().time
        self._leased_until = self._time() + lease / SECOND_NS
        self._confirmed: list[int] = []
        self.counts_attempts = True
        """Whether work that is outstanding when the member parts is counted against it."""
        # Between a write and its effects here, no other write may see the two differ.
        self._writing = asyncio.Lock()

    @property
    def is_leased(self) -> bool:
        """Whether the partitions are the member's for certain."""
        return self._time() < self._leased_until

    def confirmed(self) -> list[int]:
        """Deliveries whose acknowledgement is durable; each is told once."""
        confirmed, self._confirmed = self._confirmed, []
        return confirmed

    def part_soon(self) -> None:
        """From now on a store that fails is not waited for as long as the lease would allow."""
        self._leased_until = min(self._leased_until, self._time() + _PARTING_S)

    async def persist(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Tries again while the store is unavailable and the lease may hold. Raises StoreUnavailable after that."""
        delay = _FIRST_RETRY_S
        while True:
            try:
                return await call()
            except StoreUnavailable:
                if self._time() + delay >= self._leased_until:
                    raise
            await asyncio.sleep(delay)
            delay = min(delay * 2, _LONGEST_RETRY_S)

    # --- leases

    async def balance(self) -> Sequence[Parked]:
        """Extends the leases, takes and prepares to give back; what is to be replayed and is not yet."""
        async with self._writing:
            started, now = self._time(), self._clock()
            if not self.is_leased:
                self._holding.drop([each.number for each in self._holding])
            share = await self._store.balance(self._key, self._member_id, now, now + self._lease)
            self._leased_until = started + self._lease / SECOND_NS
            self._holding.assign(share.partitions)
            self._holding.give_up(share.surplus)
        self._pass_idle()
        self._signals.room.set()
        self._signals.news.set()
        self._signals.unsettled.set()
        return [each for each in share.replays if self._holding.lacks_replay(each)]

    def _pass_idle(self) -> None:
        """So that the lag is honest, and the feed's retention does not run into consumers with nothing to do."""
        for owned in self._holding:
            owned.pass_idle()

    # --- settling

    async def settle(self) -> None:
        """Brings the store to where the member is."""
        await self.persist(self._flush)
        for owned in self._holding:
            for replay in list(owned.replays.values()):
                if replay.state is State.ACKNOWLEDGED or replay.rejection is not None:
                    await self.persist(partial(self._settle_replay, owned, replay))
            while (rejected := owned.rejected()) is not None:
                await self.persist(self._flush)  # attempts are those of what comes next
                await self.persist(partial(self._settle_rejection, owned, rejected))
                await self.persist(self._flush)
        await self.persist(self._release_free)

    async def _flush(self) -> None:
        async with self._writing:
            due = {owned: owned.due() for owned in self._holding if owned.is_due}
            if not due:
                return
            positions = {owned.number: position for owned, (position, _) in due.items()}
            lost = await self._store.acknowledge(self._key, self._member_id, positions)
            for owned, (position, counted) in due.items():
                if owned.number not in lost:
                    owned.is_stored(position, counted)
                    self._confirmed.extend(counted)
            self._holding.drop(lost)
        self._signals.news.set()

    async def _settle_rejection(self, owned: OwnedPartition, rejected: Delivery) -> None:
        reason, park, counted = rejected.rejection or Rejection("")
        async with self._writing:
            if not self._holding.holds(owned):
                return
            attempts = owned.attempts
            if not counted:
                attempts = await self._store.reject(self._key, self._member_id, owned.number, reason)
                # Should parking fail, it is tried again without counting again.
                owned.attempts, rejected.rejection = attempts, Rejection(reason, park, counted=True)
            if not attempts:
                self._holding.drop([owned.number])
            elif park:
                await self._park(owned, rejected, reason)
            else:
                self._pause(owned, attempts)
            self._holding.forget_void()
        self._signals.room.set()

    async def _park(self, owned: OwnedPartition, rejected: Delivery, reason: str) -> None:
        if await self._store.park(self._key, self._member_id, rejected.change, reason, self._clock()):
            owned.skip(rejected)
        else:
            self._holding.drop([owned.number])

    def _pause(self, owned: OwnedPartition, attempts: int) -> None:
        pause = min(self._pace.first_pause * 2.0 ** min(attempts - 1, 20), self._pace.longest_pause)
        owned.retry(attempts, self._time() + pause)
        asyncio.get_running_loop().call_later(pause, self._signals.room.set)

    # --- replays

    async def finish_replay(self, parked_id: int, *, failed: str | None) -> None:
        async with self._writing:
            await self._store.finish_replay(self._key, parked_id, failed=failed, now=self._clock())

    async def _settle_replay(self, owned: OwnedPartition, replay: Delivery) -> None:
        if replay.parked_id is None:
            return
        await self.finish_replay(replay.parked_id, failed=None if replay.rejection is None else replay.rejection.reason)
        owned.replays.pop(replay.parked_id, None)
        if replay.rejection is None:
            self._confirmed.append(replay.delivery_id)
            self._signals.news.set()

    # --- giving back

    async def _release_free(self) -> None:
        async with self._writing:
            free = [each.number for each in self._holding if each.leaving and each.is_free]
            if free:
                await self._store.release_partitions(self._key, self._member_id, free, lost=False)
                self._holding.drop(free)

    async def part(self, reason: str) -> None:
        """Settles what can be settled, and gives everything back; for this reason where deliveries are outstanding."""
        self._pass_idle()
        await self.settle()
        for owned in self._holding:
            for replay in list(owned.replays.values()):
                if replay.state is State.SENT and replay.parked_id is not None:
                    await self.persist(partial(self.finish_replay, replay.parked_id, failed=reason))
        lost = [each.number for each in self._holding if each.is_outstanding]
        if lost and self.counts_attempts:
            release = self._store.release_partitions
            await self.persist(partial(release, self._key, self._member_id, lost, lost=True, reason=reason))
        await self.persist(partial(self._store.leave, self._key, self._member_id))
