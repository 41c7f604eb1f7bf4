"""Requests that are refused: their size over HTTP, and that they are freed at once, not by the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import random
import tracemalloc
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest

from threadkeep.v1 import event_service_pb2, subscription_service_pb2
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.transport.asgi import ASGIApp
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.envoy.app import GrpcApp
from threadkeep_server.transport.envoy.frames import framed
from threadkeep_server.transport.grpc.server import serve_grpc
from threadkeep_server.transport.http.server import http_app
from threadkeep_server.transport.rpc import PLAIN_BYTES, Service
from threadkeep_server.transport.servicers.append_stream import AppendStreams

APPEND = "/threadkeep.v1.EventService/AppendEvents"
LIST = "/threadkeep.v1.EventService/ListEvents"
STREAM = "/threadkeep.v1.EventService/AppendStream"
WATCH = "/threadkeep.v1.SubscriptionService/WatchAll"
MOST = 8 << 20


class Held:
    """An object of a frame, such as a request."""


class Servicer:
    """Refuses every request."""

    def __init__(self) -> None:
        self.held: list[weakref.ref[Held]] = []
        self._streams = AppendStreams()

    def _refuse(self, *_: Any) -> Any:
        held = Held()
        self.held.append(weakref.ref(held))
        try:
            raise KeyError
        except KeyError:
            raise InvalidField("events", f"are refused, with {held}") from None

    async def AppendEvents(self, *_: Any) -> None:
        self._refuse()

    async def WatchAll(self, *_: Any) -> AsyncIterator[Any]:
        yield self._refuse()

    def AppendStream(self, requests: AsyncIterator[Any], _: Any) -> AsyncIterator[Any]:
        return self._streams.open(self._refuse).responses(requests)

    def __getattr__(self, name: str) -> Any:
        return None


@pytest.fixture
def servicer() -> Iterator[Servicer]:
    gc.collect()
    gc.disable()
    yield Servicer()
    gc.enable()


def services_of(servicer: Servicer) -> list[Service]:
    return [
        Service(event_service_pb2.DESCRIPTOR.services_by_name["EventService"], servicer),
        Service(subscription_service_pb2.DESCRIPTOR.services_by_name["SubscriptionService"], servicer),
    ]


@pytest.fixture
async def channel(servicer: Servicer) -> AsyncIterator[grpc.aio.Channel]:
    serving = serve_grpc(services_of(servicer), Authenticator({}), "127.0.0.1:0", max_request_bytes=MOST, drain_grace=0.2)
    async with serving as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as opened:
        yield opened


def assert_released(servicer: Servicer, calls: int = 1) -> None:
    assert [each() for each in servicer.held] == [None] * calls


async def traced_below(most: int) -> None:
    """Waits for the end of the last call."""
    for _ in range(3_000):
        if tracemalloc.get_traced_memory()[0] < most:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(tracemalloc.get_traced_memory())


async def refused(channel: grpc.aio.Channel, path: str, raw: bytes) -> None:
    call: Any = channel.unary_stream(path) if path == WATCH else channel.unary_unary(path)
    response = call(raw).read() if path == WATCH else call(raw)
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await response
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("path", [APPEND, WATCH])
async def test_a_refused_request_over_grpc_is_freed(servicer: Servicer, channel: grpc.aio.Channel, path: str) -> None:
    await refused(channel, path, b"")
    assert_released(servicer)


@pytest.mark.parametrize("path", [APPEND, WATCH])
async def test_the_bytes_of_a_refused_request_over_grpc_are_freed(channel: grpc.aio.Channel, path: str) -> None:
    raw = b"\x9a\x06\x80\x80\x80\x01" + bytes(2 << 20)  # an unknown field
    await refused(channel, path, raw)
    tracemalloc.start()
    try:
        for _ in range(3):
            await refused(channel, path, raw)
        await traced_below(len(raw))
    finally:
        tracemalloc.stop()


async def test_a_refused_append_of_a_stream_over_grpc_is_freed(servicer: Servicer, channel: grpc.aio.Channel) -> None:
    call: Any = channel.stream_stream(STREAM)
    request = event_service_pb2.AppendStreamRequest(append=event_service_pb2.AppendEventsRequest()).SerializeToString()
    responses = [each async for each in call(iter([request] * 3))]
    results = [each for raw in responses for each in event_service_pb2.AppendStreamResponse.FromString(raw).results]
    assert [each.error.reason for each in results] == ["INVALID_FIELD"] * 3
    assert_released(servicer, 3)


async def answered(app: ASGIApp, path: str, body: bytes, **headers: str) -> list[Any]:
    """Returns what an ASGI app sends."""
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "root_path": "", "query_string": b"", "headers": named}
    events = asyncio.Queue[Any]()
    events.put_nowait({"type": "http.request", "body": body, "more_body": False})
    async with asyncio.timeout(30):
        await app(scope, events.get, send)
    return sent


@pytest.mark.parametrize("path", [APPEND, WATCH])
async def test_a_refused_request_behind_envoy_is_freed(servicer: Servicer, path: str) -> None:
    app = GrpcApp(services_of(servicer), [], Authenticator({}), max_request_bytes=MOST)
    *_, trailers = await answered(app, path, framed(b""))
    assert dict(trailers["headers"])[b"grpc-status"] == b"3"
    assert_released(servicer)


async def test_a_request_of_many_values_behind_envoy_is_refused(servicer: Servicer) -> None:
    app = GrpcApp(services_of(servicer), [], Authenticator({}), max_request_bytes=MOST)
    *_, trailers = await answered(app, APPEND, framed(b"\x12\x00" * (1 << 20)))
    status = dict(trailers["headers"])
    assert (status[b"grpc-status"], status[b"grpc-message"][:26]) == (b"3", b"events has too many values")
    assert not servicer.held


async def ready() -> None:
    return


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        (APPEND, b"{}", "application/json"),
        (APPEND, b"{" + b" " * 40_000 + b"}", "application/json"),
        (APPEND, b"", "application/proto"),
        (WATCH, framed(b"{}"), "application/connect+json"),
        (WATCH, framed(b""), "application/grpc-web+proto"),
    ],
)
async def test_a_refused_request_over_http_is_freed(servicer: Servicer, path: str, body: bytes, kind: str) -> None:
    app = http_app(services_of(servicer), Authenticator({}), ready=ready, max_bytes=MOST)
    sent = await answered(app, path, body, content_type=kind)
    assert b"are refused" in b"".join(each.get("body", b"") for each in sent).replace(b"%20", b" ")
    assert_released(servicer)


async def test_a_request_over_http_that_is_too_large_is_freed(servicer: Servicer) -> None:
    app = http_app(services_of(servicer), Authenticator({}), ready=ready, max_bytes=MOST)
    tracemalloc.start()
    try:
        for _ in range(3):
            await answered(app, APPEND, bytes(MOST + 1), content_type="application/json")
        await traced_below(MOST)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("path", "body", "encoding", "problem"),
    [
        (WATCH, framed(bytes(PLAIN_BYTES + 1)), "identity", f"must have at most {PLAIN_BYTES} bytes"),
        (LIST, bytes(PLAIN_BYTES + 1), "identity", f"must have at most {PLAIN_BYTES} bytes"),
        (LIST, gzip.compress(random.Random(7).randbytes(PLAIN_BYTES + 1), 1), "gzip", f"must have at most {PLAIN_BYTES} bytes"),
        (LIST, gzip.compress(b" " * (1 << 20) + b"{}"), "gzip", "must not decompress to more than 100 times its size"),
        (APPEND, gzip.compress(b" " * (1 << 20) + b"{}"), "gzip", "must not decompress to more than 100 times its size"),
        (APPEND, bytes(MOST + 1), "identity", f"must have at most {MOST} bytes"),
    ],
    ids=range(6),
)
async def test_a_request_over_http_is_refused_by_the_size_of_its_rpc(
    servicer: Servicer, path: str, body: bytes, encoding: str, problem: str
) -> None:
    app = http_app(services_of(servicer), Authenticator({}), ready=ready, max_bytes=MOST)
    kind = "application/connect+json" if path == WATCH else "application/json"
    sent = b"".join(
        each.get("body", b"") for each in await answered(app, path, body, content_type=kind, content_encoding=encoding)
    )
    error = json.loads(sent if path != WATCH else sent[5:])
    error = error.get("error", error)
    assert error["code"] == "invalid_argument"
    assert error["details"][0]["debug"]["metadata"]["field"] == "request"
    assert problem in error["message"]
    assert not servicer.held
