"""Named consumers in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...domain import errors
from ...domain.feed import Change, ChangeKind, Position
from ..contract.codec import Codec
from ..contract.consumers import (
    LOST,
    MOST_REPLAYS,
    Consumer,
    ConsumerKey,
    ConsumerState,
    Member,
    Parked,
    Partition,
    Share,
    fair_share,
    partition_of,
)
from .logs import InMemoryLogs


@dataclass(slots=True)
class _Lease:
    """A partition, and the end of its owner's lease."""

    partition: Partition
    until: int = 0

    @property
    def owner(self) -> str:
        return self.partition.owner

    def take(self, member_id: str) -> None:
        self.partition = replace(self.partition, owner=member_id)

    def count_attempt(self, reason: str) -> None:
        self.partition = replace(self.partition, attempts=self.partition.attempts + 1, reason=reason)

    def move(self, position: Position) -> None:
        """Forward, never back: acknowledgments may arrive out of order."""
        if position >= self.partition.position:
            self.partition = replace(self.partition, position=position, attempts=0, reason="")

    def give_back(self) -> None:
        self.partition, self.until = replace(self.partition, owner=""), 0


@dataclass(slots=True)
class _Membership:
    join_time: int
    until: int


@dataclass(slots=True)
class _Group:
    """The state of a consumer."""

    consumer: Consumer
    leases: list[_Lease]
    members: dict[str, _Membership] = field(default_factory=dict)
    parked: list[Parked] = field(default_factory=list)

    def held(self, member_id: str) -> list[_Lease]:
        return [lease for lease in self.leases if lease.owner == member_id]

    def chosen(self, parked_ids: Collection[int] | None) -> list[Parked]:
        return [each for each in self.parked if parked_ids is None or each.parked_id in parked_ids]


