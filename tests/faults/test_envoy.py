"""A server behind Envoy: one port, and what happens when either process ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import threadkeep
from tests.support.servers.server_process import ForkServer, ServerProcess
from threadkeep import errors

from .conftest import ServerMaker
from .harness.ledger import connect

BIG = "x" * 10_000_000
READ = "/threadkeep.v1.SessionService/ListSessions"
APPEND = "/threadkeep.v1.EventService/AppendEvents"
# RFC 9113: the preface of a client, an empty frame of settings, and the setting of a stream's window.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
INITIAL_WINDOW_SIZE = 4
# Again and again: Envoy handles the signal from some moment of its start on.
IGNORE_SIGTERM = """
import ctypes, threading, time

def ignore():
    while True:
        ctypes.CDLL(None).signal(15, ctypes.c_void_p(1))
        time.sleep(0.01)

threading.Thread(target=ignore, daemon=True).start()
"""


@pytest.fixture
def server(make_server: ServerMaker) -> ServerProcess:
    return make_server(frontend="envoy", drain_grace="5s").start()


@pytest.fixture(scope="module")
def shared(servers: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that no test ends."""
    with ServerProcess(servers, tmp_path_factory.mktemp("envoy"), frontend="envoy") as opened:
        yield opened.start()


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


def children(pid: int, name: str) -> int:
    """Returns the number of a process's children with this name in their command."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            found += parent == pid and name in (folder / "cmdline").read_text()
    return found


async def test_one_port_serves_grpc_and_http(shared: ServerProcess) -> None:
    async with connect(shared.address) as client:
        await client.append("s", threadkeep.user(BIG), create_if_missing=True)
        [event] = [event async for event in client.events("s")]
        assert event.text == BIG
        with pytest.raises(errors.SessionNotFound):
            await client.get_session("missing")
    for path in ("healthz", "readyz"):
        with await asyncio.to_thread(urlopen, f"http://{shared.address}/{path}") as response:
            assert response.status == 200


def test_a_path_that_is_no_utf8_is_refused(shared: ServerProcess) -> None:
    """pyvoy leaves such a request without an answer."""

    def status(name: str) -> int:
        with contextlib.closing(HTTPConnection(shared.address, timeout=30)) as connection:
            connection.request("GET", f"/no/{name}")
            return connection.getresponse().status

    refused = ("%FF", "%C3", "%C0%80", "%E0%80%80", "%ED%A0%80", "%F4%90%80%80")
    assert {name: status(name) for name in refused} == dict.fromkeys(refused, 403)
    served = ("%25", "%C3%A9", "%E2%82%AC", "%ED%9F%BF", "%F0%9F%8D%8F")
    assert {name: status(name) for name in served} == dict.fromkeys(served, 404)


@pytest.mark.parametrize(
    ("method", "kind"),
    [("POST", "application/proto"), ("POST", "application/json"), ("GET", "")],
)
def test_a_call_without_a_body_is_answered(shared: ServerProcess, method: str, kind: str) -> None:
    """pyvoy's `receive` returns at once after the end of a request; waiting for its end stopped the server."""
    path = f"{READ}?encoding=json&message=%7B%7D" if method == "GET" else READ
    with contextlib.closing(HTTPConnection(shared.address, timeout=30)) as connection:
        connection.request(method, path, headers={"content-type": kind} if kind else {})
        assert connection.getresponse().status == 200


def test_the_end_of_a_call_over_http_leaves_no_error_in_the_log(shared: ServerProcess) -> None:
    """pyvoy reports its own event also where receiving was canceled."""
    for _ in range(5):
        with contextlib.closing(HTTPConnection(shared.address, timeout=30)) as connection:
            connection.request("POST", READ, b"{}", {"content-type": "application/json"})
            assert connection.getresponse().status == 200
    assert "Exception" not in shared.log


