"""The state of a consumer's member: deliveries to handle and acknowledgements to send. Both clients use it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from ..v1 import consumer_service_pb2 as ns

FAREWELL = 10.0
"""Seconds that a leaving member waits until the server confirms its acknowledgements."""


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

    def reject(self, delivery: ns.Delivery, error: BaseException) -> None:
        """Rejects a delivery that could not be handled because of this error."""
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


class Work(NamedTuple):
    """A delivery and its member."""

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
