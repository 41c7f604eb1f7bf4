"""Use cases of consumers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...domain.errors import ConsumerNotFound, ServerDraining, StoreUnavailable
from ...domain.feed import FeedEvent, FeedScope, FeedTrimmed, Position
from ...domain.filters import ALL, EventFilter, select
from ...domain.model import Caller
from ...feed.consumers.checkpoints import GroupStore, Pace
from ...feed.consumers.member import Member, Wake
from ...store.contract.consumers import Consumer, ConsumerKey, ConsumerState, Parked, Partition, partition_of
from ..access import own_app, own_user
from .subscriptions import Quota

MOST_LAG = 10_000
_LAG_CHANGES_AT_ONCE = 1000
_LAG_PAGES = 200
# Separates the name of a member from its unique suffix. Ids do not contain control characters.
_UNIT = "\x1f"
_PACE = Pace()
_EVERYTHING = FeedScope("")


@dataclass(frozen=True, slots=True)
class Join:
    """The request of a member. Fields after `max_outstanding` apply to the first member only. The tenant of the scope is the
    caller's. `filter` is the stored form of `wanted`; `ack_timeout` in nanoseconds."""

    name: str
    scope: FeedScope = _EVERYTHING
    wanted: EventFilter = ALL
    filter: bytes = b""
    member_id: str = ""
    max_outstanding: int = 256
    from_beginning: bool = False
    max_attempts: int = 5
    ack_timeout: int = 60_000_000_000
    partitions: int = 32


class Standing(NamedTuple):
    """A consumer, and the number of pending changes of each partition."""

    state: ConsumerState
    lags: Mapping[int, int]


class ParkedPage(NamedTuple):
    """Parked changes with their events that match the filter. `cursor` is set if there are more."""

    parked: Sequence[tuple[Parked, Sequence[FeedEvent]]]
    cursor: int | None


