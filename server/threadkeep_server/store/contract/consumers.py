"""What a store keeps of named consumers: part of the Store contract.

A consumer's sessions are spread over partitions (`partition_of`). A member leases partitions, works on each in feed order, and
moves its position; whoever has no lease cannot move it. Every method is one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...domain.feed import Change, FeedScope, Position


class ConsumerKey(NamedTuple):
    """Names a consumer. `owner`: the user whom the callers are bound to; empty for callers that are not bound."""

    tenant: str
    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer as its first member made it. `filter` is opaque here. Times in nanoseconds."""

    key: ConsumerKey
    scope: FeedScope
    filter: bytes
    partitions: int
    max_attempts: int
    ack_timeout: int
    create_time: int


@dataclass(frozen=True, slots=True)
class Partition:
    """Where a partition stands: everything of it up to `position` has been handled. `attempts`: deliveries of what comes next
    that were not acknowledged, `reason` why the last was not."""

    number: int
    position: Position
    owner: str = ""
    attempts: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    member_id: str
    join_time: int
    partitions: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Parked:
    """A change that was given up on. `change` can be read (change_events) although the feed may have trimmed it."""

    parked_id: int
    partition: int
    change: Change
    attempts: int
    reason: str
    park_time: int
    replaying: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """What a member has after balancing: its partitions, how many of them it should give back, and what is to be replayed in
    them."""

    partitions: Sequence[Partition]
    surplus: int = 0
    replays: Sequence[Parked] = ()


@dataclass(frozen=True, slots=True)
class ConsumerState:
    consumer: Consumer
    members: Sequence[Member]
    partitions: Sequence[Partition]
    parked: int


class FairShare(NamedTuple):
    take: int
    surplus: int


LOST = "its member was lost"
MOST_REPLAYS = 100
"""What a member gets to replay at once; the rest comes when these are finished."""


def partition_of(session: int, partitions: int) -> int:
    """The partition of a session, by the store's key of it (Change.session).

    Keys count up. Multiplied with the golden ratio, those that follow each other spread evenly over whatever runs of partitions
    the members hold (Fibonacci hashing; Knuth, The Art of Computer Programming 3, 6.4).
    """
    return (session * 0x9E3779B1 % (1 << 32)) * partitions >> 32


def fair_share(partitions: int, held: Mapping[str, int], member_id: str) -> FairShare:
    """What the member may take and what it should give back, where each of the members holds so many partitions.

    Its share is partitions / members, rounded up; rounded down as long as another member holds less than that.
    """
    fewest = partitions // len(held)
    starving = any(count < fewest for name, count in held.items() if name != member_id)
    share = fewest if starving else -(-partitions // len(held))
    return FairShare(take=max(0, share - held[member_id]), surplus=max(0, held[member_id] - share))


class ConsumerStore(Protocol):
    """Durable state of named consumers. Methods that name a consumer raise ConsumerNotFound if there is none."""

    async def join_consumer(self, wanted: Consumer, start: Position, member_id: str, now: int, until: int) -> Consumer:
        """Enters the member until `until`, making the consumer if there is none, with every partition at `start`. The stored
        one is returned; its partitions, max_attempts and ack_timeout hold. Raises ConsumerMismatch where scope or filter
        differ."""
        ...

    async def balance(self, key: ConsumerKey, member_id: str, now: int, until: int) -> Share:
        """Extends the member and its leases until `until`, forgets members that have run out, and takes partitions that nobody
        holds, the lowest first, as `fair_share` says, which says the surplus too. A lease that ran out counts one more attempt
        of what comes next, for its member may have died of it; the reason is LOST. A member that had run out is entered anew,
        without partitions: it takes some with its next call, when its caller knows that it lost what it had."""
        ...

    async def acknowledge(self, key: ConsumerKey, member_id: str, positions: Mapping[int, Position]) -> Collection[int]:
        """Moves partitions on, never back, and resets their attempts; positions are durable when it returns. Answers with the
        partitions that the member does not hold (any more), which stay as they are."""
        ...

    async def reject(self, key: ConsumerKey, member_id: str, number: int, reason: str) -> int:
        """Counts one more attempt of what comes next in the partition; how many there are. 0: the partition is not the
        member's."""
        ...

    async def park(self, key: ConsumerKey, member_id: str, change: Change, reason: str, now: int) -> bool:
        """Parks the change that comes next, with the attempts that were counted of it, and moves its partition past it, in one.
        False: the partition is not the member's."""
        ...

    async def release_partitions(
        self, key: ConsumerKey, member_id: str, numbers: Collection[int], *, lost: bool, reason: str = ""
    ) -> None:
        """Gives partitions back. `lost`: with deliveries outstanding, so what comes next counts one more attempt, for this
        reason."""
        ...

    async def leave(self, key: ConsumerKey, member_id: str) -> None:
        """Forgets the member, and releases what it still holds as `release_partitions` with nothing lost."""
        ...

    async def finish_replay(self, key: ConsumerKey, parked_id: int, *, failed: str | None, now: int) -> None:
        """Ends the replay of a parked change: handled (None) it is forgotten, failed it stays parked with one more attempt and
        this reason, from now. Nothing happens if it is not parked."""
        ...

    async def consumers(self, tenant: str, owner: str, limit: int, after: str) -> Sequence[Consumer]:
        """By name, those whose name sorts after `after`."""
        ...

    async def consumer(self, key: ConsumerKey) -> ConsumerState:
        """As it is stored: members whose time has run out are told until another member balances."""
        ...

    async def delete_consumer(self, key: ConsumerKey) -> bool:
        """With all that is kept of it."""
        ...

    async def parked(self, key: ConsumerKey, limit: int, after: int) -> Sequence[Parked]:
        """Oldest first, those with a parked_id greater than `after`."""
        ...

    async def replay_parked(self, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
        """Has these (None: all) replayed; how many."""
        ...

    async def delete_parked(self, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
        """Forgets these (None: all); how many."""
        ...
