"""The state of a consumer's member: deliveries to handle and acknowledgements to send. Both clients use it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from .._log import LOG
from ..v1 import consumer_service_pb2 as ns
from ..values.changes import Change, typed

FAREWELL = 10.0
"""Seconds that a leaving member waits until the server confirms its acknowledgements."""
_MOST_REASON = 1024
"""Characters of a reason that the server accepts."""


class Park(Exception):
    """Raised by a handler to park its change for this reason: it is not delivered again."""


class Member:
    """One Consume stream: its valid deliveries and its outgoing requests, in order; acknowledgements are grouped.

    `wake` is called when there is a request to send. All methods may be called from any thread.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._outgoing: list[ns.ConsumeRequest] = []
        self._rejected: dict[int, int] = {}  # by partition: the attempt that failed
        self._max_attempts = 0
        self._over = False
        self.leaving = False

    def joined(self, joined: ns.Joined) -> None:
        """Stores the limits of the server's answer to the join."""
        self._max_attempts = joined.consumer.max_attempts

    def counts(self, delivery: ns.Delivery) -> bool:
        """Whether to handle the delivery: not if its stream ended, nor if an earlier one of the partition was rejected.

        A rejected delivery is delivered again with all that follow it. Deliveries sent before the rejection are recognized by
        their attempt: no change is delivered more often than the change before it.
        """
        with self._lock:
            if self._over:
                return False
            failed = self._rejected.get(delivery.partition)
            if failed is None or delivery.parked_id:
                return True
            if delivery.attempt <= failed:
                return False
            del self._rejected[delivery.partition]
            return True

    def acknowledge(self, delivery: ns.Delivery) -> None:
        """Acknowledges a delivery that was handled."""
        with self._lock:
            if not self._outgoing or not self._outgoing[-1].HasField("acknowledge"):
                self._outgoing.append(ns.ConsumeRequest(acknowledge=ns.Acknowledge()))
            self._outgoing[-1].acknowledge.delivery_ids.append(delivery.delivery_id)
        self._wake()

    def reject(self, delivery: ns.Delivery, reason: str, *, park: bool) -> None:
        """Rejects a delivery that could not be handled for this reason; `park`: without another attempt."""
        with self._lock:
            comes_again = not park and not delivery.parked_id and delivery.attempt < self._max_attempts
            if comes_again:
                self._rejected[delivery.partition] = delivery.attempt
            LOG.warning(
                "a change of session %r was %s, attempt %d",
                delivery.change.session.session_id,
                "rejected" if comes_again else "parked",
                delivery.attempt,
            )
            reject = ns.Reject(delivery_id=delivery.delivery_id, reason=reason[:_MOST_REASON], park=park)
            self._outgoing.append(ns.ConsumeRequest(reject=reject))
        self._wake()

    def take(self) -> list[ns.ConsumeRequest]:
        """Removes and returns the requests to send."""
        with self._lock:
            outgoing, self._outgoing = self._outgoing, []
            return outgoing

    def stop(self) -> None:
        """Starts no more deliveries; the outcome of running ones is still sent."""
        with self._lock:
            self._over = True

    def leave(self) -> None:
        """Ends the stream after the requests that are waiting."""
        self.stop()
        self.leaving = True
        self._wake()


class Delivery:
    """One change that a handler gets.

    Returning from the handler acknowledges it, raising rejects it, and raising `Park` parks it. The handler may also call
    `acknowledge`, `reject` or `park`, from any thread: the first outcome counts. The next delivery of the partition comes when
    the handler has returned.
    """

    __slots__ = ("_member", "_unsettled", "pb")

    def __init__(self, member: Member, pb: ns.Delivery) -> None:
        self._member = member
        self._unsettled = threading.Lock()
        self.pb = pb

    @property
    def change(self) -> Change:
        """The whole change, never a CheckpointReached."""
        return typed(self.pb.change)

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 1."""
        return self.pb.attempt

    @property
    def partition(self) -> int:
        """The partition of the change: changes of one partition come in order."""
        return self.pb.partition

    @property
    def parked_id(self) -> str:
        """The id of the parked change, if this is a replay; else empty."""
        return self.pb.parked_id

    def acknowledge(self) -> None:
        """Reports that the change was handled; it is not delivered again."""
        if self._settles():
            self._member.acknowledge(self.pb)

    def reject(self, reason: str) -> None:
        """Reports a failure: the change is delivered again after a pause, with those after it, and parked after the last
        attempt. `reason`: stored with the parked change, at most 1,024 characters of it."""
        if self._settles():
            self._member.reject(self.pb, reason, park=False)

    def park(self, reason: str) -> None:
        """Parks the change at once: it is not delivered again until it is replayed. `reason`: as in `reject`."""
        if self._settles():
            self._member.reject(self.pb, reason, park=True)

    def __repr__(self) -> str:
        return f"Delivery({self.change!r}, attempt={self.attempt})"

    def _settles(self) -> bool:
        """Whether this is the first outcome; several threads may report one."""
        return self._unsettled.acquire(blocking=False)


def settle(delivery: Delivery, error: BaseException | None = None) -> None:
    """Reports the end of a handler, unless it has reported the outcome itself. `error`: what it raised."""
    if error is None:
        delivery.acknowledge()
    elif isinstance(error, Park):
        delivery.park(str(error))
    else:
        delivery.reject(f"{type(error).__name__}: {error}")


class Work(NamedTuple):
    """A delivery of a stream and its member."""

    member: Member
    delivery: ns.Delivery


class Lanes:
    """Work by partition, in order. The first item of a lane is running, so each lane has one worker at a time."""

    def __init__(self) -> None:
        self._lanes: dict[int, deque[Work]] = {}
        self._lock = threading.Lock()

    def add(self, work: Work) -> bool:
        """Appends work. Returns whether it is alone in its lane, so that a worker must start."""
        with self._lock:
            lane = self._lanes.setdefault(work.delivery.partition, deque())
            lane.append(work)
            return len(lane) == 1

    def after(self, done: Work) -> Work | None:
        """Removes the finished work, the first of its lane. Returns the next."""
        with self._lock:
            lane = self._lanes[done.delivery.partition]
            lane.popleft()
            if lane:
                return lane[0]
            del self._lanes[done.delivery.partition]
            return None

    def drop_waiting(self) -> None:
        """Removes all work that has not started."""
        with self._lock:
            for lane in self._lanes.values():
                while len(lane) > 1:
                    lane.pop()
