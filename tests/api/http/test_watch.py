"""Subscriptions over the HTTP port, as in a browser: Connect and gRPC-Web."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from tests.support.servers.http_gateway import frame
from tests.support.subscriptions import WATCH_ALL, WATCH_SESSION, FakeSubscriptions, service_of
from threadkeep.v1 import subscription_service_pb2 as pb
from threadkeep_server.domain.model import Caller
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.http.server import http_app, serve_http

JSON, PROTO, WEB = "application/connect+json", "application/connect+proto", "application/grpc-web+proto"
PAGE = "http://localhost:5173"


@dataclass
class Stream:
    """A response as it arrives: HTTP/1.1 chunks, in which frames are read."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    status: int
    headers: dict[str, str]
    _left: bytearray = field(default_factory=bytearray)

    async def frame(self) -> tuple[int, bytes]:
        """Returns the flags and the payload of the next frame."""
        head = await self._take(5)
        return head[0], await self._take(int.from_bytes(head[1:]))

    async def _take(self, size: int) -> bytes:
        while len(self._left) < size:
            length = int(await self.reader.readline(), 16)
            assert length, "the answer ends in the middle of a frame"
            self._left += (await self.reader.readexactly(length + 2))[:-2]
        taken = bytes(self._left[:size])
        del self._left[:size]
        return taken

    async def leave(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


@dataclass
class Port:
    number: int
    servicer: FakeSubscriptions

    @contextlib.asynccontextmanager
    async def post(self, path: str, kind: str, body: bytes, *more: str) -> AsyncIterator[Stream]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.number)
        lines = [f"POST {path} HTTP/1.1", "host: h", f"content-type: {kind}", f"content-length: {len(body)}", *more]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        status = int((await reader.readline()).split()[1])
        headers = {}
        while line := (await reader.readline()).decode().strip():
            name, _, value = line.partition(": ")
            headers[name] = value
        stream = Stream(reader, writer, status, headers)
        try:
            yield stream
        finally:
            await stream.leave()

    def watch(self, session_id: str, kind: str = PROTO, *more: str) -> contextlib.AbstractAsyncContextManager[Stream]:
        if kind == JSON:
            request = json.dumps({"session": {"sessionId": session_id}}).encode()
        else:
            message = pb.WatchSessionRequest()
            message.session.session_id = session_id
            request = message.SerializeToString()
        return self.post(WATCH_SESSION, kind, frame(request), *more)


@contextlib.asynccontextmanager
async def _port(tokens: dict[str, Caller], grace_s: float = 10.0) -> AsyncIterator[Port]:
    async def ready() -> None:
        pass

    servicer = FakeSubscriptions()
    app = http_app([service_of(servicer)], Authenticator(tokens), ready=ready, max_bytes=10_000)
    async with serve_http(app, "127.0.0.1", 0, grace_s=grace_s) as number:
        yield Port(number, servicer)


@pytest.fixture
async def port() -> AsyncIterator[Port]:
    async with _port({}) as port:
        yield port


def _token(payload: bytes) -> str:
    return pb.WatchSessionResponse.FromString(payload).changes[0].resume_token


@pytest.mark.parametrize(("kind", "end"), [(PROTO, (2, b"{}")), (WEB, (0x80, b"grpc-status: 0\r\n"))])
async def test_changes_are_frames_and_the_stream_has_an_end(port: Port, kind: str, end: tuple[int, bytes]) -> None:
    async with port.watch("s1", kind, f"origin: {PAGE}") as stream:
        assert (stream.status, stream.headers["content-type"]) == (200, kind)
        assert stream.headers["access-control-allow-origin"] == "*"
        result = [_token((await stream.frame())[1]) for _ in range(3)]
        assert result[1:] == ["2", "3"]
        assert await stream.frame() == end


async def test_changes_are_sent_as_json(port: Port) -> None:
    async with port.watch("s1", JSON) as stream:
        await stream.frame()
        assert json.loads((await stream.frame())[1]) == {"changes": [{"resumeToken": "2"}]}
    async with port.post(WATCH_ALL, JSON, frame(b'{"scope":{"userId":"ann"},"liveOnly":true}')) as stream:
        first = json.loads((await stream.frame())[1])
        assert first["changes"][0]["resumeToken"].endswith("/ann")


