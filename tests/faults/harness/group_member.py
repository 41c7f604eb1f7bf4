"""A member of a consumer in a process of its own, which writes what it does into a journal.

`python -m tests.faults.harness.group_member SETTINGS`: SETTINGS is JSON; SIGTERM makes it leave. It works with the SDK,
or on the generated stub, where it sees which of its acknowledgements are confirmed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import grpc
import grpc.aio
from google.protobuf.duration_pb2 import Duration

import threadkeep
from tests.support.servers.reconnect import RECONNECT
from threadkeep.v1 import consumer_service_pb2 as ns
from threadkeep.v1.consumer_service_pb2_grpc import ConsumerServiceStub
from threadkeep.v1.subscription_pb2 import Change
from threadkeep.v1.subscription_service_pb2 import ChangeScope

from .group_journal import Deed, Journal

if TYPE_CHECKING:  # it exists in the stub file alone
    from threadkeep.v1.consumer_service_pb2_grpc import ConsumerServiceAsyncStub

    Call = grpc.aio.StreamStreamCall[ns.ConsumeRequest, ns.ConsumeResponse]

APP, USER = "faults", "group"
# The prefix of the ids of events that cannot be handled.
RAISES, KILLS, PARKS = "raises", "kills", "parks"
Handler = Callable[[Change], Awaitable[None]]


@dataclass(frozen=True)
class Settings:
    """`on_stub`: uses the stub instead of the SDK. `longest`: the longest time to handle a change, in seconds. `cure`: a file;
    once it exists, everything can be handled."""

    address: str
    consumer: str
    member: str
    journal: str
    cure: str
    on_stub: bool = False
    longest: float = 0.01
    ack_timeout: float = 8.0
    max_attempts: int = 1000
    max_outstanding: int = 32
    partitions: int = 16


class PoisonError(Exception):
    pass


def handler(settings: Settings, journal: Journal) -> Handler:
    cure = Path(settings.cure)

    async def handle(change: Change) -> None:
        journal.note(settings.member, Deed.BEGUN, change)
        await asyncio.sleep(random.uniform(0, settings.longest))
        try:
            if not cure.exists():  # noqa: ASYNC240 - nothing else runs here that it could block
                await _suffer(change, settings.member, journal)
        except Exception:
            journal.note(settings.member, Deed.FAILED, change)
            raise
        journal.note(settings.member, Deed.DONE, change)

    return handle


async def _suffer(change: Change, member: str, journal: Journal) -> None:
    for event in change.batch.events:
        if event.event_id.startswith(RAISES):
            raise PoisonError(event.event_id)
        if event.event_id.startswith(PARKS):
            raise threadkeep.Park(f"no use: {event.event_id}")
        if event.event_id.startswith(KILLS):
            # Waits for other deliveries first, which would otherwise count failed attempts and be parked.
            await asyncio.sleep(2)
            journal.note(member, Deed.ALL_KILLS)
            os.kill(os.getpid(), signal.SIGKILL)


# --- with the SDK


async def work(settings: Settings, handle: Handler, stop: asyncio.Event) -> None:
    async with threadkeep.AsyncClient(settings.address, app=APP, user_id=USER, options=RECONNECT) as client:
        await client.consumer(settings.consumer).run(
            lambda delivery: handle(delivery.pb.change),
            from_beginning=True,
            member_id=settings.member,
            max_outstanding=settings.max_outstanding,
            max_attempts=settings.max_attempts,
            ack_timeout=timedelta(seconds=settings.ack_timeout),
            partitions=settings.partitions,
            stop=stop,
        )


# --- on the stub


async def work_on_stub(settings: Settings, handle: Handler, stop: asyncio.Event, journal: Journal) -> None:
    async with grpc.aio.insecure_channel(settings.address, RECONNECT) as channel:
        stub = cast("ConsumerServiceAsyncStub", ConsumerServiceStub(channel))
        while not stop.is_set():
            try:
                await _serve(stub.Consume(), settings, handle, stop, journal)
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):  # the latter means that the call has ended
                await asyncio.sleep(0.1)


async def _serve(call: Call, settings: Settings, handle: Handler, stop: asyncio.Event, journal: Journal) -> None:
    """Handles the deliveries of one stream, and leaves on request."""
    await call.write(ns.ConsumeRequest(join=_join(settings)))
    waiting: asyncio.Queue[ns.Delivery | None] = asyncio.Queue()
    reading = asyncio.create_task(_read(call, settings.member, waiting, journal))
    stopping = asyncio.create_task(stop.wait())
    for end in (reading, stopping):
        end.add_done_callback(lambda _: waiting.put_nowait(None))
    try:
        while (delivery := await waiting.get()) is not None and not reading.done() and not stop.is_set():
            await handle(delivery.change)
            await call.write(ns.ConsumeRequest(acknowledge=ns.Acknowledge(delivery_ids=[delivery.delivery_id])))
        if not reading.done():
            await call.done_writing()
        await reading
    finally:
        stopping.cancel()
        reading.cancel()


async def _read(call: Call, member: str, waiting: asyncio.Queue[ns.Delivery | None], journal: Journal) -> None:
    given: dict[int, Change] = {}
    while isinstance(frame := await call.read(), ns.ConsumeResponse):
        for delivery in frame.deliveries:
            given[delivery.delivery_id] = delivery.change
            waiting.put_nowait(delivery)
        for delivery_id in frame.acknowledged_ids:
            journal.note(member, Deed.CONFIRMED, given.pop(delivery_id))


def _join(settings: Settings) -> ns.JoinConsumer:
    timeout = Duration()
    timeout.FromTimedelta(timedelta(seconds=settings.ack_timeout))
    return ns.JoinConsumer(
        name=settings.consumer,
        scope=ChangeScope(app=APP, user_id=USER),
        from_beginning=True,
        member_id=settings.member,
        max_outstanding=settings.max_outstanding,
        max_attempts=settings.max_attempts,
        ack_timeout=timeout,
        partitions=settings.partitions,
    )


async def main(settings: Settings) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    journal = Journal(Path(settings.journal))
    handle = handler(settings, journal)
    if settings.on_stub:
        await work_on_stub(settings, handle, stop, journal)
    else:
        await work(settings, handle, stop)


if __name__ == "__main__":
    asyncio.run(main(Settings(**json.loads(sys.argv[1]))))
