"""Working for a consumer, with threads; `worker_aio` does the same in tasks, for the asynchronous client.

The calling thread reads the stream, handlers run in a pool. A thread cannot be canceled: handlers always finish.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from inspect import iscoroutinefunction
from typing import Any

from ..errors import ThreadkeepError, Unavailable
from ..v1 import consumer_service_pb2 as ns
from . import changes, deliveries
from .backoff import Backoff
from .deliveries import Delivery, Lanes, Member, Work, settle
from .frames_threads import Frames, pause

_GLANCE = 0.1
"""Seconds between two looks at whether to stop: a thread cannot wait for the end of the stream and for that at once."""


class Worker:
    """Handles deliveries as one member after another, until `stop` is set."""

    def __init__(
        self,
        open_stream: Callable[[Iterator[ns.ConsumeRequest]], Any],
        handler: Callable[[Delivery], object],
        concurrency: int,
        stop: threading.Event | None,
        address: str,
    ) -> None:
        if iscoroutinefunction(handler) or iscoroutinefunction(type(handler).__call__):
            raise TypeError("handler is asynchronous and would never run; use AsyncClient")
        self._open, self._handler, self._address = open_stream, handler, address
        self._pool = ThreadPoolExecutor(concurrency, "threadkeep-consumer")
        self._stop = stop or threading.Event()
        self._lanes = Lanes()
        self._under_way = 0
        self._changed = threading.Condition()

    def run(self, join: ns.JoinConsumer) -> None:
        """Joins, works, and joins again when a stream breaks. Raises errors that no retry resolves."""
        backoff = Backoff()
        with self._pool:
            try:
                while not self._stop.is_set():
                    try:
                        self._serve(join, backoff)
                    except ThreadkeepError as error:
                        if not self._stop.is_set():
                            pause(backoff.pause(error), self._stop)
            finally:
                self._idle()

    def _serve(self, join: ns.JoinConsumer, backoff: Backoff) -> None:
        """Serves one stream to its end."""
        wake, ended = threading.Event(), threading.Event()
        member = Member(wake.set)
        call = self._open(_requests(join, member, wake))
        threading.Thread(target=self._leave, args=(member, call, ended), name="threadkeep-farewell", daemon=True).start()
        try:
            with Frames[ns.ConsumeResponse](call, changes.SILENCE, self._address) as frames:
                for frame in frames:
                    backoff.reset()
                    if frame.HasField("joined"):
                        member.joined(frame.joined)
                    for delivery in frame.deliveries:
                        self._begin(Work(member, delivery))
        finally:
            ended.set()
            member.leave()
            self._lanes.drop_waiting()
        if not self._stop.is_set():
            raise Unavailable("the server ended the stream")

    def _leave(self, member: Member, call: Any, ended: threading.Event) -> None:
        """Waits for `stop`, finishes running handlers, and gives the server time to confirm by ending the stream."""
        while not self._stop.wait(_GLANCE):
            if ended.is_set():
                return
        member.stop()
        self._idle()
        member.leave()
        if not ended.wait(deliveries.FAREWELL):
            call.cancel()

    def _begin(self, work: Work) -> None:
        if self._lanes.add(work):
            with self._changed:
                self._under_way += 1
            self._pool.submit(self._work, work)

    def _work(self, work: Work) -> None:
        """One delivery; the next of its lane goes to the end of the pool's queue, behind those of other lanes."""
        if work.member.counts(work.delivery):
            self._handle(work)
        following = self._lanes.after(work)
        if following is not None:
            self._pool.submit(self._work, following)
            return
        with self._changed:
            self._under_way -= 1
            self._changed.notify_all()

    def _handle(self, work: Work) -> None:
        delivery = Delivery(work.member, work.delivery)
        try:
            self._handler(delivery)
        except BaseException as error:
            settle(delivery, error)
        else:
            settle(delivery)

    def _idle(self) -> None:
        """Waits until no handler runs."""
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way)


def _requests(join: ns.JoinConsumer, member: Member, wake: threading.Event) -> Iterator[ns.ConsumeRequest]:
    """The requests of a member. Acknowledgements that gather during one request are sent together. The end half-closes."""
    yield ns.ConsumeRequest(join=join)
    leaving = False
    while not leaving:
        wake.wait()
        wake.clear()
        leaving = member.leaving  # read first, so that requests made before leaving are sent
        yield from member.take()
