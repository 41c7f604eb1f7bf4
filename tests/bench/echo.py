"""The baseline server: bare grpc.aio handlers on uvloop that return bytes. Run as `python -m tests.bench.echo PORT`."""

import asyncio
import functools
import struct
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc
import uvloop

from tests.bench import stored

SERVICE = "bench.Echo"
UNARY = f"/{SERVICE}/Unary"
BYTES = f"/{SERVICE}/Bytes"
STREAM = f"/{SERVICE}/Stream"
SUBSCRIBE = f"/{SERVICE}/Subscribe"
PUBLISH = f"/{SERVICE}/Publish"
IDLE = f"/{SERVICE}/Idle"
STORED = f"/{SERVICE}/Stored"
ACK_EVERY = 32
# The same as the server under test sets, as far as it touches the cost of a call.
OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)


def bytes_request(size: int, filler: bytes) -> bytes:
    """A request of Bytes: the wanted size, then as much as a real request would carry."""
    return size.to_bytes(4, "big") + filler


def publish_request(per_message: float, prepared: bytes) -> bytes:
    """The first request of Publish: what each later request delivers, and how many of that a message holds."""
    return struct.pack(">d", per_message) + prepared


@functools.lru_cache(maxsize=16)
def _block(size: int) -> bytes:
    return bytes(size)


async def _unary(request: bytes, _context: object) -> bytes:
    return request


async def _bytes(request: bytes, _context: object) -> bytes:
    return _block(int.from_bytes(request[:4], "big"))


async def _stream(requests: AsyncIterator[bytes], _context: object) -> AsyncIterator[bytes]:
    waiting = 0
    async for _ in requests:
        waiting += 1
        if waiting == ACK_EVERY:
            yield waiting.to_bytes(4, "big")
            waiting = 0
    if waiting:
        yield waiting.to_bytes(4, "big")


class Fanout:
    """A queue for each subscriber."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[bytes]] = set()

    async def subscribe(self, request: bytes, context: Any) -> None:
        """Sends the request back, then what is published."""
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._queues.add(queue)
        try:
            await context.write(request)
            while True:
                await context.write(await queue.get())
        finally:
            self._queues.discard(queue)

    async def publish(self, requests: AsyncIterator[bytes], _context: object) -> AsyncIterator[bytes]:
        """Acknowledges as Stream does."""
        per_message, prepared = 0.0, b""
        received = acknowledged = handed_out = 0
        due = 0.0
        async for request in requests:
            if not prepared:
                (per_message,), prepared = struct.unpack(">d", request[:8]), request[8:]
                due = per_message
                continue
            received += 1
            if received >= due:
                self._hand_out(prepared * (received - handed_out))
                handed_out = received
                due += per_message
            if received - acknowledged == ACK_EVERY:
                acknowledged = received
                yield ACK_EVERY.to_bytes(4, "big")
        if received > handed_out:
            self._hand_out(prepared * (received - handed_out))
        if received > acknowledged:
            yield (received - acknowledged).to_bytes(4, "big")

    def _hand_out(self, message: bytes) -> None:
        for queue in self._queues:
            queue.put_nowait(message)


_never = asyncio.Event()


async def _idle(request: bytes, context: Any) -> None:
    await context.write(request)
    await _never.wait()


async def serve(port: int) -> None:
    """Serves until the process is ended."""
    server = grpc.aio.server(options=OPTIONS)
    fanout = Fanout()
    handlers: dict[str, Any] = {
        "Unary": grpc.unary_unary_rpc_method_handler(_unary),
        "Bytes": grpc.unary_unary_rpc_method_handler(_bytes),
        "Stream": grpc.stream_stream_rpc_method_handler(_stream),
        "Subscribe": grpc.unary_stream_rpc_method_handler(fanout.subscribe),
        "Publish": grpc.stream_stream_rpc_method_handler(fanout.publish),
        "Idle": grpc.unary_stream_rpc_method_handler(_idle),
        "Stored": grpc.unary_stream_rpc_method_handler(stored.stream),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(serve(int(sys.argv[1])))
