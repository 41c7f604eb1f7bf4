"""Writes the state of a member to the store: leases, positions, rejected deliveries and replays."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from ...domain.backoff import Backoff
from ...domain.errors import StoreUnavailable
from ...domain.model import SECOND_NS
from ...store.contract.consumers import Consumer, ConsumerStore, Parked
from ...store.contract.feed import FeedStore
from .assignment import Assignment
from .partition import Delivery, OwnedPartition, Rejection, State

_T = TypeVar("_T")

_FIRST_RETRY_S, _LONGEST_RETRY_S = 0.05, 2.0
# How long a leaving member retries a store that fails.
_LEAVING_S = 2.0


class GroupStore(FeedStore, ConsumerStore, Protocol):
    """The parts of the Store contract that a member needs."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Intervals in seconds: between heartbeats to the member, and the pauses between a rejection and the next delivery, which
    double from `first_pause` to `longest_pause`."""

    heartbeat: float = 15.0
    first_pause: float = 1.0
    longest_pause: float = 30.0


@dataclass(slots=True)
class Signals:
    """Events that the tasks of a member wait for. Each has one waiter, which clears it; `stopping` and `over` stay set."""

    news: asyncio.Event = field(default_factory=asyncio.Event)
    """There may be something to send to the member."""
    room: asyncio.Event = field(default_factory=asyncio.Event)
    """There may be partitions to read."""
    at_the_end: asyncio.Event = field(default_factory=asyncio.Event)
    unsettled: asyncio.Event = field(default_factory=asyncio.Event)
    """There may be something to write to the store."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Checkpoints:
    """Keeps an assignment and the store consistent. Its methods may run concurrently; their writes are serialized."""

    def __init__(
        self,
        store: ConsumerStore,
        consumer: Consumer,
        member_id: str,
        assignment: Assignment,
        signals: Signals,
        clock: Callable[[], int],
        lease: int,
        pace: Pace,
    ) -> None:
        self._store = store
        self._key = consumer.key
        self._member_id = member_id
        self._assignment = assignment
        self._signals = signals
        self._clock = clock
        self._lease = lease
        self._pace = pace
        self._time = asyncio.get_running_loop().time
        self._leased_until = self._time() + lease / SECOND_NS
        self._confirmed: list[int] = []
        self.counts_attempts = True
        """Whether leaving counts as a failed attempt of the outstanding deliveries."""
        # Held from a write until its effects are applied here, so that no other write sees the two differ.
        self._writing = asyncio.Lock()

    @property
    def is_leased(self) -> bool:
        """Reports whether the member certainly holds its partitions."""
        return self._time() < self._leased_until

    def confirmed(self) -> list[int]:
        """Returns deliveries whose acknowledgement became durable since the last call."""
        confirmed, self._confirmed = self._confirmed, []
        return confirmed

    def limit_retries(self) -> None:
        """Shortens the retries of a failing store, because the member leaves."""
        self._leased_until = min(self._leased_until, self._time() + _LEAVING_S)

    async def persist(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Runs the call; retries while the store is unavailable and the lease may hold. Raises StoreUnavailable after that."""
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
        """Renews the leases, takes and gives back partitions. Returns parked changes to replay that are not on their way."""
        async with self._writing:
            started, now = self._time(), self._clock()
            if not self.is_leased:
                self._assignment.drop([each.number for each in self._assignment])
            share = await self._store.balance(self._key, self._member_id, now, now + self._lease)
            self._leased_until = started + self._lease / SECOND_NS
            self._assignment.assign(share.partitions)
            self._assignment.give_up(share.surplus)
        self._pass_idle()
        self._signals.room.set()
        self._signals.news.set()
        self._signals.unsettled.set()
        return [each for each in share.replays if self._assignment.lacks_replay(each)]

    def _pass_idle(self) -> None:
        """Moves idle partitions on, so that the lag is correct and retention does not overtake an idle consumer."""
        for owned in self._assignment:
            owned.pass_idle()

    # --- acknowledgements and rejections

    async def settle(self) -> None:
        """Writes everything that the store does not have yet."""
        await self.persist(self._flush)
        for owned in self._assignment:
            for replay in list(owned.replays.values()):
                if replay.state is State.ACKNOWLEDGED or replay.rejection is not None:
                    await self.persist(partial(self._settle_replay, owned, replay))
            while (rejected := owned.rejected()) is not None:
                await self.persist(self._flush)  # the attempts that the store counts are of the delivery after its position
                await self.persist(partial(self._settle_rejection, owned, rejected))
                await self.persist(self._flush)
        await self.persist(self._release_free)

    async def _flush(self) -> None:
        async with self._writing:
            due = {owned: owned.due() for owned in self._assignment if owned.is_due}
            if not due:
                return
            positions = {owned.number: position for owned, (position, _) in due.items()}
            lost = await self._store.acknowledge(self._key, self._member_id, positions)
            for owned, (position, counted) in due.items():
                if owned.number not in lost:
                    owned.is_stored(position, counted)
                    self._confirmed.extend(counted)
            self._assignment.drop(lost)
        self._signals.news.set()

    async def _settle_rejection(self, owned: OwnedPartition, rejected: Delivery) -> None:
        reason, park, counted = rejected.rejection or Rejection("")
        async with self._writing:
            if not self._assignment.holds(owned):
                return
            attempts = owned.attempts
            if not counted:
                attempts = await self._store.reject(self._key, self._member_id, owned.number, reason)
                # If parking fails, the retry must not count the attempt again.
                owned.attempts, rejected.rejection = attempts, Rejection(reason, park, counted=True)
            if not attempts:
                self._assignment.drop([owned.number])
            elif park:
                await self._park(owned, rejected, reason)
            else:
                self._pause(owned, attempts)
            self._assignment.forget_void()
        self._signals.room.set()

    async def _park(self, owned: OwnedPartition, rejected: Delivery, reason: str) -> None:
        if await self._store.park(self._key, self._member_id, rejected.change, reason, self._clock()):
            owned.skip(rejected)
        else:
            self._assignment.drop([owned.number])

    def _pause(self, owned: OwnedPartition, attempts: int) -> None:
        pause = Backoff(self._pace.first_pause, self._pace.longest_pause).limit(attempts)
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
            free = [each.number for each in self._assignment if each.leaving and each.is_free]
            if free:
                await self._store.release_partitions(self._key, self._member_id, free, lost=False)
                self._assignment.drop(free)

    async def leave(self, reason: str) -> None:
        """Settles, and gives all partitions back. `reason` is stored with outstanding deliveries."""
        self._pass_idle()
        await self.settle()
        for owned in self._assignment:
            for replay in list(owned.replays.values()):
                if replay.state is State.SENT and replay.parked_id is not None:
                    await self.persist(partial(self.finish_replay, replay.parked_id, failed=reason))
        lost = [each.number for each in self._assignment if each.is_outstanding]
        if lost and self.counts_attempts:
            release = self._store.release_partitions
            await self.persist(partial(release, self._key, self._member_id, lost, lost=True, reason=reason))
        await self.persist(partial(self._store.leave, self._key, self._member_id))
