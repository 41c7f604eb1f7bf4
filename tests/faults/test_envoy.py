"""A server behind Envoy: one port, and what happens when either process ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import threadkeep
from tests.support.servers.server_process import ServerProcess
from threadkeep import errors

from .conftest import ServerMaker
from .harness.ledger import connect

BIG = "x" * 10_000_000


@pytest.fixture
def server(make_server: ServerMaker) -> ServerProcess:
    return make_server(frontend="envoy", drain_grace="5s").start()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextlib.contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        probe.listen()
        yield probe


def is_free(port: int) -> bool:
    with contextlib.suppress(OSError), listening(port):
        return True
    return False


async def test_one_port_serves_grpc_and_http(server: ServerProcess) -> None:
    async with connect(server.address) as client:
        await client.append("s", threadkeep.user(BIG), create=True)
        [event] = [event async for event in client.events("s")]
        assert event.text == BIG
        with pytest.raises(errors.SessionNotFound):
            await client.get_session("missing")
    for path in ("healthz", "readyz"):
        with await asyncio.to_thread(urlopen, f"http://{server.address}/{path}") as response:
            assert response.status == 200


def test_a_path_that_is_no_utf8_is_refused(server: ServerProcess) -> None:
    """pyvoy leaves such a request without an answer."""

    def status(name: str) -> int:
        with contextlib.closing(HTTPConnection(server.address, timeout=30)) as connection:
            connection.request("GET", f"/no/{name}")
            return connection.getresponse().status

    refused = ("%FF", "%C3", "%C0%80", "%E0%80%80", "%ED%A0%80", "%F4%90%80%80")
    assert {name: status(name) for name in refused} == dict.fromkeys(refused, 403)
    served = ("%25", "%C3%A9", "%E2%82%AC", "%ED%9F%BF", "%F0%9F%8D%8F")
    assert {name: status(name) for name in served} == dict.fromkeys(served, 404)


async def test_sigterm_drains_and_exits_with_zero(server: ServerProcess) -> None:
    async with connect(server.address) as client:
        await client.append("s", threadkeep.user("before"), create=True)

        async def batches() -> AsyncIterator[tuple[str, list[Any]]]:
            yield "s", [threadkeep.user("on the stream")]
            await asyncio.Event().wait()

        results = client.append_stream(batches())
        assert (await anext(results)).appended.events[0].seq == 2
        os.kill(server.pid, signal.SIGTERM)
        with pytest.raises(errors.ServerDraining):
            await anext(results)
    assert await asyncio.to_thread(server.wait) == 0
    assert "stopped" in server.log
    server.start()
    async with connect(server.address) as client:
        assert (await client.get_session("s")).last_seq == 2


async def test_envoy_dies_with_its_parent_and_nothing_acknowledged_is_lost(server: ServerProcess) -> None:
    async with connect(server.address) as client:
        await client.append("s", threadkeep.user("kept"), create=True)
    envoy = server.serving_pid
    server.kill()
    wait_until(lambda: not Path(f"/proc/{envoy}").exists() and is_free(server.port))
    server.start()
    async with connect(server.address) as client:
        assert [event.text async for event in client.events("s")] == ["kept"]


def test_a_killed_envoy_ends_the_server_with_status_one(server: ServerProcess) -> None:
    os.kill(server.serving_pid, signal.SIGKILL)
    assert server.wait() == 1
    assert "Envoy ended by itself" in server.log


def test_a_port_in_use_is_reported(make_server: ServerMaker) -> None:
    refused = make_server(frontend="envoy")
    with listening(refused.port):
        refused.launch()
        assert refused.wait() == 1
    assert f"Envoy cannot listen on {refused.address}" in refused.log


def test_a_server_waits_for_the_port_of_one_that_is_ending(make_server: ServerMaker) -> None:
    server = make_server(frontend="envoy")
    with listening(server.port):
        server.launch()
        wait_until(lambda: "is in use" in server.log)
    server.wait_until_serving()


def test_a_database_in_use_is_reported_once(server: ServerProcess, make_server: ServerMaker) -> None:
    second = make_server(frontend="envoy")
    second.launch()
    assert second.wait() == 1
    assert second.log.count("cannot serve") == 1
    assert "is in use by another Threadkeep server" in second.log