def test_no_other_process_can_share_the_port(shared: ServerProcess) -> None:
    """Two servers on one port would each receive half of the calls."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        with pytest.raises(OSError, match="Address already in use"):
            other.bind(("127.0.0.1", shared.port))


def test_a_client_may_send_one_mib_of_a_stream_that_is_not_read(shared: ServerProcess) -> None:
    """Envoy's default is 16 MiB, for each of a client's streams."""
    with socket.create_connection(("127.0.0.1", shared.port), timeout=30) as connection:
        connection.sendall(PREFACE)
        frame = connection.makefile("rb")
        header = frame.read(9)
        assert header[3] == INITIAL_WINDOW_SIZE  # the type of a frame of settings is 4 too
        settings = dict(struct.iter_unpack(">HI", frame.read(int.from_bytes(header[:3]))))
    assert settings[INITIAL_WINDOW_SIZE] == 1 << 20


async def test_connections_beyond_the_limit_are_closed_and_the_others_served(make_server: ServerMaker) -> None:
    server = make_server(frontend="envoy")
    server.open_files = 400
    server.start()

    def is_closed(connection: socket.socket) -> bool:
        try:
            return connection.recv(1) == b""
        except ConnectionResetError:
            return True
        except BlockingIOError:
            return False

    async with connect(server.address) as client, contextlib.AsyncExitStack() as opened:
        await client.append("s", threadkeep.user("before"), create_if_missing=True)
        idle = [opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30)) for _ in range(400)]
        for connection in idle:
            connection.setblocking(False)
        wait_until(lambda: sum(map(is_closed, idle)) > len(idle) - 144)
        assert sum(map(is_closed, idle)) == 400 - 144 + 1, "144 with the client's own"
        await client.append("s", threadkeep.user("meanwhile"))
    async with connect(server.address) as client:
        assert len([event async for event in client.events("s")]) == 2


async def test_thousands_of_streams_of_a_connection_receive_every_change(shared: ServerProcess) -> None:
    count = 2_000
    async with connect(shared.address) as client:
        await client.append("many", threadkeep.user("first"), create_if_missing=True)
        streams = [client.watch("many", after_seq=0) for _ in range(count)]
        first = await asyncio.gather(*(anext(stream) for stream in streams))
        await client.append("many", threadkeep.user("second"))
        second = await asyncio.gather(*(anext(stream) for stream in streams))
        for stream in streams:
            await stream.aclose()
    assert len(first) == len(second) == count


def test_an_http_call_in_flight_completes_while_the_server_drains(server: ServerProcess) -> None:
    session = {"app": "faults", "userId": "u", "sessionId": "s"}
    event = {"eventId": "e", "message": {"role": "ROLE_USER", "parts": [{"text": "hi"}]}}
    body = json.dumps({"session": session, "events": [event], "createIfMissing": {}}).encode()

    def health() -> int:
        with contextlib.closing(HTTPConnection(server.address, timeout=30)) as other:
            other.request("GET", "/healthz")
            return other.getresponse().status

    with contextlib.closing(HTTPConnection(server.address, timeout=30)) as connection:
        connection.putrequest("POST", APPEND)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:20])
        assert health() == 200  # so the call has begun
        os.kill(server.pid, signal.SIGTERM)
        wait_until(lambda: health() != 200)
        time.sleep(0.5)  # a server with no calls in flight has ended by now
        connection.send(body[20:])
        response = connection.getresponse()
        assert (response.status, json.load(response)["events"][0]["seq"]) == (200, "1")
    assert server.wait() == 0


async def test_settings_with_many_tokens_reach_the_server(make_server: ServerMaker, tmp_path: Path) -> None:
    tokens = [f"{number:064}" for number in range(2_000)]
    file = tmp_path / "tokens.toml"
    file.touch(mode=0o600)
    file.write_text("\n".join(f'{token} = {{tenant = "default"}}' for token in tokens))
    server = make_server(frontend="envoy", auth_tokens_file=file).start()
    async with threadkeep.AsyncClient(server.address, app="faults", user_id="u", token=tokens[-1]) as client:
        await client.append("s", threadkeep.user("hi"), create_if_missing=True)


async def test_the_process_that_analyzes_events_runs_behind_envoy(servers: ForkServer, tmp_path: Path) -> None:
    """Envoy is not a Python that can be started."""
    with ServerProcess(servers, tmp_path, frontend="envoy", search_index=False) as without:
        async with connect(without.start().address) as client:
            for _ in range(8):
                await client.append("s", *(threadkeep.user(f"event {number}") for number in range(50)), create_if_missing=True)
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("with one core the server analyzes events itself")
    with ServerProcess(servers, tmp_path, frontend="envoy") as server:
        async with connect(server.start().address) as client:
            while (await client.info()).search_index.lag_batches:  # noqa: ASYNC110 - nothing signals it
                await asyncio.sleep(0.05)
        assert children(server.serving_pid, "deriving_process") == 1
        assert "failed" not in server.log


async def test_sigterm_drains_and_exits_with_zero(server: ServerProcess) -> None:
    async with connect(server.address) as client:
        await client.append("s", threadkeep.user("before"), create_if_missing=True)

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


def shared_memory() -> set[Path]:
    return set(Path("/dev/shm").glob("envoy_shared_memory_*"))


async def test_envoy_dies_with_its_parent_and_nothing_acknowledged_is_lost(make_server: ServerMaker) -> None:
    before = shared_memory()
    server = make_server(frontend="envoy", prelude=IGNORE_SIGTERM).start()
    async with connect(server.address) as client:
        await client.append("s", threadkeep.user("kept"), create_if_missing=True)
    envoy = server.serving_pid
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    wait_until(lambda: not Path(f"/proc/{envoy}").exists() and is_free(server.port))
    assert shared_memory() <= before
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
