"""Clients of the HTTP port that send half of a request, or nothing, and too many of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.support.servers.http_gateway import LIST, Gateway, running
from threadkeep_server.domain.model import Caller
from threadkeep_server.transport.connections import ConnectionLimits

MOST = 20
LOGINS = "threadkeep_server.transport.failed_logins"
HEAD = f"POST {LIST} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer tok-1\r\ncontent-type: application/json\r\n"


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    async with running({"tok-1": Caller("acme")}, ConnectionLimits(most=MOST, request_timeout_s=0.5)) as gateway:
        yield gateway


async def _sent(gateway: Gateway, text: str) -> bytes:
    """Sends this, byte after byte from its last 20 on, and returns what comes until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    answer = bytearray()

    async def collect() -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(4096):
                answer.extend(piece)

    async with asyncio.timeout(30):
        collecting = asyncio.create_task(collect())
        writer.write(text[:-20].encode())
        for byte in text[-20:].encode():
            await asyncio.sleep(0.05)
            if not answer and not collecting.done():
                writer.write(bytes([byte]))
        await collecting
    writer.close()
    return bytes(answer)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", b""),
        (HEAD + "x-note: never ends, but bytes come", b"HTTP/1.1 408"),
        (HEAD + "content-length: 100\r\n\r\n" + "x" * 25, b"HTTP/1.1 400"),
        (HEAD.replace("tok-1", "no") + "content-length: 100\r\n\r\n" + "x" * 25, b"HTTP/1.1 401"),
        (HEAD.replace("POST", "PUT") + "transfer-encoding: chunked\r\n\r\nff\r\n" + "x" * 25, b"HTTP/1.1 405"),
    ],
    ids=["nothing", "headers", "body", "body-without-credential", "body-of-another-method"],
)
async def test_a_request_that_does_not_arrive_is_answered_and_its_connection_closed(
    gateway: Gateway, caplog: pytest.LogCaptureFixture, text: str, answer: bytes
) -> None:
    received = await _sent(gateway, text)
    assert received.startswith(answer)
    assert b"HTTP/1.1" not in received[1:], "one answer at most"
    if answer.endswith(b"400"):
        assert b"did not arrive within 0.5 s" in received
    assert not [each for each in caplog.records if each.name != LOGINS]


async def test_connections_beyond_the_limit_are_closed_and_the_others_served() -> None:
    async with running({"tok-1": Caller("acme")}, ConnectionLimits(MOST, 30.0)) as gateway, asyncio.timeout(30):
        first, *_, last = opened = [await asyncio.open_connection("127.0.0.1", gateway.port) for _ in range(MOST + 1)]
        with contextlib.suppress(ConnectionResetError):
            assert await last[0].read() == b""
        first[1].write(f"{HEAD}content-length: 2\r\n\r\n{{}}".encode())
        assert await first[0].readline() == b"HTTP/1.1 200 OK\r\n"
        for _, writer in opened:
            writer.close()


async def test_garbage_after_the_head_of_a_request_is_no_fault(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    """The app waits for the body, or has responded, when the library finds that the rest is no HTTP."""
    for head in (HEAD, HEAD.replace("tok-1", "no")):
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        writer.write(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        await asyncio.sleep(0.1)
        writer.write(b"not a length\r\n")
        async with asyncio.timeout(30):
            with contextlib.suppress(ConnectionResetError):
                await reader.read()
        writer.close()
    said = [each.getMessage() for each in caplog.records if each.name != LOGINS]
    assert said == ["Invalid HTTP request received."] * 2
