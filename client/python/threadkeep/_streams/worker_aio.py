"""Working for a consumer, in tasks; `worker_threads` does the same with threads, for the synchronous client.

Neither is generated from the other: tasks can be canceled and wait for two events at once, threads cannot.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import grpc.aio

from ..errors import ThreadkeepError, Unavailable
from ..v1 import consumer_service_pb2 as ns
from . import changes, deliveries
from .backoff import Backoff
from .deliveries import Delivery, Lanes, Member, Work, settle
from .frames_aio import Frames, pause

Open = Callable[[AsyncIterator[ns.ConsumeRequest]], Awaitable[grpc.aio.StreamStreamCall[ns.ConsumeRequest, ns.ConsumeResponse]]]


class Worker:
    """Handles deliveries as one member after another, until `stop` is set."""

    def __init__(
        self,
        open_stream: Open,
        handler: Callable[[Delivery], Awaitable[object]],
        concurrency: int,
        stop: asyncio.Event | None,
        address: str,
    ) -> None:
        self._open, self._handler, self._address = open_stream, handler, address
        self._slots = asyncio.Semaphore(concurrency)
        self._stop = stop or asyncio.Event()
        self._lanes = Lanes()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, join: ns.JoinConsumer) -> None:
        """Joins, works, and rejoins when a stream breaks. Raises errors that no retry resolves. Canceling cancels handlers."""
        backoff = Backoff()
        try:
            while not self._stop.is_set():
                try:
                    await self._serve(join, backoff)
                except ThreadkeepError as error:
                    if not self._stop.is_set():
                        await pause(backoff.pause(error), self._stop)
            await self._idle()
        finally:
            for task in self._tasks:
                task.cancel()
            await self._idle()

    async def _serve(self, join: ns.JoinConsumer, backoff: Backoff) -> None:
        """Serves one stream to its end."""
        wake = asyncio.Event()
        member = Member(wake.set)
        call = await self._open(_requests(join, member, wake))
        farewell = asyncio.create_task(self._leave(member, call))
        try:
            async with Frames(call, changes.SILENCE, self._address) as frames:
                async for frame in frames:
                    backoff.reset()
                    if frame.HasField("joined"):
                        member.joined(frame.joined)
                    for delivery in frame.deliveries:
                        self._begin(Work(member, delivery))
        finally:
            farewell.cancel()
            member.leave()
            self._lanes.drop_waiting()
        if not self._stop.is_set():
            raise Unavailable("the server ended the stream")

    async def _leave(self, member: Member, call: grpc.aio.StreamStreamCall[ns.ConsumeRequest, ns.ConsumeResponse]) -> None:
        """Waits for `stop`, finishes running handlers, and gives the server time to confirm by ending the stream."""
        await self._stop.wait()
        member.stop()
        await self._idle()
        member.leave()
        await asyncio.sleep(deliveries.FAREWELL)
        call.cancel()

    def _begin(self, work: Work) -> None:
        if self._lanes.add(work):
            task = asyncio.create_task(self._work(work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, first: Work) -> None:
        """Handles the deliveries of a lane until it is empty."""
        work: Work | None = first
        while work is not None:
            async with self._slots:
                if work.member.counts(work.delivery):
                    await self._handle(work)
            work = self._lanes.after(work)

    async def _handle(self, work: Work) -> None:
        delivery = Delivery(work.member, work.delivery)
        try:
            await self._handler(delivery)
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            settle(delivery, error)
        else:
            settle(delivery)

    async def _idle(self) -> None:
        """Waits until no handler runs."""
        while self._tasks:
            await asyncio.wait(self._tasks)


async def _requests(join: ns.JoinConsumer, member: Member, wake: asyncio.Event) -> AsyncIterator[ns.ConsumeRequest]:
    """The requests of a member. Acknowledgements that gather during one request are sent together. The end half-closes."""
    yield ns.ConsumeRequest(join=join)
    leaving = False
    while not leaving:
        await wake.wait()
        wake.clear()
        leaving = member.leaving  # read first, so that requests made before leaving are sent
        for request in member.take():
            yield request
