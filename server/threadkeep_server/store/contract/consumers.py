"""Named consumers: part of the Store contract.

A consumer's sessions are spread over partitions (`partition_of`). A member leases partitions, works on each in feed order, and
moves its position; a member without the lease cannot move it. Every method is one transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...domain.feed import Change, FeedScope, Position


class ConsumerKey(NamedTuple):
    """Identifies a consumer. `owner`: Caller.owner of those that may use it."""

    tenant: str
    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer as its first member created it. `filter` is opaque here. Times in nanoseconds."""

    key: ConsumerKey
    scope: FeedScope
    filter: bytes
    partitions: int
    max_attempts: int
    ack_timeout: int
    create_time: int


@dataclass(frozen=True, slots=True)
class Partition:
    """The progress of a partition: all its changes up to `position` are done. `attempts`: unacknowledged deliveries of the next
    change; `reason`: why the last one failed."""

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
    """A change that failed too often. `change` can be read (change_events) although the feed may have trimmed it."""

    parked_id: int
    partition: int
    change: Change
    attempts: int
    reason: str
    park_time: int
    replaying: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """The result of balancing: the member's partitions, how many of them it should release, and the parked changes to replay in
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
"""Largest number of parked changes that a member replays at once; the others follow when these are finished."""


def partition_of(session: int, partitions: int) -> int:
    """Returns the partition of a session, given the store's key of it (Change.session).

    Keys count up. Multiplied by the golden ratio, consecutive keys spread evenly over any runs of partitions that the members
    hold (Fibonacci hashing; Knuth, The Art of Computer Programming 3, 6.4).
    """
    return (session * 0x9E3779B1 % (1 << 32)) * partitions >> 32


def fair_share(partitions: int, held: Mapping[str, int], member_id: str) -> FairShare:
    """Returns how many partitions the member may take and should release. `held`: the number of partitions per member.

    Its share is partitions / members, rounded up; rounded down while another member holds less than that.
    """
    fewest = partitions // len(held)
    starving = any(count < fewest for name, count in held.items() if name != member_id)
    share = fewest if starving else -(-partitions // len(held))
    return FairShare(take=max(0, share - held[member_id]), surplus=max(0, held[member_id] - share))


class ConsumerStore(Protocol):
    """Durable state of named consumers. Methods with a consumer key raise ConsumerNotFound if there is none."""

    async def join_consumer(self, wanted: Consumer, start: Position, member_id: str, now: int, until: int) -> Consumer:
        """Adds the member until `until`; creates the consumer if there is none, with every partition at `start`. Returns the
        stored consumer, whose partitions, max_attempts and ack_timeout apply. Raises ConsumerMismatch if scope or filter
        differ."""
        ...

    async def balance(self, key: ConsumerKey, member_id: str, now: int, until: int) -> Share:
        """Extends the member and its leases until `until`, removes expired members, and takes free partitions, the lowest
        first. `fair_share` defines how many, and the surplus. An expired lease counts one more attempt of the next change,
        because its member may have failed on it; the reason is LOST. An expired member is added again without partitions: its
        caller learns that it lost them, and takes some with its next call."""
        ...

    async def acknowledge(self, key: ConsumerKey, member_id: str, positions: Mapping[int, Position]) -> Collection[int]:
        """Moves partitions forward, never back, and resets their attempts; positions are durable when it returns. Returns the
        partitions that the member does not hold (any more), which are unchanged."""
        ...

    async def reject(self, key: ConsumerKey, member_id: str, number: int, reason: str) -> int:
        """Counts one more attempt of the next change of the partition. Returns the number of attempts; 0: the member does not
        hold the partition."""
        ...

    async def park(self, key: ConsumerKey, member_id: str, change: Change, reason: str, now: int) -> bool:
        """Parks the next change, with its attempts, and moves its partition past it, atomically. False: the member does not
        hold the partition."""
        ...

    async def release_partitions(
        self, key: ConsumerKey, member_id: str, numbers: Collection[int], *, lost: bool, reason: str = ""
    ) -> None:
        """Releases partitions. `lost`: with outstanding deliveries, so the next change counts one more attempt, for this
        reason."""
        ...

    async def leave(self, key: ConsumerKey, member_id: str) -> None:
        """Removes the member and releases its partitions like `release_partitions` without lost deliveries."""
        ...

    async def finish_replay(self, key: ConsumerKey, parked_id: int, *, failed: str | None, now: int) -> None:
        """Ends the replay of a parked change: `failed` None deletes it; otherwise it stays parked with one more attempt and
        this reason, from now. Does nothing if it is not parked."""
        ...

    async def consumers(self, tenant: str, owner: str, limit: int, after: str) -> Sequence[Consumer]:
        """Returns consumers by name, those whose name sorts after `after`."""
        ...

    async def consumer(self, key: ConsumerKey) -> ConsumerState:
        """Returns the stored state: expired members are listed until another member balances."""
        ...

    async def delete_consumer(self, key: ConsumerKey) -> bool:
        """Deletes the consumer with all its state. Returns whether it existed."""
        ...

    async def parked(self, key: ConsumerKey, limit: int, after: int) -> Sequence[Parked]:
        """Returns parked changes, oldest first, with a parked_id greater than `after`."""
        ...

    async def replay_parked(self, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
        """Marks these (None: all) for replay. Returns their number."""
        ...

    async def delete_parked(self, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
        """Deletes these (None: all). Returns their number."""
        ...
