"""The token as a function, the number of attempts, raw stubs and the log, in both clients."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import grpc
import pytest
from opentelemetry import trace

import threadkeep
from tests.unit.sdk.fake import Fail, FakeServer
from tests.unit.sdk.flavors import FLAVORS, make
from threadkeep.errors import Unavailable
from threadkeep.v1 import session_service_pb2 as ss
from threadkeep.v1 import subscription_service_pb2 as su
from threadkeep.v1.session_service_pb2_grpc import SessionServiceStub
from threadkeep.v1.subscription_pb2 import Change

Tokens = Callable[[], str]


@pytest.fixture
def tokens() -> Tokens:
    numbers = count(1)
    return lambda: f"token-{next(numbers)}"


async def test_function_of_token_is_called_for_each_call(connect: Callable[..., Any], fake: FakeServer, tokens: Tokens) -> None:
    client = connect(token=tokens)
    for number in (1, 2):
        await client.info()
        assert fake.metadata["authorization"] == f"Bearer token-{number}"


async def test_function_of_token_of_asynchronous_client_may_be_awaited(fake: FakeServer) -> None:
    async def token() -> str:
        return "fresh"

    async with threadkeep.AsyncClient(fake.address, token=token) as client:
        await client.info()
    assert fake.metadata["authorization"] == "Bearer fresh"


def test_asynchronous_function_of_token_is_refused_by_synchronous_client() -> None:
    async def token() -> str:
        return "fresh"

    with pytest.raises(TypeError, match="use AsyncClient"):
        threadkeep.Client("127.0.0.1:1", token=token)  # type: ignore[arg-type]


async def test_function_of_token_that_returns_no_text_is_named(connect: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="token must be str, not NoneType"):
        await connect(token=lambda: None).info()


async def test_function_of_token_that_hangs_ends_the_call(fake: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    monkeypatch.setattr("threadkeep._streams.credential_aio.TOKEN_WITHIN", 0.01)
    async with threadkeep.AsyncClient(fake.address, token=lambda: asyncio.Event().wait()) as client:  # type: ignore[arg-type]
        with pytest.raises(Unavailable, match="did not return within"):
            await client.info()


@pytest.mark.parametrize("flavor", FLAVORS)
def test_function_of_token_to_another_machine_over_plaintext_is_refused(flavor: str) -> None:
    with pytest.raises(ValueError, match="can be read in transit"):
        make(flavor, "db:1", token=lambda: "hush")


@pytest.mark.parametrize(("attempts", "sent"), [(1, 1), (2, 2)])
async def test_attempts_are_limited_by_max_attempts(
    connect: Callable[..., Any], fake: FakeServer, attempts: int, sent: int
) -> None:
    fake.answers["GetServerInfo"] = [Fail(grpc.StatusCode.UNAVAILABLE)] * 5
    with pytest.raises(Unavailable):
        await connect(max_attempts=attempts).info()
    assert len(fake.requests("GetServerInfo")) == sent


@pytest.mark.parametrize("attempts", [0, 6])
def test_max_attempts_out_of_range_is_named(attempts: int) -> None:
    with pytest.raises(ValueError, match="max_attempts must be 1 to 5"):
        threadkeep.Client("127.0.0.1:1", max_attempts=attempts)


async def test_raw_stub_sends_token_and_repeats_as_methods_do(
    connect: Callable[..., Any], fake: FakeServer, tokens: Tokens
) -> None:
    fake.answers["GetSession"] = [Fail(grpc.StatusCode.UNAVAILABLE)]
    client = connect(token=tokens)
    request = ss.GetSessionRequest(session=threadkeep.SessionRef(session_id="s"))
    stub = await client.raw(SessionServiceStub)
    if isinstance(client, threadkeep.AsyncClient):
        await stub.GetSession(request)
    else:
        stub.GetSession(request)
    assert [call.session.session_id for call in fake.requests("GetSession")] == ["s", "s"]
    assert fake.metadata["authorization"] == "Bearer token-1"


async def test_raw_stub_has_the_timeout_of_the_client(connect: Callable[..., Any], fake: FakeServer) -> None:
    fake.answers["GetSession"] = [5.0]
    client = connect(timeout=0.2)
    stub = await client.raw(SessionServiceStub)

    async def asked() -> None:
        answer = stub.GetSession(ss.GetSessionRequest())
        if isinstance(client, threadkeep.AsyncClient):
            await answer

    with pytest.raises(grpc.RpcError) as raised:
        await asked()
    assert raised.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


async def test_raw_stub_of_closed_client_fails(connect: Callable[..., Any]) -> None:
    client = connect()
    await client.raw(SessionServiceStub)
    await client.close()
    with pytest.raises(RuntimeError, match="the client is closed"):
        await client.raw(SessionServiceStub)


async def test_reopened_stream_is_logged(
    connect: Callable[..., Any], fake: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    change = Change(session=threadkeep.SessionRef(session_id="s"), resume_token="t")
    change.session_change.SetInParent()
    fake.answers["WatchSession"] = [[Fail(grpc.StatusCode.UNAVAILABLE)], [su.WatchSessionResponse(changes=[change])]]
    changes = connect().watch("s")
    with caplog.at_level(logging.INFO, "threadkeep"):
        await anext(changes)
    await changes.aclose()
    assert "the stream is opened again in" in caplog.text


def test_log_of_client_prints_nothing_without_configuration(capfd: pytest.CaptureFixture[str]) -> None:
    def lines() -> Iterator[str]:
        yield from capfd.readouterr()

    import threadkeep._log

    threadkeep._log.LOG.warning("hidden")
    assert not any(lines())


async def test_a_call_has_the_trace_of_its_caller(connect: Callable[..., Any], fake: FakeServer) -> None:
    client = connect(token="token")
    await client.info()
    assert "traceparent" not in fake.metadata
    parent = trace.SpanContext(0xA1, 0xB2, is_remote=False, trace_flags=trace.TraceFlags(1))
    with trace.use_span(trace.NonRecordingSpan(parent)):
        await client.info()
    assert fake.metadata["traceparent"] == f"00-{0xA1:032x}-{0xB2:016x}-01"
    assert fake.metadata["authorization"] == "Bearer token"
