"""A partition that a member holds: its deliveries and its progress. Performs no I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ...domain.feed import Change, FeedEvent, Position
from ...store.contract.consumers import Partition

MOST_QUEUED = 64
"""The limit of deliveries of one partition that are read and not acknowledged."""


class State(Enum):
    """The progress of a delivery."""

    WAITING = 1
    """Read, and not sent to the member yet."""
    SENT = 2
    ACKNOWLEDGED = 3
    VOID = 4
    """Acknowledgements are ignored: the change is delivered again, or another member has the partition."""


class Rejection(NamedTuple):
    """Why a delivery failed. `park`: the change is not retried. `counted`: the store has counted the attempt."""

    reason: str
    park: bool = False
    counted: bool = False


@dataclass(slots=True, eq=False)
class Delivery:
    """A change for a member, with the selected events. `delivery_id` is assigned when the delivery is sent."""

    partition: int
    change: Change
    events: Sequence[FeedEvent]
    attempt: int = 1
    parked_id: int | None = None
    delivery_id: int = 0
    sent_at: float = 0.0
    state: State = State.WAITING
    rejection: Rejection | None = None
    alone: bool = False
    """Must be the only outstanding delivery, because a member was lost while it had it. Otherwise a change that kills members
    would count failed attempts for the other deliveries of those members."""


class Read(NamedTuple):
    """The result of a read for one partition: of the feed up to `reached`, only `changes` match. `to_the_end` is set if the
    settled feed ends there."""

    changes: Sequence[tuple[Change, Sequence[FeedEvent]]]
    reached: Position
    to_the_end: bool


class OwnedPartition:
    """Deliveries of one partition, in order, from the first that is not acknowledged.

    `stored` is the position in the store, `handled` the one that it should have; reading continues at `read_to`. A rejected
    delivery waits until everything before it is acknowledged. If it is retried, later deliveries become void and are read
    again; if it is parked, they are not affected.
    """

    def __init__(self, partition: Partition, max_attempts: int) -> None:
        self.number = partition.number
        self.stored = self.handled = self.read_to = partition.position
        self.attempts = partition.attempts
        self.reason = partition.reason
        self._suspect = partition.attempts > 0
        self.leaving = False
        """The partition is given back as soon as nothing of it is outstanding."""
        self.resumes_at = 0.0
        self.replays: dict[int, Delivery] = {}
        """Replays by parked_id, until the store has their outcome."""
        self._max_attempts = max_attempts
        self._queue: deque[Delivery] = deque()
        self._counted: list[int] = []
        self._forgiven = False

    # --- reading

    def wants(self, now: float) -> bool:
        """Reports whether the partition should be read. Only when half the room is free: a page for one change is expensive."""
        return not self.leaving and not self.blocked and now >= self.resumes_at and len(self._queue) <= MOST_QUEUED // 2

    @property
    def blocked(self) -> bool:
        """Reports whether the last delivery must be retried before others follow."""
        last = self._queue[-1].rejection if self._queue else None
        return last is not None and not last.park

    @property
    def room(self) -> int:
        return MOST_QUEUED - len(self._queue)

    def take(self, found: Read) -> list[Delivery]:
        """Queues changes that were read from `read_to`. Returns the deliveries to send."""
        taken: list[Delivery] = []
        self.read_to = max(self.read_to, found.reached)
        for change, events in found.changes:
            attempt = 1 if self._queue else self.attempts + 1
            delivery = Delivery(self.number, change, events, attempt, alone=self._suspect and not self._queue)
            self._queue.append(delivery)
            if attempt > self._max_attempts:
                # Members were lost with this change until its attempts were used up.
                delivery.rejection = Rejection(self.reason, park=True, counted=True)
            else:
                taken.append(delivery)
        if found.to_the_end and not self._queue and self.attempts and not self.resumes_at:
            # A member was lost while the partition was idle; this must not count against the next change.
            self.attempts, self._forgiven = 0, True
        return taken

    # --- settling

    def acknowledge(self, delivery: Delivery) -> None:
        delivery.state = State.ACKNOWLEDGED
        self._advance()

    def _advance(self) -> None:
        while self._queue and self._queue[0].state is State.ACKNOWLEDGED:
            done = self._queue.popleft()
            self._counted.append(done.delivery_id)
            self.handled = done.change.position
            self.attempts, self.resumes_at, self._suspect = 0, 0.0, False
        self.pass_idle()

    def pass_idle(self) -> None:
        """Marks everything read as handled if nothing is outstanding."""
        if not self._queue and not self.attempts:
            self.handled = max(self.handled, self.read_to)

    def reject(self, delivery: Delivery, reason: str, *, park: bool) -> None:
        """Parks the delivery if its attempts are used up or it is a replay; otherwise later deliveries become void."""
        park = park or delivery.attempt >= self._max_attempts or delivery.parked_id is not None
        delivery.rejection = Rejection(reason, park)
        if not park:
            self._cut(lambda each: not 0 < each.delivery_id <= delivery.delivery_id)

    def rejected(self) -> Delivery | None:
        """Returns the rejected delivery once it is the first."""
        return self._queue[0] if self._queue and self._queue[0].rejection is not None else None

    def retry(self, attempts: int, resumes_at: float) -> None:
        """Prepares to read the rejected delivery and its successors again."""
        # Below the maximum, even if the store has counted more: the member did not know that this was the last attempt.
        self.attempts, self.resumes_at = min(attempts, self._max_attempts - 1), resumes_at
        self._suspect = False  # the member survived the failure
        self._void_all()
        self.read_to = self.handled

    def skip(self, parked: Delivery) -> None:
        """Continues after a rejected delivery that has been parked."""
        self.attempts, self.resumes_at, self._suspect = 0, 0.0, False
        self.stored = self.handled = parked.change.position
        self.read_to = max(self.read_to, self.handled)
        if self._queue and self._queue[0] is parked:
            self._queue.popleft().state = State.VOID
        self._advance()

    @property
    def is_due(self) -> bool:
        """Reports whether the store must be updated."""
        return self.handled != self.stored or self._forgiven

    def due(self) -> tuple[Position, list[int]]:
        """Returns the position to store, and the deliveries whose acknowledgement is durable afterwards."""
        return self.handled, list(self._counted)

    def is_stored(self, position: Position, counted: Sequence[int]) -> None:
        """Records that the store has the result of `due`."""
        self.stored, self._forgiven = position, False
        del self._counted[: len(counted)]

    # --- giving back

    def leave(self) -> None:
        """Stops sending deliveries of this partition."""
        self.leaving = True
        self._cut(lambda each: each.state is State.WAITING)
        for replay in [each for each in self.replays.values() if each.state is State.WAITING]:
            self._void_replay(replay)

    @property
    def is_free(self) -> bool:
        """Reports whether nothing waits for the member or the store."""
        return not self._queue and not self.replays and not self.is_due

    @property
    def is_outstanding(self) -> bool:
        """Reports whether a delivery was sent that is neither acknowledged nor rejected."""
        return any(each.state is State.SENT and each.rejection is None for each in self._queue)

    def drop(self) -> None:
        """Voids all deliveries: another member holds the partition."""
        self._void_all()
        for replay in list(self.replays.values()):
            self._void_replay(replay)

    # --- helpers

    def _cut(self, falls: Callable[[Delivery], bool]) -> None:
        """Voids the first delivery for which `falls` is true, and all after it."""
        keep = next((index for index, each in enumerate(self._queue) if falls(each)), len(self._queue))
        if keep == len(self._queue):
            return
        while len(self._queue) > keep:
            self._queue.pop().state = State.VOID
        self.read_to = self._queue[-1].change.position if self._queue else self.handled

    def _void_all(self) -> None:
        for each in self._queue:
            each.state = State.VOID
        self._queue.clear()

    def _void_replay(self, replay: Delivery) -> None:
        replay.state = State.VOID
        if replay.parked_id is not None:
            self.replays.pop(replay.parked_id, None)
