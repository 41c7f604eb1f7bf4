"""The HTTP port except for RPCs: credentials, probes, the home page, origins, start and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.servers.http_gateway import APPEND, JSON, LIST, MAX_CALLS, STREAM, Gateway, running
from threadkeep_server.domain.errors import ServerDraining
from threadkeep_server.domain.model import Caller
from threadkeep_server.transport.http.listening import AddressInUse
from threadkeep_server.transport.http.server import serve_http
from threadkeep_server.transport.tls_files import TlsFiles


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    async with running() as gateway:
        yield gateway


@pytest.fixture
async def guarded() -> AsyncIterator[Gateway]:
    async with running({"tok-1": Caller("acme", "ann")}) as gateway:
        yield gateway


async def test_a_token_identifies_the_caller(guarded: Gateway) -> None:
    headers = {**JSON, "authorization": "Bearer tok-1"}
    assert (await guarded.call("POST", LIST, "{}", headers)).json["nextPageToken"] == "acme/ann"


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer no"}, {"authorization": "Basic tok-1"}])
async def test_without_a_token_nothing_is_read(guarded: Gateway, headers: dict[str, str]) -> None:
    answer = await guarded.call("POST", LIST, "not even JSON", {**JSON, **headers})
    assert answer.error() == (401, "unauthenticated", "UNAUTHENTICATED")


async def test_a_response_that_requires_a_credential_names_the_scheme(guarded: Gateway) -> None:
    assert (await guarded.call("POST", LIST, "{}", JSON)).headers["www-authenticate"] == "Bearer"
    assert "www-authenticate" not in (await guarded.call("GET", "/healthz")).headers


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", LIST, "GET, POST"),
        ("GET", APPEND, "POST"),
        ("OPTIONS", STREAM, "POST"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
async def test_another_method_is_refused_with_the_allowed_ones(gateway: Gateway, method: str, path: str, allowed: str) -> None:
    answer = await gateway.call(method, path)
    assert answer.error() == (405, "invalid_argument", "INVALID_FIELD")
    assert answer.headers["allow"] == allowed


async def test_another_content_type_is_refused_with_the_supported_ones(gateway: Gateway) -> None:
    answer = await gateway.call("POST", LIST, "{}", {"content-type": "application/grpc"})
    assert answer.error() == (415, "invalid_argument", "INVALID_FIELD")
    assert "application/json" in answer.json["message"]


async def test_a_get_with_the_content_type_of_grpc_is_answered(gateway: Gateway) -> None:
    answer = await gateway.call("GET", LIST + "?encoding=json&message={}", headers={"content-type": "application/grpc"})
    assert (answer.status, answer.json["nextPageToken"]) == (200, "default/None")


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({**JSON, "x-note": "\xff"}, "header x-note"),
        ({**JSON, "authorization": "Bearer \xff"}, "header authorization"),
        ({**JSON, "content-length": "2", "transfer-encoding": "chunked"}, "header content-length"),
    ],
)
async def test_headers_that_programs_read_differently_are_refused(
    guarded: Gateway, caplog: pytest.LogCaptureFixture, headers: dict[str, str], field: str
) -> None:
    answer = await guarded.call("POST", LIST, b"", headers)
    assert answer.error() == (400, "invalid_argument", "INVALID_FIELD")
    assert answer.json["message"].startswith(field)
    assert not caplog.records


async def test_calls_beyond_the_limit_are_refused_before_their_body_is_read(gateway: Gateway) -> None:
    slow = [asyncio.create_task(gateway.call("POST", LIST, '{"session":{"sessionId":"slow"}}', JSON)) for _ in range(MAX_CALLS)]
    try:
        while (answer := await gateway.call("POST", LIST, "{", JSON)).status != 429:
            assert answer.status == 400
        assert answer.error() == (429, "resource_exhausted", "RATE_LIMITED")
        assert [each["debug"] for each in answer.json["details"]][1:] == [{"retryDelay": "1s"}]
        assert "calls_in_flight" in answer.body.decode()
    finally:
        gateway.servicer.release.set()
    assert {(await each).status for each in slow} == {200}
    assert (await gateway.call("POST", LIST, "{}", JSON)).status == 200


async def test_an_unknown_path_lists_the_known_paths(gateway: Gateway) -> None:
    answer = await gateway.call("POST", "/threadkeep.v1.EventService/Nope", "{}", JSON)
    assert (answer.status, answer.json["code"]) == (404, "unimplemented")
    assert {LIST, STREAM, "/healthz"} <= set(answer.json["paths"])


async def test_the_home_page_lists_the_paths(gateway: Gateway) -> None:
    answer = await gateway.call("GET", "/")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")
    calls, streams = answer.body.decode().split("Streams (SDKs, gRPC")
    assert (LIST in calls, STREAM in calls) == (True, False)
    assert (LIST in streams, STREAM in streams) == (False, True)


async def test_healthz_succeeds_while_readyz_reports_why_not(guarded: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    assert (await guarded.call("GET", "/readyz")).json == {"status": "ready"}
    guarded.not_ready = ServerDraining()
    answer = await guarded.call("GET", "/readyz")
    assert (answer.status, answer.json["reason"]) == (503, "SERVER_DRAINING")
    guarded.not_ready = OSError("connect to postgresql://user:hush@host failed")
    with caplog.at_level(logging.CRITICAL):
        answer = await guarded.call("GET", "/readyz")
    assert (answer.status, answer.json["reason"]) == (503, "INTERNAL")
    assert b"hush" not in answer.body
    health = await guarded.call("GET", "/healthz")
    assert (health.status, health.body) == (200, b"ok\n")
    assert (await guarded.call("HEAD", "/healthz")).status == 200
    assert (await guarded.call("POST", "/healthz")).status == 405


async def test_with_tokens_pages_of_any_origin_may_call(guarded: Gateway) -> None:
    requested = {"origin": "https://app.example", "access-control-request-headers": "authorization,connect-protocol-version"}
    preflight = await guarded.call("OPTIONS", LIST, b"", requested)
    assert preflight.status == 204
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert preflight.headers["access-control-allow-headers"] == "authorization,connect-protocol-version"
    assert "access-control-allow-credentials" not in preflight.headers
    call = await guarded.call("POST", LIST, "{}", {**JSON, "origin": "https://app.example", "authorization": "Bearer tok-1"})
    assert (call.status, call.headers["access-control-allow-origin"]) == (200, "*")
    assert "grpc-status" in call.headers["access-control-expose-headers"]


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:5173", 200),
        ("http://127.0.0.1", 200),
        ("http://[::1]:80", 200),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
        ("http://[::1", 403),
    ],
)
async def test_without_tokens_only_pages_of_this_machine_may_call(gateway: Gateway, origin: str, status: int) -> None:
    """Otherwise any web page could read the sessions on the user's machine, because the form type of curl needs no
    preflight."""
    assert (await gateway.call("POST", LIST, "{}", {"origin": origin})).status == status


async def test_without_tokens_reads_by_get_require_a_local_host_name(gateway: Gateway) -> None:
    """A page whose host name resolves to this server (DNS rebinding) sends no origin with a GET."""
    query = LIST + "?encoding=json&message={}"
    assert (await gateway.call("GET", query)).status == 200
    assert (await gateway.call("GET", query, headers={"host": "rebound.example:7480"})).status == 403
    assert (await gateway.call("POST", LIST, "{}", {**JSON, "host": "threadkeep:7480"})).status == 200


async def test_a_port_in_use_is_reported_with_its_address(gateway: Gateway) -> None:
    with pytest.raises(AddressInUse, match=rf"127\.0\.0\.1:{gateway.port} is in use"):
        async with serve_http(gateway.app, "127.0.0.1", gateway.port):
            pass


async def test_shutdown_lets_calls_in_flight_finish_and_frees_the_port() -> None:
    gateway = Gateway()
    async with serve_http(gateway.app, "127.0.0.1", 0) as gateway.port:
        call = asyncio.create_task(gateway.call("POST", APPEND, '{"events":[{},{}]}', JSON))
        await asyncio.wait_for(gateway.servicer.called.wait(), 30)
    assert (await call).json == {"lastSeq": "2"}
    async with serve_http(gateway.app, "127.0.0.1", gateway.port):
        assert (await gateway.call("GET", "/healthz")).status == 200


async def test_a_call_that_outlives_the_grace_is_canceled_before_exit(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway()
    async with serve_http(gateway.app, "127.0.0.1", 0, grace_s=0) as gateway.port:
        call = asyncio.create_task(gateway.call("POST", LIST, '{"session":{"sessionId":"slow"}}', JSON))
        await asyncio.wait_for(gateway.servicer.called.wait(), 30)
    assert gateway.servicer.cancelled.is_set()
    with contextlib.suppress(http.client.HTTPException, OSError):
        assert (await call).status == 499
    (line,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert (line.exc_info, "Cancel 1 running task" in line.getMessage()) == (None, True)


async def test_a_probe_that_outlives_the_grace_reports_draining(caplog: pytest.LogCaptureFixture) -> None:
    gateway = Gateway()
    gateway.hangs = True
    async with serve_http(gateway.app, "127.0.0.1", 0, grace_s=0) as gateway.port:
        call = asyncio.create_task(gateway.call("GET", "/readyz"))
        await asyncio.wait_for(gateway.servicer.called.wait(), 30)
    assert (await call).json["reason"] == "SERVER_DRAINING"
    assert [each.exc_info for each in caplog.records if each.levelno >= logging.WARNING] == [None]


async def test_the_port_is_freed_when_the_server_fails() -> None:
    with contextlib.suppress(ZeroDivisionError):
        async with running() as gateway:
            assert (await gateway.call("GET", "/healthz")).status == 200
            raise ZeroDivisionError
    with pytest.raises(OSError, match="Connection refused"):
        await gateway.call("GET", "/healthz")


@pytest.mark.parametrize(
    ("host", "says"),
    [("192.0.2.1", r"cannot listen for HTTP on 192\.0\.2\.1:0"), ("a..b", r"cannot listen for HTTP on a\.\.b:0")],
)
async def test_an_address_that_is_not_local_is_reported(host: str, says: str) -> None:
    with pytest.raises(OSError, match=says):
        async with serve_http(Gateway().app, host, 0):
            pass


async def test_invalid_tls_files_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "no.pem"
    path.write_text("no", encoding="utf-8")
    with pytest.raises(OSError, match="must be PEM files that belong together"):
        async with serve_http(Gateway().app, "127.0.0.1", 0, tls=TlsFiles(path, path)):
            pass