async def test_a_change_is_sent_before_the_next_one_is_made(port: Port) -> None:
    async with port.watch("idle") as stream:
        assert _token((await asyncio.wait_for(stream.frame(), 30))[1]).endswith("/idle")
        assert port.servicer.open == 1


@pytest.mark.parametrize("kind", [JSON, PROTO, WEB])
@pytest.mark.parametrize("session_id", ["idle", "flood"])
async def test_a_disconnect_releases_the_subscription(port: Port, session_id: str, kind: str) -> None:
    async with port.watch(session_id, kind) as stream:
        await stream.frame()
    await asyncio.wait_for(port.servicer.freed.wait(), 30)
    assert port.servicer.open == 0


async def test_a_client_that_stops_reading_blocks_the_stream(port: Port) -> None:
    async with port.watch("flood") as stream:
        await stream.frame()
        sent = -1
        while sent != port.servicer.sent:
            sent = port.servicer.sent
            await asyncio.sleep(0.3)
        assert sent < 32
        assert port.servicer.open == 1


async def test_an_idle_stream_ends_only_by_the_clients_deadline(port: Port) -> None:
    async with port.watch("idle", PROTO, "connect-timeout-ms: 100") as stream:
        flags = 0
        while not flags:  # the deadline of a busy machine may come before the first change
            flags, end = await asyncio.wait_for(stream.frame(), 30)
        assert (flags, json.loads(end)["error"]["code"]) == (2, "deadline_exceeded")
    async with port.watch("idle") as stream:
        await stream.frame()
        with pytest.raises(TimeoutError):
            # Longer than the timeouts of the port: an idle connection is kept for 5 s.
            await asyncio.wait_for(stream.frame(), 6)


@pytest.mark.parametrize(
    ("session_id", "code", "reason"), [("gone", "not_found", "SESSION_NOT_FOUND"), ("drain", "unavailable", "SERVER_DRAINING")]
)
async def test_a_stream_that_fails_ends_with_the_error(port: Port, session_id: str, code: str, reason: str) -> None:
    async with port.watch(session_id, JSON) as stream:
        flags, payload = await stream.frame()
        if session_id == "drain":
            assert "changes" in json.loads(payload)
            flags, payload = await stream.frame()
        error = json.loads(payload)["error"]
        assert (flags, error["code"], error["details"][0]["debug"]["reason"]) == (2, code, reason)


async def test_a_second_request_on_a_stream_is_rejected(port: Port) -> None:
    async with port.post(WATCH_SESSION, JSON, frame(b"{}") * 2) as stream:
        _, end = await stream.frame()
        assert json.loads(end)["error"]["code"] == "unimplemented"
    assert not port.servicer.freed.is_set()


async def test_shutdown_ends_open_streams() -> None:
    async with _port({}, grace_s=0.2) as port:
        reading = port.watch("idle")
        stream = await reading.__aenter__()
        await stream.frame()
    assert port.servicer.freed.is_set()
    await reading.__aexit__(None, None, None)


async def test_a_stream_without_a_token_is_rejected() -> None:
    async with _port({"tok-1": Caller("acme")}) as port:
        async with port.watch("s1") as stream:
            flags, end = await stream.frame()
            assert (flags, json.loads(end)["error"]["code"]) == (2, "unauthenticated")
        async with port.watch("s1", PROTO, "authorization: Bearer tok-1") as stream:
            assert _token((await stream.frame())[1]) == "acme/s1"


@pytest.mark.parametrize(("method", "status", "says"), [("GET", 405, "send frames by POST"), ("POST", 415, "ListEvents")])
async def test_a_stream_rejects_get_and_plain_json(port: Port, method: str, status: int, says: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port.number)
    path = f"{WATCH_SESSION}?encoding=json&message=%7B%7D"
    writer.write(f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert says in answer
