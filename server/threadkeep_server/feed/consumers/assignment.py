"""The partitions of one member and the deliveries on their way to it. Performs no I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...domain.errors import InvalidField
from ...domain.feed import FeedEvent, Position
from ...store.contract.consumers import Parked, Partition
from ..limits import MOST_FRAME_BYTES
from .partition import Delivery, OwnedPartition, Read, State

MOST_WAITING_BYTES = 4 << 20
# The approximate size of a delivery without its events.
_DELIVERY_BYTES = 256


class Assignment:
    """The partitions of one member and its deliveries. Delivery ids count from 1."""

    def __init__(self, max_attempts: int, max_outstanding: int) -> None:
        self._max_attempts = max_attempts
        self._max_outstanding = max_outstanding
        self._owned: dict[int, OwnedPartition] = {}
        self._waiting: deque[Delivery] = deque()
        self._sent: dict[int, Delivery] = {}
        """Deliveries that may still be acknowledged, oldest first."""
        self._last_id = 0

    def __iter__(self) -> Iterator[OwnedPartition]:
        return iter(list(self._owned.values()))

    def holds(self, partition: OwnedPartition) -> bool:
        return self._owned.get(partition.number) is partition

    # --- partitions

    def assign(self, partitions: Sequence[Partition]) -> None:
        """Replaces the partitions. One with an unchanged position continues; one that another member has moved restarts."""
        assigned = {each.number: each for each in partitions}
        self.drop(number for number, owned in self._owned.items() if _has_moved(owned, assigned.get(number)))
        for number, partition in assigned.items():
            if number not in self._owned:
                self._owned[number] = OwnedPartition(partition, self._max_attempts)

    def give_up(self, surplus: int) -> None:
        """Prepares to give back `surplus` partitions, those with the least outstanding work first."""
        by_cost = sorted(self._owned.values(), key=lambda each: (not each.leaving, each.is_outstanding, -each.room))
        for rank, owned in enumerate(by_cost):
            if rank >= surplus:
                owned.leaving = False
            elif not owned.leaving:
                owned.leave()

    def drop(self, numbers: Iterable[int]) -> None:
        """Removes partitions that the member no longer holds."""
        for number in list(numbers):
            if owned := self._owned.pop(number, None):
                owned.drop()
        self.forget_void()

    # --- reading

    def wanting(self, now: float, before: Position | None) -> list[OwnedPartition]:
        """Returns the partitions to read, if there is room for deliveries: those read to a position before `before`."""
        if sum(each.change.size + _DELIVERY_BYTES for each in self._waiting) >= MOST_WAITING_BYTES:
            return []
        return [each for each in self._owned.values() if each.wants(now) and (before is None or each.read_to < before)]

    def take(self, found: Mapping[int, Read]) -> None:
        for number, read in found.items():
            self._waiting.extend(self._owned[number].take(read))

    def lacks_replay(self, parked: Parked) -> bool:
        """Reports whether the parked change belongs to this member and is not on its way."""
        owned = self._owned.get(parked.partition)
        return owned is not None and not owned.leaving and parked.parked_id not in owned.replays

    def replay(self, parked: Parked, events: Sequence[FeedEvent]) -> None:
        """Queues a parked change for delivery."""
        if self.lacks_replay(parked):
            delivery = Delivery(parked.partition, parked.change, events, parked.attempts + 1, parked.parked_id)
            self._owned[parked.partition].replays[parked.parked_id] = delivery
            self._waiting.append(delivery)

    # --- delivery

    def next_batch(self, now: float) -> list[Delivery]:
        """Returns the next deliveries, limited by the size of a message and by `max_outstanding`."""
        batch: list[Delivery] = []
        size = 0
        while self._waiting and len(self._sent) < self._max_outstanding and not self._is_exclusive():
            delivery = self._waiting[0]
            if delivery.state is not State.WAITING:
                self._waiting.popleft()
                continue
            if delivery.alone and self._sent:
                break
            size += delivery.change.size + _DELIVERY_BYTES
            if batch and size > MOST_FRAME_BYTES:
                break
            self._waiting.popleft()
            self._last_id += 1
            delivery.delivery_id, delivery.sent_at, delivery.state = self._last_id, now, State.SENT
            self._sent[self._last_id] = delivery
            batch.append(delivery)
        return batch

    def _is_exclusive(self) -> bool:
        """Reports whether the outstanding delivery must be the only one."""
        return len(self._sent) == 1 and next(iter(self._sent.values())).alone

    def oldest_sent(self) -> float | None:
        """Returns when the oldest outstanding delivery was sent."""
        return next((each.sent_at for each in self._sent.values()), None)

    # --- requests of the member

    def acknowledge(self, delivery_id: int) -> None:
        """Raises InvalidField for a delivery that was never sent."""
        delivery = self._sent_delivery("acknowledge.delivery_ids", delivery_id)
        if delivery is None:
            return
        if delivery.parked_id is None:
            self._owned[delivery.partition].acknowledge(delivery)
        else:
            delivery.state = State.ACKNOWLEDGED

    def reject(self, delivery_id: int, reason: str, *, park: bool) -> None:
        """Raises InvalidField for a delivery that was never sent."""
        delivery = self._sent_delivery("reject.delivery_id", delivery_id)
        if delivery is not None:
            self._owned[delivery.partition].reject(delivery, reason, park=park)
            self.forget_void()

    def _sent_delivery(self, field: str, delivery_id: int) -> Delivery | None:
        if not 0 < delivery_id <= self._last_id:
            raise InvalidField(field, "must name what was delivered on this stream")
        return self._sent.pop(delivery_id, None)

    def forget_void(self) -> None:
        """Forgets void deliveries, so that nothing waits for them."""
        self._sent = {number: each for number, each in self._sent.items() if each.state is State.SENT}


def _has_moved(owned: OwnedPartition, assigned: Partition | None) -> bool:
    return assigned is None or assigned.position != owned.stored
