"""gRPC as an ASGI app: framing, status, limits, deadlines, and the end of a call."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import random
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2

from tests.support.asgi_call import Call
from threadkeep.v1 import server_service_pb2, subscription_pb2, subscription_service_pb2
from threadkeep_server.domain.errors import SessionNotFound
from threadkeep_server.domain.model import Caller, SessionRef
from threadkeep_server.domain.roles import granted
from threadkeep_server.service.call_limit import CallLimit
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.connections import ConnectionLimits
from threadkeep_server.transport.envoy.app import GrpcApp, is_grpc
from threadkeep_server.transport.envoy.frames import framed
from threadkeep_server.transport.envoy.headers import timeout_of
from threadkeep_server.transport.envoy.public import HealthServicer, health_service, reflection_service
from threadkeep_server.transport.envoy.receiving import FIRST_LOOK_S
from threadkeep_server.transport.rpc import PLAIN_BYTES, Service

INFO, WATCH, HEALTH = (
    "/threadkeep.v1.ServerService/GetServerInfo",
    "/threadkeep.v1.SubscriptionService/WatchAll",
    "/grpc.health.v1.Health/",
)
MOST = 1000
LARGE = f"must have at most {PLAIN_BYTES} bytes"
LIMITS = ConnectionLimits(most=1, request_timeout_s=0.2)
REQUEST = framed(server_service_pb2.GetServerInfoRequest().SerializeToString())


class Servicer:
    """The methods of two services; `GetServerInfo` does what a test says."""

    def __init__(self) -> None:
        self.answer: Callable[[], Any] = server_service_pb2.GetServerInfoResponse
        self.callers: list[Caller] = []
        self.canceled = asyncio.Event()

    async def GetServerInfo(self, _: Any, caller: Caller) -> Any:
        self.callers.append(caller)
        answer = self.answer()
        if not asyncio.iscoroutine(answer):
            return answer
        try:
            return await answer
        except asyncio.CancelledError:
            self.canceled.set()
            raise

    async def WatchAll(self, _: Any, __: Caller) -> AsyncIterator[Any]:
        try:
            for number in (1, 2):
                yield subscription_service_pb2.WatchAllResponse(changes=[subscription_pb2.Change(resume_token=str(number))])
            await asyncio.Event().wait()
        finally:
            self.canceled.set()

    def __getattr__(self, name: str) -> Any:
        return None


@pytest.fixture
def servicer() -> Servicer:
    return Servicer()


def app_of(servicer: Servicer, tokens: dict[str, Caller] | None = None) -> GrpcApp:
    services = [
        Service(server_service_pb2.DESCRIPTOR.services_by_name["ServerService"], servicer),
        Service(subscription_service_pb2.DESCRIPTOR.services_by_name["SubscriptionService"], servicer),
        reflection_service(["a"]),
    ]
    public = [health_service(HealthServicer(["a"]))]
    identity = Authenticator(tokens or {})
    return GrpcApp(services, public, identity, max_request_bytes=MOST, calls=CallLimit(1), connections=LIMITS)


@pytest.fixture
def app(servicer: Servicer) -> GrpcApp:
    return app_of(servicer)


def status_of(trailers: dict[str, str]) -> status_pb2.Status:
    encoded = trailers["grpc-status-details-bin"]
    return status_pb2.Status.FromString(base64.b64decode(encoded + "=" * (-len(encoded) % 4)))


def problem_of(trailers: dict[str, str]) -> str:
    """Returns the problem of an invalid request as a whole."""
    info = error_details_pb2.ErrorInfo()
    assert status_of(trailers).details[0].Unpack(info)
    assert (trailers["grpc-status"], info.metadata["field"]) == ("3", "request")
    return info.metadata["problem"]


async def test_a_unary_response_is_one_frame_and_status_zero(app: GrpcApp, servicer: Servicer) -> None:
    servicer.answer = lambda: server_service_pb2.GetServerInfoResponse(version="1")
    trailers, body = await Call(app, INFO, REQUEST).response()
    assert trailers == {"grpc-status": "0"}
    assert server_service_pb2.GetServerInfoResponse.FromString(body[5:]).version == "1"
    assert body[:5] == framed(body[5:])[:5]


async def test_a_request_in_single_bytes_is_put_together(app: GrpcApp, servicer: Servicer) -> None:
    request = framed(b"\x9a\x06\x03abc")  # an unknown field
    trailers, _ = await Call(app, INFO, *(bytes([each]) for each in request), b"").response()
    assert trailers == {"grpc-status": "0"}
    assert len(servicer.callers) == 1


@pytest.mark.parametrize(("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_compressed_request_is_read(app: GrpcApp, encoding: str, compress: Callable[[bytes], bytes]) -> None:
    compressed = compress(b"\x9a\x06\x03abc")
    body = b"\1" + framed(compressed)[1:]
    trailers, _ = await Call(app, INFO, body, grpc_encoding=encoding).response()
    assert trailers == {"grpc-status": "0"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [(bytes(1 << 21), "must not decompress to more than 100"), (random.Random(7).randbytes(PLAIN_BYTES + 1), LARGE)],
    ids=["dense", "large"],
)
async def test_a_request_that_decompresses_beyond_the_limit_is_rejected(
    app: GrpcApp, servicer: Servicer, content: bytes, problem: str
) -> None:
    body = b"\1" + framed(gzip.compress(content, 1))[1:]
    trailers, _ = await Call(app, INFO, body, grpc_encoding="gzip").response()
    assert problem_of(trailers).startswith(problem)
    assert not servicer.callers


async def test_a_length_over_the_limit_is_rejected_before_the_message_arrives(app: GrpcApp) -> None:
    call = Call(app, INFO, b"\0" + (PLAIN_BYTES + 1).to_bytes(4, "big"), b"never sent")
    trailers, _ = await call.response()
    assert problem_of(trailers).startswith(LARGE)
    assert call.events.qsize() == 1


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"", {}, "3"),
        (REQUEST + REQUEST, {}, "3"),
        (REQUEST + b"\0\0", {}, "3"),
        (framed(b"\xff"), {}, "3"),
        (b"\1" + framed(b"abc")[1:], {"grpc_encoding": "gzip"}, "3"),
        (b"\1" + framed(b"abc")[1:], {"grpc_encoding": "snappy"}, "12"),
        (b"\1" + framed(b"abc")[1:], {}, "12"),
        (REQUEST, {"grpc_timeout": "soon"}, "3"),
        (REQUEST, {"grpc_timeout": "123456789S"}, "3"),
    ],
)
async def test_a_malformed_request_is_rejected(app: GrpcApp, body: bytes, headers: dict[str, Any], status: str) -> None:
    trailers, _ = await Call(app, INFO, body, **headers).response()
    assert trailers["grpc-status"] == status


async def test_a_request_that_does_not_arrive_is_refused_after_the_timeout(app: GrpcApp, servicer: Servicer) -> None:
    call = Call(app, INFO)
    call.events.put_nowait({"type": "http.request", "body": REQUEST[:3], "more_body": True})
    trailers, _ = await call.response()
    assert trailers["grpc-status"] == "3"
    assert "did not arrive within 0.2 s" in trailers["grpc-message"]
    assert not servicer.callers


async def test_a_call_that_takes_longer_than_its_request_may_is_answered(app: GrpcApp, servicer: Servicer) -> None:
    servicer.answer = lambda: asyncio.sleep(0.5, server_service_pb2.GetServerInfoResponse(version="1"))
    trailers, _ = await Call(app, INFO, REQUEST).response()
    assert trailers == {"grpc-status": "0"}


async def test_calls_beyond_the_limit_are_refused_except_watches_and_health(app: GrpcApp, servicer: Servicer) -> None:
    began, released = asyncio.Event(), asyncio.Event()

    async def wait() -> server_service_pb2.GetServerInfoResponse:
        began.set()
        await released.wait()
        return server_service_pb2.GetServerInfoResponse()

    servicer.answer = wait
    first = Call(app, INFO, REQUEST)
    await began.wait()
    trailers, _ = await Call(app, INFO, REQUEST).response()
    assert trailers["grpc-status"] == "8"
    assert len(status_of(trailers).details) == 2
    assert (await Call(app, f"{HEALTH}Check", framed(b"")).response())[0] == {"grpc-status": "0"}
    watch = Call(app, WATCH, framed(b""))
    await asyncio.wait_for(watch.sent.get(), 30)
    watch.leave()
    released.set()
    assert (await first.response())[0] == {"grpc-status": "0"}
    assert (await Call(app, INFO, REQUEST).response())[0] == {"grpc-status": "0"}


async def test_an_unknown_method_is_unimplemented(app: GrpcApp) -> None:
    trailers, _ = await Call(app, "/threadkeep.v1.ServerService/Nothing", REQUEST).response()
    assert trailers["grpc-status"] == "12"


async def test_a_domain_error_has_code_message_and_details(app: GrpcApp, servicer: Servicer) -> None:
    async def fail() -> None:
        raise SessionNotFound(SessionRef("app", "ünser", "100 %\n"))

    servicer.answer = fail
    trailers, body = await Call(app, INFO, REQUEST).response()
    assert trailers["grpc-status"] == "5"
    assert not body
    assert "%25" in trailers["grpc-message"]
    assert "%C3%BC" in trailers["grpc-message"]
    assert trailers["grpc-message"].isascii()
    assert len(status_of(trailers).details) == 2


async def test_an_unexpected_error_reveals_nothing(app: GrpcApp, servicer: Servicer) -> None:
    def fail() -> None:
        raise KeyError("secret")

    servicer.answer = fail
    trailers, _ = await Call(app, INFO, REQUEST).response()
    assert trailers["grpc-status"] == "13"
    assert "secret" not in str(status_of(trailers))


async def test_a_call_without_a_valid_token_is_rejected(servicer: Servicer) -> None:
    app = app_of(servicer, {"right": Caller("acme", "bob")})
    every: list[dict[str, Any]] = [{}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer righ\u00e9"}]
    for headers in every:
        trailers, _ = await Call(app, INFO, REQUEST, **headers).response()
        assert trailers["grpc-status"] == "16"
    assert not servicer.callers
    await Call(app, INFO, REQUEST, authorization="Bearer right").response()
    assert servicer.callers == [Caller("acme", "bob")]


async def test_a_call_beyond_its_deadline_is_canceled(app: GrpcApp, servicer: Servicer) -> None:
    servicer.answer = asyncio.Event().wait
    trailers, _ = await Call(app, INFO, REQUEST, grpc_timeout="20m").response()
    assert trailers["grpc-status"] == "4"
    assert servicer.canceled.is_set()


async def test_a_deadline_after_the_body_ends_the_call_with_a_status_alone(app: GrpcApp, servicer: Servicer) -> None:
    servicer.answer = server_service_pb2.GetServerInfoResponse
    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)
        if event["type"] == "http.response.body":
            await asyncio.Event().wait()

    async with asyncio.timeout(30):
        await Call(app, INFO, REQUEST, send=send, grpc_timeout="20m").task
    assert [event["type"] for event in sent] == ["http.response.start", "http.response.body", "http.response.trailers"]
    assert (b"grpc-status", b"4") in sent[-1]["headers"]


async def test_a_timeout_within_the_service_is_not_the_callers_deadline(app: GrpcApp, servicer: Servicer) -> None:
    async def fail() -> None:
        raise TimeoutError

    servicer.answer = fail
    trailers, _ = await Call(app, INFO, REQUEST, grpc_timeout="1H").response()
    assert trailers["grpc-status"] == "13"


@pytest.mark.parametrize("path", [INFO, WATCH])
async def test_a_call_whose_client_leaves_is_canceled(app: GrpcApp, servicer: Servicer, path: str) -> None:
    servicer.answer = asyncio.Event().wait
    call = Call(app, path, REQUEST)
    call.leave()
    await call.response()
    assert servicer.canceled.is_set()


async def test_a_canceled_call_may_end_slowly(app: GrpcApp, servicer: Servicer) -> None:
    async def rolls_back() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        servicer.canceled.clear()
        await asyncio.sleep(8 * FIRST_LOOK_S)  # a second cancellation would interrupt a rollback

    servicer.answer = rolls_back
    body = iter([{"type": "http.request", "body": REQUEST, "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(body, {"type": "http.disconnect"})

    await app({"type": "http", "path": INFO, "headers": []}, receive, asyncio.Queue[Any]().put)
    assert not servicer.canceled.is_set()


async def test_a_long_call_looks_seldom_for_the_departure_of_its_client(app: GrpcApp, servicer: Servicer) -> None:
    """pyvoy's `receive` returns at once, also after the end of the request."""
    servicer.answer = asyncio.Event().wait
    received = 0

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": REQUEST if received == 1 else b"", "more_body": False}

    call = asyncio.create_task(app({"type": "http", "path": INFO, "headers": []}, receive, asyncio.Queue[Any]().put))
    await asyncio.sleep(0.5)
    call.cancel()
    await call
    assert 2 <= received <= 6


