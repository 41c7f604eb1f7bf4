"""The order in which the gRPC server accepts calls of a client that has many in flight."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import grpc

from threadkeep.v1 import event_service_pb2 as pb
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.grpc.server import serve_grpc
from threadkeep_server.transport.rpc import Service

READS = 300
BEFORE = 10
"""Reads that are over when the append is sent: by then all reads have arrived."""


class Servicer:
    """Answers everything; reads hold the event loop for a while."""

    def __init__(self) -> None:
        self.reads = 0
        self.reading = threading.Event()

    async def ListEvents(self, *_: Any) -> pb.ListEventsResponse:
        time.sleep(0.002)  # noqa: ASYNC251 - as work would
        self.reads += 1
        if self.reads == BEFORE:
            self.reading.set()
        return pb.ListEventsResponse()

    async def AppendEvents(self, *_: Any) -> pb.AppendEventsResponse:
        return pb.AppendEventsResponse(last_seq=1 + self.reads)

    def __getattr__(self, name: str) -> Any:
        return None


async def test_an_append_does_not_wait_behind_the_reads_that_came_before_it() -> None:
    servicer = Servicer()
    service = Service(pb.DESCRIPTOR.services_by_name["EventService"], servicer)
    serving = serve_grpc([service], Authenticator({}), "127.0.0.1:0", max_request_bytes=1 << 20, drain_grace=0.2)
    async with serving as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        read: Any = channel.unary_unary("/threadkeep.v1.EventService/ListEvents")
        appended = asyncio.ensure_future(asyncio.to_thread(append, port, servicer.reading))
        await asyncio.gather(*(read(b"") for _ in range(READS)))
        assert servicer.reads == READS
        assert (await appended).last_seq < READS // 2


def append(port: int, reading: threading.Event) -> pb.AppendEventsResponse:
    """Has a thread of its own: the event loop of the reads is busy, and would send the append late."""
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=30)
        assert reading.wait(timeout=30)
        call: Any = channel.unary_unary(
            "/threadkeep.v1.EventService/AppendEvents", response_deserializer=pb.AppendEventsResponse.FromString
        )
        return call(b"", timeout=30)