class InMemoryConsumers(InMemoryLogs):
    """ConsumerStore in memory."""

    def __init__(self, codec: Codec, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__(codec, clock)
        self._groups: dict[ConsumerKey, _Group] = {}
        self._parked_count = 0

    async def join_consumer(self, wanted: Consumer, start: Position, member_id: str, now: int, until: int) -> Consumer:
        group = self._groups.get(wanted.key)
        if group is None:
            leases = [_Lease(Partition(number, start)) for number in range(wanted.partitions)]
            group = self._groups[wanted.key] = _Group(wanted, leases)
        for name in ("scope", "filter"):
            if getattr(group.consumer, name) != getattr(wanted, name):
                raise errors.ConsumerMismatch(wanted.key.name, name)
        _enter(group, member_id, now, until)
        return group.consumer

    async def balance(self, key: ConsumerKey, member_id: str, now: int, until: int) -> Share:
        group = self._group(key)
        group.members = {name: member for name, member in group.members.items() if member.until > now}
        for lease in group.leases:
            if lease.owner and lease.until <= now:
                lease.give_back()
                lease.count_attempt(LOST)
        known = member_id in group.members
        _enter(group, member_id, now, until)
        if not known:
            return Share(())
        held = {name: len(group.held(name)) for name in group.members}
        share = fair_share(len(group.leases), held, member_id)
        free = [lease for lease in group.leases if not lease.owner]
        for lease in free[: share.take]:
            lease.take(member_id)
        mine = group.held(member_id)
        for lease in mine:
            lease.until = until
        numbers = {lease.partition.number for lease in mine}
        replays = [each for each in self._readable(group) if each.replaying and each.partition in numbers]
        return Share([lease.partition for lease in mine], share.surplus, replays[:MOST_REPLAYS])

    async def acknowledge(self, key: ConsumerKey, member_id: str, positions: Mapping[int, Position]) -> Collection[int]:
        held = {lease.partition.number: lease for lease in self._group(key).held(member_id)}
        for number in positions.keys() & held.keys():
            held[number].move(positions[number])
        return positions.keys() - held.keys()

    async def reject(self, key: ConsumerKey, member_id: str, number: int, reason: str) -> int:
        for lease in self._held(key, member_id, [number]):
            lease.count_attempt(reason)
            return lease.partition.attempts
        return 0

    async def park(self, key: ConsumerKey, member_id: str, change: Change, reason: str, now: int) -> bool:
        group = self._group(key)
        number = partition_of(change.session, group.consumer.partitions)
        for lease in self._held(key, member_id, [number]):
            self._parked_count += 1
            group.parked.append(Parked(self._parked_count, number, change, lease.partition.attempts, reason, now))
            lease.move(change.position)
            return True
        return False

    async def release_partitions(
        self, key: ConsumerKey, member_id: str, numbers: Collection[int], *, lost: bool, reason: str = ""
    ) -> None:
        for lease in self._held(key, member_id, numbers):
            lease.give_back()
            if lost:
                lease.count_attempt(reason)

    async def leave(self, key: ConsumerKey, member_id: str) -> None:
        group = self._group(key)
        group.members.pop(member_id, None)
        for lease in group.held(member_id):
            lease.give_back()

    async def finish_replay(self, key: ConsumerKey, parked_id: int, *, failed: str | None, now: int) -> None:
        group = self._group(key)
        if failed is None:
            group.parked = [each for each in group.parked if each.parked_id != parked_id]
        else:
            group.parked = [
                replace(each, attempts=each.attempts + 1, reason=failed, park_time=now, replaying=False)
                if each.parked_id == parked_id
                else each
                for each in group.parked
            ]

    async def consumers(self, tenant: str, owner: str, limit: int, after: str) -> Sequence[Consumer]:
        keys = sorted(key for key in self._groups if key[:2] == (tenant, owner) and key.name > after)
        return [self._groups[key].consumer for key in keys[:limit]]

    async def consumer(self, key: ConsumerKey) -> ConsumerState:
        group = self._group(key)
        members = [
            Member(name, member.join_time, [lease.partition.number for lease in group.held(name)])
            for name, member in sorted(group.members.items(), key=lambda item: (item[1].join_time, item[0]))
        ]
        return ConsumerState(group.consumer, members, [lease.partition for lease in group.leases], len(group.parked))

    async def delete_consumer(self, key: ConsumerKey) -> bool:
        return self._groups.pop(key, None) is not None

    async def parked(self, key: ConsumerKey, limit: int, after: int) -> Sequence[Parked]:
        return [each for each in self._readable(self._group(key)) if each.parked_id > after][:limit]

    async def replay_parked(self, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
        group = self._group(key)
        chosen = group.chosen(parked_ids)
        group.parked = [replace(each, replaying=each.replaying or each in chosen) for each in group.parked]
        return len(chosen)

    async def delete_parked(self, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
        group = self._group(key)
        chosen = group.chosen(parked_ids)
        group.parked = [each for each in group.parked if each not in chosen]
        return len(chosen)

    def _readable(self, group: _Group) -> list[Parked]:
        """Returns the parked changes, without those of sessions that the consumer's user does not own any more."""
        if group.consumer.scope.user_id is None:
            return group.parked
        owners = {log.number: log.session.ref.user_id for log in self._logs.values()}
        parked = ((each, each.change) for each in group.parked)
        return [
            each
            for each, change in parked
            if change.kind is ChangeKind.DELETED or owners.get(change.session, change.ref.user_id) == change.ref.user_id
        ]

    def _group(self, key: ConsumerKey) -> _Group:
        if key not in self._groups:
            raise errors.ConsumerNotFound(key.name)
        return self._groups[key]

    def _held(self, key: ConsumerKey, member_id: str, numbers: Collection[int]) -> Iterator[_Lease]:
        """Returns those of the partitions that the member holds."""
        return (lease for lease in self._group(key).held(member_id) if lease.partition.number in numbers)


def _enter(group: _Group, member_id: str, now: int, until: int) -> None:
    """Extends or adds a member."""
    member = group.members.setdefault(member_id, _Membership(now, until))
    member.until = until