async def test_a_response_to_a_client_that_is_gone_is_not_an_error(
    app: GrpcApp, servicer: Servicer, caplog: pytest.LogCaptureFixture
) -> None:
    async def gone(_: Any) -> None:
        raise OSError

    for path in (INFO, WATCH):
        call = Call(app, path, REQUEST, send=gone)
        async with asyncio.timeout(30):
            await call.task
    assert servicer.canceled.is_set()
    assert not caplog.records


async def test_a_stream_sends_each_response_as_it_comes(app: GrpcApp) -> None:
    call = Call(app, WATCH, REQUEST)
    tokens: list[str] = []
    async with asyncio.timeout(30):
        assert (await call.sent.get())["type"] == "http.response.start"
        while len(tokens) < 2:
            body = (await call.sent.get())["body"]
            tokens.append(subscription_service_pb2.WatchAllResponse.FromString(body[5:]).changes[0].resume_token)
    assert tokens == ["1", "2"]
    call.leave()
    await call.response()


async def test_a_drain_refuses_calls_and_ends_those_in_flight(app: GrpcApp, servicer: Servicer) -> None:
    servicer.answer = asyncio.Event().wait
    running = Call(app, INFO, REQUEST)
    while not servicer.callers:  # noqa: ASYNC110
        await asyncio.sleep(0)
    app.drain()
    running.task.cancel()  # after the grace
    for call in (running, Call(app, INFO, REQUEST)):
        trailers, _ = await call.response()
        assert trailers["grpc-status"] == "14"
    trailers, _ = await Call(app, HEALTH + "Check", framed(b"")).response()
    assert trailers == {"grpc-status": "0"}


