"""Calls of RPCs are measured by method and code, over gRPC and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests.api.conftest import running
from tests.api.telemetry.pages import Sample, page, sample, samples
from tests.api.telemetry.traffic import TOKEN, post
from threadkeep import Client, errors, user
from threadkeep_server.app.server import Running

EVENTS, SESSIONS = "threadkeep.v1.EventService", "threadkeep.v1.SessionService"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("rpc_duration")
    with running(data_dir=folder, auth_tokens={TOKEN: {"tenant": "hush-tenant"}}) as server:
        yield server


def counted(service: str, method: str, code: str) -> Sample:
    labels = {"rpc_service": service, "rpc_method": method, "rpc_response_status_code": code}
    return sample("rpc_server_duration_seconds_count", **labels)


def test_calls_are_counted_by_method_and_code_over_grpc_and_http(server: Running) -> None:
    missing = {"session": {"app": "hush-app", "user_id": "hush-user", "session_id": "hush-missing"}}
    with Client(f"127.0.0.1:{server.grpc_port}", app="hush-app", token=TOKEN) as client:
        client.append(client.create_session("hush-session", user_id="hush-user"), user("hush-text"))
        with pytest.raises(errors.SessionNotFound):
            client.get_session("hush-missing")
    assert post(server, f"{SESSIONS}/GetSession", missing)[0] == 404
    assert post(server, f"{SESSIONS}/GetSession", {"session": 7})[0] == 400
    assert post(server, f"{SESSIONS}/GetSession", missing, token="wrong")[0] == 401
    assert post(server, f"{EVENTS}/NoSuchMethod", {})[0] == 404
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        unknown: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{EVENTS}/NoSuchMethodEither")
        with pytest.raises(grpc.RpcError) as caught:
            unknown(b"", timeout=60)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    found = samples(server, counted("_OTHER", "_OTHER", "UNIMPLEMENTED"))
    assert found[counted(EVENTS, "AppendEvents", "OK")] == 1
    assert found[counted(SESSIONS, "GetSession", "NOT_FOUND")] == 2
    assert found[counted(SESSIONS, "GetSession", "INVALID_ARGUMENT")] == 1
    assert found[counted(SESSIONS, "GetSession", "UNAUTHENTICATED")] == 1
    assert found[counted("_OTHER", "_OTHER", "UNIMPLEMENTED")] == 2
    assert found[sample("threadkeep_call_duration_seconds_count", rpc="GetSession")] == 4, "of all codes"
    text = page(server)
    assert "NoSuch" not in text
    assert "hush" not in text


def test_streams_are_counted_when_they_end_and_have_no_duration(server: Running) -> None:
    with Client(f"127.0.0.1:{server.grpc_port}", app="hush-app", token=TOKEN) as client:
        session = client.create_session("streamed", user_id="hush-user")
        assert len(list(client.append_stream([(session, [user("one")])]))) == 1
    ended = {"rpc_service": EVENTS, "rpc_method": "AppendStream", "rpc_response_status_code": "OK"}
    found = samples(server, sample("threadkeep_rpc_streams_total", **ended))
    assert found[sample("threadkeep_rpc_streams_total", **ended)] == 1
    assert counted(EVENTS, "AppendStream", "OK") not in found
    assert found[sample("threadkeep_calls_in_flight")] == 0
