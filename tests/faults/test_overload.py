"""More connections and calls at a time than the server handles, and half-sent requests: others are not shut out."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio

import threadkeep
from tests.support.servers.server_process import ServerProcess, free_port
from threadkeep.v1.server_service_pb2 import GetServerInfoRequest
from threadkeep.v1.server_service_pb2_grpc import ServerServiceStub

from .conftest import ServerMaker
from .harness.ledger import connect

MANY = 300
CALLS = 4_000
"""gRPC itself cancels some of more than 1,000 calls that wait for the event loop, and all of more than 3,000."""
HALF = b"POST /threadkeep.v1.EventService/AppendEvents HTTP/1.1\r\nhost: x\r\ncontent-le"
# RFC 9113: the preface of a client, and an empty frame of settings.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def is_closed(connection: socket.socket) -> bool:
    try:
        while connection.recv(4096):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def flood(opened: contextlib.AsyncExitStack, port: int, count: int, sent: bytes) -> list[socket.socket]:
    connections = []
    for _ in range(count):
        connection = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        with contextlib.suppress(OSError):  # one beyond the limit is closed
            connection.sendall(sent)
        connection.setblocking(False)
        connections.append(connection)
    return connections


async def test_half_sent_requests_are_closed_and_do_not_shut_others_out(make_server: ServerMaker) -> None:
    port = free_port()
    server = make_server(http_address=f"127.0.0.1:{port}", request_timeout="3s")
    server.open_files = 400
    server.start()
    async with connect(server.address) as client, contextlib.AsyncExitStack() as opened:
        await client.append("s", threadkeep.user("before"), create_if_missing=True)
        half_sent = flood(opened, port, MANY, HALF)
        await client.append("s", threadkeep.user("meanwhile"))
        wait_until(lambda: all(map(is_closed, half_sent)))
    async with connect(server.address) as another:
        assert [event.text async for event in another.events("s")] == ["before", "meanwhile"]
    assert "Traceback" not in server.log


async def test_grpc_connections_beyond_the_limit_are_closed_and_the_others_served(make_server: ServerMaker) -> None:
    most = 20
    server = make_server(max_connections=most, request_timeout="60s").start()
    async with connect(server.address) as client, contextlib.AsyncExitStack() as opened:
        await client.append("s", threadkeep.user("before"), create_if_missing=True)
        idle = flood(opened, server.port, 2 * most, PREFACE)
        wait_until(lambda: sum(map(is_closed, idle)) > most)
        assert sum(map(is_closed, idle)) == most + 1, "the client has a connection too"
        await client.append("s", threadkeep.user("meanwhile"))


async def _burst(server: ServerProcess) -> Counter[grpc.StatusCode]:
    """Returns the codes of calls that arrive at once, without retries."""
    async with grpc.aio.insecure_channel(server.address, (("grpc.enable_retries", 0),)) as channel:
        stub: Any = ServerServiceStub(channel)

        async def code() -> grpc.StatusCode:
            call = stub.GetServerInfo(GetServerInfoRequest(), timeout=120)
            return grpc.StatusCode(await call.code())

        return Counter(await asyncio.gather(*(code() for _ in range(CALLS))))


async def test_thousands_of_calls_at_once_are_all_answered(make_server: ServerMaker) -> None:
    assert await _burst(make_server().start()) == {grpc.StatusCode.OK: CALLS}


async def test_a_call_beyond_the_limit_of_its_connection_waits_for_another_to_end(make_server: ServerMaker) -> None:
    server = make_server(max_connection_calls=2).start()
    async with connect(server.address) as client, connect(server.address) as another:
        await client.append("s", threadkeep.user("before"), create_if_missing=True)
        watches = [client.watch("s", after_seq=0) for _ in range(2)]
        for watch in watches:
            await anext(watch)
        held_back = asyncio.create_task(client.append("s", threadkeep.user("held back")))
        await another.append("s", threadkeep.user("meanwhile"))
        assert not held_back.done()
        await watches[0].aclose()
        await held_back
        assert [event.text async for event in another.events("s")] == ["before", "meanwhile", "held back"]
        await watches[1].aclose()