@pytest.mark.parametrize(("token", "status"), [("ops", "0"), ("admin", "7"), ("", "16")])
async def test_reflection_needs_the_role_ops(servicer: Servicer, token: str, status: str) -> None:
    app = app_of(servicer, {role: Caller("acme", roles=granted([role])) for role in ("ops", "admin")})
    headers: dict[str, Any] = {"authorization": f"Bearer {token}"} if token else {}
    trailers, _ = await Call(app, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", b"", **headers).response()
    assert trailers["grpc-status"] == status


async def test_health_follows_the_drain_without_a_token(servicer: Servicer) -> None:
    health = HealthServicer(["a"])
    app = GrpcApp([], [health_service(health)], Authenticator({"t": Caller("acme")}), max_request_bytes=MOST)
    watch = Call(app, HEALTH + "Watch", framed(health_pb2.HealthCheckRequest(service="a").SerializeToString()))
    await watch.sent.get()
    statuses = [health_pb2.HealthCheckResponse.FromString((await watch.sent.get())["body"][5:]).status]
    health.drain()
    statuses.append(health_pb2.HealthCheckResponse.FromString((await watch.sent.get())["body"][5:]).status)
    assert statuses == [health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING]
    watch.leave()
    await watch.response()
    unknown = framed(health_pb2.HealthCheckRequest(service="b").SerializeToString())
    trailers, _ = await Call(app, HEALTH + "Check", unknown).response()
    assert trailers["grpc-status"] == "5"


@pytest.mark.parametrize(
    ("value", "seconds"), [("1H", 3600), ("2M", 120), ("3S", 3), ("4m", 0.004), ("5u", 5e-6), ("99999999n", 0.099999999)]
)
def test_a_timeout_is_read_in_its_unit(value: str, seconds: float) -> None:
    assert timeout_of(value.encode()) == pytest.approx(seconds)


def test_only_grpc_itself_is_grpc() -> None:
    assert is_grpc(b"application/grpc")
    assert is_grpc(b"application/grpc+proto")
    assert not is_grpc(b"application/grpc-web+proto")
    assert not is_grpc(b"application/json")
