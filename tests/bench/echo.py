"""The baseline server: bare grpc.aio handlers on uvloop that return bytes. Run as `python -m tests.bench.echo PORT`."""

import asyncio
import functools
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc
import uvloop

SERVICE = "bench.Echo"
UNARY = f"/{SERVICE}/Unary"
BYTES = f"/{SERVICE}/Bytes"
STREAM = f"/{SERVICE}/Stream"
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


async def serve(port: int) -> None:
    """Serves until the process is ended."""
    server = grpc.aio.server(options=OPTIONS)
    handlers: dict[str, Any] = {
        "Unary": grpc.unary_unary_rpc_method_handler(_unary),
        "Bytes": grpc.unary_unary_rpc_method_handler(_bytes),
        "Stream": grpc.stream_stream_rpc_method_handler(_stream),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(serve(int(sys.argv[1])))
