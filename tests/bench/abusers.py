"""A caller that does its worst, as a process: `python -m tests.bench.abusers KIND GRPC_PORT HTTP_PORT SECONDS TOKEN`.

Prints, as JSON, how often it tried and how many of its calls were accepted.
"""

import asyncio
import contextlib
import gzip
import json
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException

import grpc

from tests.bench import payloads

# As found: 10 million values in 19 KB.
VALUES = 10_000_000
AUTHORS = 1_000_000
AT_ONCE = 32
CALLS = 3_000
CONNECTIONS = 1_100
_CALL_S = 60.0


def json_bomb(_: int, port: int, until: float, token: str) -> tuple[int, int]:
    """A small JSON request with many numbers."""
    body = gzip.compress(b'{"filter":{"roles":[' + b"1," * (VALUES - 1) + b"1]}}")
    headers = {"content-type": "application/json", "content-encoding": "gzip", "authorization": f"Bearer {token}"}

    def send() -> bool:
        connection = HTTPConnection("127.0.0.1", port, timeout=_CALL_S)
        with contextlib.closing(connection), contextlib.suppress(OSError, HTTPException):
            connection.request("POST", payloads.LIST, body, headers)
            return connection.getresponse().status == 200
        return False

    return _repeat(send, until)


def grpc_bomb(port: int, _: int, until: float, token: str) -> tuple[int, int]:
    """A small message with many empty events."""
    return _unary(port, payloads.APPEND, b"\x12\x00" * VALUES, until, token)


def filters(port: int, _: int, until: float, token: str) -> tuple[int, int]:
    """A list with many author filters."""
    authors = b"\x32\x00" * AUTHORS
    # A second occurrence of the field of the filter adds to the first.
    return _unary(port, payloads.LIST, payloads.last("mine00000") + b"\x12" + _varint(len(authors)) + authors, until, token)


def calls(port: int, _: int, until: float, token: str) -> tuple[int, int]:
    """Many reads in flight."""

    async def flood() -> tuple[int, int]:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            read: Callable[..., Awaitable[bytes]] = channel.unary_unary(payloads.LIST)
            request, tried, accepted = payloads.last("mine00000"), 0, 0

            async def one() -> None:
                nonlocal tried, accepted
                while time.monotonic() < until:
                    tried += 1
                    try:
                        await read(request, timeout=_CALL_S, metadata=_metadata(token))
                        accepted += 1
                    except grpc.RpcError:
                        await asyncio.sleep(0)

            await asyncio.gather(*(one() for _ in range(CALLS)))
        return tried, accepted

    return asyncio.run(flood())


def connections(grpc_port: int, http_port: int, until: float, _: str) -> tuple[int, int]:
    """Connections that send half a request and wait."""
    opened: list[socket.socket] = []
    with contextlib.ExitStack() as stack:
        for number in range(CONNECTIONS):
            with contextlib.suppress(OSError):
                one = stack.enter_context(socket.create_connection(("127.0.0.1", (grpc_port, http_port)[number % 2]), 5))
                one.sendall(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-le")
                opened.append(one)
        time.sleep(max(0.0, until - time.monotonic()))
    return CONNECTIONS, len(opened)


KINDS: dict[str, Callable[[int, int, float, str], tuple[int, int]]] = {
    "json": json_bomb,
    "grpc": grpc_bomb,
    "filters": filters,
    "calls": calls,
    "connections": connections,
}


def _unary(port: int, method: str, request: bytes, until: float, token: str) -> tuple[int, int]:
    with grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.max_send_message_length", -1)]) as channel:
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)

        def send() -> bool:
            with contextlib.suppress(grpc.RpcError):
                call(request, timeout=_CALL_S, metadata=_metadata(token), compression=grpc.Compression.Gzip)
                return True
            return False

        return _repeat(send, until)


def _repeat(send: Callable[[], bool], until: float) -> tuple[int, int]:
    def worker(_: int) -> tuple[int, int]:
        tried = accepted = 0
        while time.monotonic() < until:
            tried, accepted = tried + 1, accepted + send()
        return tried, accepted

    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(worker, range(AT_ONCE)))
    return sum(tried for tried, _ in results), sum(accepted for _, accepted in results)


def _metadata(token: str) -> tuple[tuple[str, str]]:
    return (("authorization", f"Bearer {token}"),)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


if __name__ == "__main__":
    kind, grpc_port, http_port, seconds, token = sys.argv[1:]
    tries, done = KINDS[kind](int(grpc_port), int(http_port), time.monotonic() + float(seconds), token)
    print(json.dumps({"tried": tries, "accepted": done}), flush=True)
