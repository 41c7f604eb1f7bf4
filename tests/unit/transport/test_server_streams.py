"""Server streams on the gRPC port: authentication, errors, and release after a disconnect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as PackedAny
from google.rpc import error_details_pb2, status_pb2

from tests.support.subscriptions import WATCH_ALL, WATCH_SESSION, FakeSubscriptions, service_of
from threadkeep.v1 import subscription_service_pb2 as pb
from threadkeep_server.domain.model import Caller
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.grpc.server import serve_grpc

TOKEN = (("authorization", "Bearer tok-1"),)


@dataclass
class Server:
    channel: grpc.aio.Channel
    servicer: FakeSubscriptions = field(default_factory=FakeSubscriptions)

    def watch(self, session_id: str, metadata: Any = TOKEN) -> Any:
        request = pb.WatchSessionRequest()
        request.session.session_id = session_id
        return self.raw(request.SerializeToString(), metadata)

    def raw(self, request: bytes, metadata: Any = TOKEN) -> Any:
        call: Any = self.channel.unary_stream(WATCH_SESSION, response_deserializer=pb.WatchSessionResponse.FromString)
        return call(request, metadata=metadata)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    servicer = FakeSubscriptions()
    authenticator = Authenticator({"tok-1": Caller("acme")})
    serving = serve_grpc([service_of(servicer)], authenticator, "127.0.0.1:0", max_request_bytes=1 << 20, drain_grace=0.2)
    async with serving as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Server(channel, servicer=servicer)


def _tokens(responses: list[Any]) -> list[str]:
    return [change.resume_token for response in responses for change in response.changes]


async def _failure(call: Any, heard: list[Any] | None = None) -> tuple[grpc.StatusCode, str]:
    """Returns the error that ends the stream; appends earlier messages to `heard`."""
    try:
        async for response in call:
            if heard is not None:
                heard.append(response)
    except grpc.aio.AioRpcError as error:
        caught = error
    trailers = dict(caught.trailing_metadata() or ())
    detail: PackedAny = status_pb2.Status.FromString(trailers["grpc-status-details-bin"]).details[0]
    info = error_details_pb2.ErrorInfo()
    detail.Unpack(info)
    return caught.code(), info.reason


async def test_one_request_returns_a_stream_of_responses(server: Server) -> None:
    assert _tokens([response async for response in server.watch("s1")]) == ["acme/s1", "2", "3"]
    request = pb.WatchAllRequest()
    request.scope.user_id = "ann"
    call = server.channel.unary_stream(WATCH_ALL, pb.WatchAllRequest.SerializeToString, pb.WatchAllResponse.FromString)
    assert _tokens([response async for response in call(request, metadata=TOKEN)]) == ["acme/ann", "2", "3"]


async def test_a_stream_without_a_token_is_rejected(server: Server) -> None:
    assert await _failure(server.watch("s1", ())) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
    assert not server.servicer.freed.is_set()


async def test_a_failing_stream_ends_with_the_error(server: Server) -> None:
    assert await _failure(server.watch("gone")) == (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")
    assert await _failure(server.raw(b"\xff\xff\xff")) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    heard: list[Any] = []
    assert await _failure(server.watch("drain"), heard) == (grpc.StatusCode.UNAVAILABLE, "SERVER_DRAINING")
    assert _tokens(heard) == ["acme/drain"]


async def test_a_silent_disconnect_releases_the_subscriber_at_once(server: Server) -> None:
    call = server.watch("idle")
    await call.read()
    assert server.servicer.open == 1
    call.cancel()
    await asyncio.wait_for(server.servicer.freed.wait(), 60)
    assert server.servicer.open == 0


async def test_a_subscriber_that_stops_reading_blocks_the_stream_until_it_disconnects(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    call = server.watch("flood")
    await call.read()
    await _settled(server.servicer)
    # What the buffers of gRPC and of the connection hold; gRPC enlarges its own with the speed that it measures.
    assert server.servicer.sent < 64
    call.cancel()
    await asyncio.wait_for(server.servicer.freed.wait(), 60)
    assert server.servicer.open == 0
    assert not caplog.records


async def test_shutdown_releases_subscribers() -> None:
    servicer = FakeSubscriptions()
    serving = serve_grpc([service_of(servicer)], Authenticator({}), "127.0.0.1:0", max_request_bytes=1, drain_grace=0.2)
    async with serving as port:
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        call = Server(channel).watch("idle", ())
        await call.read()
    await asyncio.wait_for(servicer.freed.wait(), 60)
    await channel.close()


async def _settled(servicer: FakeSubscriptions) -> None:
    """Waits until nothing has been sent for a while."""
    sent = -1
    while sent != servicer.sent:
        sent = servicer.sent
        await asyncio.sleep(0.3)
