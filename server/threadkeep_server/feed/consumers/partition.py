"""A partition in the hands of a member: what of it is on its way, and how far it has come. No input or output here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ...domain.feed import Change, FeedEvent, Position
from ...store.contract.consumers import Partition

MOST_QUEUED = 64
"""Deliveries of one partition that are read ahead of their acknowledgement."""


class State(Enum):
    WAITING = 1
    """Read, and not handed to the member yet."""
    SENT = 2
    ACKNOWLEDGED = 3
    VOID = 4
    """Whatever the member says of it counts no more: it comes again, or is somebody else's."""


class Rejection(NamedTuple):
    """Why a delivery was not handled. `park`: it will not be tried again. `counted`: the store knows of the attempt."""

    reason: str
    park: bool = False
    counted: bool = False


@dataclass(slots=True, eq=False)
class Delivery:
    """A change for a member to handle, with those of its events that are wanted. `delivery_id` is given when it is handed
    over."""

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
    """A member was lost with it: nothing else is to be handed over beside it, or what kills its members would count against
    everything that they had at the time."""


class Read(NamedTuple):
    """What a reader found for a partition: everything up to `reached` but for `changes` is of no interest. `to_the_end`: there
    is nothing more for now."""

    changes: Sequence[tuple[Change, Sequence[FeedEvent]]]
    reached: Position
    to_the_end: bool


class OwnedPartition:
    """Deliveries of one partition, in order, from the first that is not acknowledged.

    `stored` is the position that the store has, `handled` the one that it should have; `read_to` is where reading goes on. A
    delivery that is rejected waits until everything before it is acknowledged. If it is to be tried again, what comes after it
    is void, and read again after it; if it is to be parked, what comes after it goes on.
    """

    def __init__(self, partition: Partition, max_attempts: int) -> None:
        self.number = partition.number
        self.stored = self.handled = self.read_to = partition.position
        self.attempts = partition.attempts
        self.reason = partition.reason
        self._suspect = partition.attempts > 0
        self.leaving = False
        """It is to be given back as soon as nothing of it is outstanding."""
        self.resumes_at = 0.0
        self.replays: dict[int, Delivery] = {}
        """By parked_id, until the store knows what became of them."""
        self._max_attempts = max_attempts
        self._queue: deque[Delivery] = deque()
        self._counted: list[int] = []
        self._forgiven = False

    # --- reading

    def wants(self, now: float) -> bool:
        """Whether it should be read on. Not at every acknowledgement: reading a page for one change is dear."""
        return not self.leaving and not self.blocked and now >= self.resumes_at and len(self._queue) <= MOST_QUEUED // 2

    @property
    def blocked(self) -> bool:
        """Nothing comes after a delivery that is to be tried again."""
        last = self._queue[-1].rejection if self._queue else None
        return last is not None and not last.park

    @property
    def room(self) -> int:
        return MOST_QUEUED - len(self._queue)

    def take(self, found: Read) -> list[Delivery]:
        """Takes in what was read from `read_to` on; what of it is to be delivered."""
        taken: list[Delivery] = []
        self.read_to = max(self.read_to, found.reached)
        for change, events in found.changes:
            attempt = 1 if self._queue else self.attempts + 1
            delivery = Delivery(self.number, change, events, attempt, alone=self._suspect and not self._queue)
            self._queue.append(delivery)
            if attempt > self._max_attempts:
                # Its members kept dying of it.
                delivery.rejection = Rejection(self.reason, park=True, counted=True)
            else:
                taken.append(delivery)
        if found.to_the_end and not self._queue and self.attempts and not self.resumes_at:
            # A member was lost while there was nothing to do; what comes next is not to pay for it.
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
        """With nothing outstanding, what was read and is of no interest counts as handled."""
        if not self._queue and not self.attempts:
            self.handled = max(self.handled, self.read_to)

    def reject(self, delivery: Delivery, reason: str, *, park: bool) -> None:
        """It is parked, if its attempts are used up or it comes from there; else everything after it is void."""
        park = park or delivery.attempt >= self._max_attempts or delivery.parked_id is not None
        delivery.rejection = Rejection(reason, park)
        if not park:
            self._cut(lambda each: not 0 < each.delivery_id <= delivery.delivery_id)

    def rejected(self) -> Delivery | None:
        """The rejected delivery, once it is the first."""
        return self._queue[0] if self._queue and self._queue[0].rejection is not None else None

    def retry(self, attempts: int, resumes_at: float) -> None:
        """The rejected delivery will be read again, and everything after it."""
        # Whatever else has counted, the member was not told that this was the last attempt.
        self.attempts, self.resumes_at = min(attempts, self._max_attempts - 1), resumes_at
        self._suspect = False  # it fails, and leaves its member alive
        self._void_all()
        self.read_to = self.handled

    def skip(self, parked: Delivery) -> None:
        """The rejected delivery has been parked."""
        self.attempts, self.resumes_at, self._suspect = 0, 0.0, False
        self.stored = self.handled = parked.change.position
        self.read_to = max(self.read_to, self.handled)
        if self._queue and self._queue[0] is parked:
            self._queue.popleft().state = State.VOID
        self._advance()

    @property
    def is_due(self) -> bool:
        """Whether the store is behind."""
        return self.handled != self.stored or self._forgiven

    def due(self) -> tuple[Position, list[int]]:
        """Where the store should have it, and whose acknowledgements are durable once it has."""
        return self.handled, list(self._counted)

    def is_stored(self, position: Position, counted: Sequence[int]) -> None:
        """The store has what `due` said."""
        self.stored, self._forgiven = position, False
        del self._counted[: len(counted)]

    # --- giving back

    def leave(self) -> None:
        """Nothing more is handed over."""
        self.leaving = True
        self._cut(lambda each: each.state is State.WAITING)
        for replay in [each for each in self.replays.values() if each.state is State.WAITING]:
            self._void_replay(replay)

    @property
    def is_free(self) -> bool:
        """Whether nothing of it waits for the member or for the store."""
        return not self._queue and not self.replays and not self.is_due

    @property
    def is_outstanding(self) -> bool:
        """Whether a member has had what comes next, and the store counts no attempt for it yet."""
        return any(each.state is State.SENT and each.rejection is None for each in self._queue)

    def drop(self) -> None:
        """It is somebody else's now."""
        self._void_all()
        for replay in list(self.replays.values()):
            self._void_replay(replay)

    # --- helpers

    def _cut(self, falls: Callable[[Delivery], bool]) -> None:
        """Voids from the first delivery that falls on."""
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
