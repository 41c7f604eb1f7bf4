"""What both clients keep of their work for a consumer: what waits to be handled, and what is to be said of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from .v1 import consumer_service_pb2 as ns

FAREWELL = 10.0
"""Seconds that a member which leaves waits for its acknowledgements to be confirmed."""


class Park(Exception):
    """Raised by a handler: do not deliver this change again, keep it among the parked ones for this reason."""


class Member:
    """One Consume stream: which of its deliveries still count, and what is to be sent, in order, acknowledgements together.

    `wake` is called when there is something to send. All methods may be called from any thread.
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
        """The server's answer to the join."""
        self._max_attempts = joined.consumer.max_attempts

    def counts(self, delivery: ns.Delivery) -> bool:
        """Whether to handle it now: not if its stream is over, nor if one before it in the partition was rejected.

        What follows a rejected delivery comes again with it. What was under way by then is known by its attempt: no change is
        delivered more often than the one before it.
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
        """It has been handled."""
        with self._lock:
            if not self._outgoing or not self._outgoing[-1].HasField("acknowledge"):
                self._outgoing.append(ns.ConsumeRequest(acknowledge=ns.Acknowledge()))
            self._outgoing[-1].acknowledge.delivery_ids.append(delivery.delivery_id)
        self._wake()

    def reject(self, delivery: ns.Delivery, error: BaseException) -> None:
        """It could not be handled, because of this."""
        park = isinstance(error, Park)
        reason = str(error) if park else f"{type(error).__name__}: {error}"
        with self._lock:
            comes_again = not park and not delivery.parked_id and delivery.attempt < self._max_attempts
            if comes_again:
                self._rejected[delivery.partition] = delivery.attempt
            reject = ns.Reject(delivery_id=delivery.delivery_id, reason=reason[:1024], park=park)
            self._outgoing.append(ns.ConsumeRequest(reject=reject))
        self._wake()

    def take(self) -> list[ns.ConsumeRequest]:
        """What is to be sent now."""
        with self._lock:
            outgoing, self._outgoing = self._outgoing, []
            return outgoing

    def stop(self) -> None:
        """No more of its deliveries are begun; of those under way the outcome is still told."""
        with self._lock:
            self._over = True

    def leave(self) -> None:
        """The end: what is to be sent is sent, and nothing after it."""
        self.stop()
        self.leaving = True
        self._wake()


class Work(NamedTuple):
    """A delivery and the member that got it."""

    member: Member
    delivery: ns.Delivery


class Lanes:
    """Work by partition, in order. The first of a lane is under way, so each lane has one worker at a time, whoever's it is."""

    def __init__(self) -> None:
        self._lanes: dict[int, deque[Work]] = {}
        self._lock = threading.Lock()

    def add(self, work: Work) -> bool:
        """Appends it; whether it is alone in its lane, so that a worker has to begin."""
        with self._lock:
            lane = self._lanes.setdefault(work.delivery.partition, deque())
            lane.append(work)
            return len(lane) == 1

    def after(self, done: Work) -> Work | None:
        """Takes off what has been done, the first of its lane; what comes next there."""
        with self._lock:
            lane = self._lanes[done.delivery.partition]
            lane.popleft()
            if lane:
                return lane[0]
            del self._lanes[done.delivery.partition]
            return None

    def drop_waiting(self) -> None:
        """Forgets all that has not begun."""
        with self._lock:
            for lane in self._lanes.values():
                while len(lane) > 1:
                    lane.pop()