class ConsumerService:
    """Use cases of consumers. A caller bound to a user has its own consumers, and cannot reach others."""

    def __init__(
        self,
        store: GroupStore,
        wake: Wake,
        quota: Quota,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        lease: int,
        pace: Pace = _PACE,
    ) -> None:
        self._store = store
        self._wake = wake
        self._quota = quota
        self._clock = clock
        self._new_id = new_id
        self._lease = lease
        self._pace = pace
        self._working: dict[asyncio.Task[None], Member] = {}
        self._ending = False
        store.on_incarnation(self._end_those_ahead)

    # --- members

    @asynccontextmanager
    async def consume(self, caller: Caller, join: Join) -> AsyncIterator[Member]:
        """Joins as a member, which leaves at the end of the context. Raises ConsumerMismatch, QuotaExceeded."""
        if self._ending:
            raise ServerDraining
        async with self._quota.soon(caller):
            member = await self._join(caller, join)
            try:
                yield member
            finally:
                member.leave()  # pending acknowledgements are stored in the background

    async def _join(self, caller: Caller, join: Join) -> Member:
        user_id = own_user(caller, join.scope.user_id, "scope.user_id")
        now = self._clock()
        consumer = Consumer(
            key=_key(caller, join.name),
            scope=replace(join.scope, tenant=caller.tenant, app=own_app(caller, join.scope.app, "scope.app"), user_id=user_id),
            filter=join.filter,
            partitions=join.partitions,
            max_attempts=join.max_attempts,
            ack_timeout=join.ack_timeout,
            create_time=now,
        )
        start = await (self._store.feed_floor() if join.from_beginning else self._store.feed_head())
        unique = self._new_id()
        member_id = f"{join.member_id}{_UNIT}{unique}" if join.member_id else unique
        consumer = await self._store.join_consumer(consumer, start, member_id, now, now + self._lease)
        member = Member(
            self._store,
            self._wake,
            consumer,
            member_id,
            join.wanted,
            max_outstanding=join.max_outstanding,
            clock=self._clock,
            lease=self._lease,
            pace=self._pace,
        )
        task = asyncio.create_task(member.run(), name="consumer member")
        self._working[task] = member
        task.add_done_callback(self._working.pop)
        if self._ending:
            member.end(ServerDraining())
        return member

    def _end_those_ahead(self) -> None:
        """Ends members that have read changes which the database has lost."""
        start = self._store.incarnations().known[-1].start
        for member in self._working.values():
            if member.is_beyond(start):
                member.lose(StoreUnavailable("the database has lost changes; join again"))

    def members(self) -> int:
        """How many work on this server."""
        return len(self._working)

    def drain(self) -> None:
        """Ends every membership, once what is acknowledged is settled. The server shuts down."""
        self._ending = True
        for member in self._working.values():
            member.end(ServerDraining())

    async def close(self) -> None:
        """Drains, and waits until nothing is written any more."""
        self.drain()
        if self._working:
            await asyncio.wait(self._working)

    # --- operators

    async def list(self, caller: Caller, limit: int, after: str) -> tuple[Sequence[Consumer], bool]:
        """Those whose name sorts after `after`; whether there are more."""
        found = await self._store.consumers(caller.tenant, caller.owner, limit + 1, after)
        return found[:limit], len(found) > limit

    async def get(self, caller: Caller, name: str) -> Standing:
        state = await self._store.consumer(_key(caller, name))
        shown = replace(
            state,
            members=[replace(each, member_id=shown_id(each.member_id)) for each in state.members],
            partitions=[replace(each, owner=shown_id(each.owner)) for each in state.partitions],
        )
        return Standing(shown, await self._lags(state))

    async def _lags(self, state: ConsumerState) -> Mapping[int, int]:
        """Changes before each partition, up to MOST_LAG; fewer than there are where counting them all would take too long."""
        scope, count = state.consumer.scope, state.consumer.partitions
        behind = {each.number: each for each in state.partitions}
        lags = dict.fromkeys(behind, 0)
        position = _first(behind)
        for _ in range(_LAG_PAGES):
            try:
                page = await self._store.changes(position, _LAG_CHANGES_AT_ONCE, scope)
            except FeedTrimmed as trimmed:
                position = trimmed.floor
                continue
            for change in page.changes:
                number = partition_of(change.session, count)
                if number in behind and change.position > behind[number].position:
                    lags[number] += 1
                    if lags[number] == MOST_LAG:
                        del behind[number]
            if not page.more or not behind:
                break
            position = max(page.reached, _first(behind))
        return lags

    async def delete(self, caller: Caller, name: str) -> bool:
        """Whether there was one. Its members on this server end at once, others when they next write."""
        key = _key(caller, name)
        deleted = await self._store.delete_consumer(key)
        for member in self._working.values():
            if member.consumer.key == key:
                member.end(ConsumerNotFound(name))
        return deleted

    async def parked(
        self, caller: Caller, name: str, limit: int, max_bytes: int, after: int, read_filter: Callable[[bytes], EventFilter]
    ) -> ParkedPage:
        """Oldest first: as many as the limits allow, and at least one."""
        key = _key(caller, name)
        wanted = read_filter((await self._store.consumer(key)).consumer.filter)
        found = await self._store.parked(key, limit + 1, after)
        page: list[Parked] = []
        size = 0
        for each in found[:limit]:
            size += each.change.size
            if page and size > max_bytes:
                break
            page.append(each)
        read = await self._store.change_events([each.change for each in page], with_text=wanted.reads_body)
        selected = [(each, select(events, wanted)) for each, events in zip(page, read, strict=True)]
        return ParkedPage(selected, page[-1].parked_id if len(page) < len(found) else None)

    async def replay_parked(self, caller: Caller, name: str, parked_ids: Sequence[int] | None) -> int:
        """Returns how many of these changes (None: all) will be delivered again."""
        return await self._store.replay_parked(_key(caller, name), parked_ids)

    async def delete_parked(self, caller: Caller, name: str, parked_ids: Sequence[int] | None) -> int:
        """Deletes these changes (None: all). Returns their number."""
        return await self._store.delete_parked(_key(caller, name), parked_ids)


def shown_id(member_id: str) -> str:
    """Returns the name of a member without its unique suffix."""
    return member_id.partition(_UNIT)[0]


def _key(caller: Caller, name: str) -> ConsumerKey:
    return ConsumerKey(caller.tenant, caller.owner, name)


def _first(partitions: Mapping[int, Partition]) -> Position:
    return min(each.position for each in partitions.values())
