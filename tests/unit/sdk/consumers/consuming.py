"""A Consume stream from both its ends: what the fake server says, and the client that works."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from threadkeep import Delivery
from threadkeep.v1 import consumer_service_pb2 as ns
from threadkeep.v1 import subscription_pb2 as su
from threadkeep.v1.consumer_pb2 import Consumer

from ..fake import Fail, FakeServer

GONE = Fail(grpc.StatusCode.UNAVAILABLE)
END = object()


def delivery(number: int, partition: int = 0, attempt: int = 1, parked_id: str = "") -> ns.Delivery:
    """A delivery whose change has its number as the log_version."""
    change = su.Change(versions=su.SessionVersions(log_version=number), batch=su.EventBatch())
    return ns.Delivery(delivery_id=number, partition=partition, change=change, attempt=attempt, parked_id=parked_id)


class Stream:
    """The server's side of one Consume stream, steered by a test. `received` ends with END when the client half-closes."""

    def __init__(self, server: FakeServer, max_attempts: int = 5) -> None:
        self.received: queue.Queue[Any] = queue.Queue()
        self.broken = threading.Event()
        self._outgoing: queue.Queue[Any] = queue.Queue()
        self._joined = ns.Joined(consumer=Consumer(max_attempts=max_attempts), member_id="m")
        server.answers.setdefault("Consume", []).append(self._serve)

    def _serve(self, requests: Iterator[ns.ConsumeRequest], context: grpc.ServicerContext) -> Iterator[ns.ConsumeResponse]:
        context.add_callback(lambda: self.say(END))
        context.add_callback(self.broken.set)
        threading.Thread(target=self._read, args=(requests,), daemon=True).start()
        while (said := self._outgoing.get()) is not END:
            if isinstance(said, Fail):
                said.abort(context)
            yield said

    def _read(self, requests: Iterator[ns.ConsumeRequest]) -> None:
        try:
            for request in requests:
                self.received.put(request)
                if request.HasField("join"):
                    self.say(ns.ConsumeResponse(joined=self._joined))
            self.received.put(END)
        except grpc.RpcError:
            self.received.put(GONE)

    def say(self, what: Any) -> None:
        self._outgoing.put(what)

    def deliver(self, *deliveries: ns.Delivery) -> None:
        self.say(ns.ConsumeResponse(deliveries=deliveries))

    async def hear(self) -> Any:
        """What the client said next."""
        return await asyncio.to_thread(self.received.get, timeout=60)

    async def joined(self) -> ns.JoinConsumer:
        return (await self.hear()).join

    async def acknowledged(self, count: int) -> list[int]:
        """The next ids that are acknowledged, so many."""
        ids: list[int] = []
        while len(ids) < count:
            ids += (await self.hear()).acknowledge.delivery_ids
        return ids


class Consuming:
    """A member at work; `handler` gets the changes, or with `deliveries` the deliveries."""

    def __init__(self, client: Any, flavor: str, handler: Callable[[Any], object], **options: Any) -> None:
        by_delivery = options.pop("deliveries", False)

        def synchronous(each: Delivery) -> None:
            handler(each if by_delivery else each.change)

        async def asynchronous(each: Delivery) -> None:
            await asyncio.to_thread(synchronous, each)

        self.stop: Any = asyncio.Event() if flavor == "async" else threading.Event()
        fit = asynchronous if flavor == "async" else synchronous
        self.task = asyncio.create_task(client.consumer("indexer").run(fit, stop=self.stop, **options))

    async def end(self) -> None:
        """Stops it and waits for it."""
        self.stop.set()
        async with asyncio.timeout(60):
            await self.task


async def leave(consuming: Consuming, stream: Stream) -> None:
    """A clean end, to which the server agrees."""
    consuming.stop.set()
    while await stream.hear() is not END:
        pass
    stream.say(END)
    await consuming.end()
