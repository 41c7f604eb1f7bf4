"""Tokens that are issued, revoked and signed while a server runs, over gRPC and HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.oidc_issuer import AUDIENCE, oidc_issuer
from threadkeep.cli import main as command_line
from threadkeep.v1 import access_pb2

from ..bad_input.requests import Wire, eventually
from ..conftest import ServerFactory

Tokens = Callable[..., Any]
READ = "/threadkeep.v1.SessionService/ListSessions"


@pytest.fixture
def tokens(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Tokens:
    """Runs `threadkeep tokens` and returns what it prints, as JSON."""

    def invoke(*arguments: str) -> Any:
        code = command_line(["tokens", *arguments, "--file", str(tmp_path / "tokens.jsonl"), "--json"])
        out, err = capfd.readouterr()
        assert code == 0, err
        return json.loads(out)

    return invoke


def status(port: int | None, path: str, token: str = "", body: str | None = None) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port or 0, timeout=60)
    try:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        connection.request("GET" if body is None else "POST", path, body, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_an_issued_token_works_until_it_is_revoked_without_a_restart(
    tokens: Tokens, start_server: ServerFactory, tmp_path: Path
) -> None:
    first = tokens("create", "--tenant", "acme", "--role", "ops", "--note", "scraper")
    assert first["roles"] == ["ops"]
    server = start_server(token_hashes_file=tmp_path / "tokens.jsonl", metrics_need_role=True)
    second = tokens(
        "create", "--tenant", "acme", "--user", "alice", "--role", "reader", "--role", "compactor", "--expires", "1d"
    )
    assert [each["id"] for each in tokens("list")] == [first["id"], second["id"]]
    eventually(lambda: status(server.http_port, READ, second["token"], "{}")[0] == 200)
    wire = Wire(server.grpc_port)
    bearer = f"Bearer {second['token']}"
    assert not wire.call("ListSessions", token=bearer).sessions
    caller = wire.call("GetServerInfo", token=bearer).caller
    assert (caller.authenticated, caller.tenant, caller.user_id, caller.app) == (True, "acme", "alice", "")
    assert list(caller.roles) == [access_pb2.ACCESS_ROLE_READER, access_pb2.ACCESS_ROLE_COMPACTOR]
    assert 0 < caller.expire_time.ToSeconds() - time.time() <= 86_400
    assert wire.refused("CreateSession", token=bearer).metadata == {"role": "writer"}
    assert wire.refused("GetServerInfo", token=bearer, include_totals=True).reason == "PERMISSION_DENIED"
    assert wire.call("GetServerInfo", token=f"Bearer {first['token']}", include_totals=True).total_sessions == 0
    assert [status(server.http_port, "/metrics", each)[0] for each in (first["token"], second["token"], "")] == [200, 403, 401]
    assert status(server.http_port, "/healthz")[0] == 200
    tokens("revoke", second["id"])
    eventually(lambda: status(server.http_port, READ, second["token"], "{}")[0] == 401)
    assert wire.refused("ListSessions", token=bearer).reason == "UNAUTHENTICATED"
    wire.close()


def test_a_token_that_is_issued_for_an_app_reaches_the_sessions_of_no_other(
    tokens: Tokens, start_server: ServerFactory, tmp_path: Path
) -> None:
    issued = tokens("create", "--tenant", "acme", "--app", "support", "--role", "writer")
    assert [each["app"] for each in tokens("list")] == ["support"]
    wire = Wire(start_server(token_hashes_file=tmp_path / "tokens.jsonl", frontend="grpc").grpc_port)
    bearer = f"Bearer {issued['token']}"
    session = {"app": "support", "user_id": "alice", "session_id": "s"}
    wire.call("CreateSession", session=session, token=bearer)
    refused = wire.refused("CreateSession", session=session | {"app": "billing"}, token=bearer)
    assert (refused.reason, refused.metadata) == ("PERMISSION_DENIED", {"field": "session.app"})
    assert [each.ref.app for each in wire.call("ListSessions", token=bearer).sessions] == ["support"]
    wire.close()


def test_a_token_of_an_oidc_issuer_reaches_its_users_data_with_its_roles(start_server: ServerFactory) -> None:
    with oidc_issuer() as issuer:
        server = start_server(jwt_issuer=issuer.url, jwt_audience=AUDIENCE, jwt_algorithms="ES256")
        wire = Wire(server.grpc_port)
        session = {"app": "app", "user_id": "alice", "session_id": "s"}
        writer = issuer.token(roles=["threadkeep:writer"])
        wire.call("CreateSession", session=session, token=f"Bearer {writer}")
        assert wire.refused("DeleteSession", session=session, token=f"Bearer {writer}").metadata == {"role": "admin"}
        bob = f"Bearer {issuer.token(sub='bob')}"
        late = wire.call(
            "GetServerInfo", token=f"Bearer {issuer.token(exp=10**13)}"
        ).caller  # as issuers that write milliseconds
        assert late.expire_time.ToJsonString() == "9999-12-31T23:59:59Z"
        assert wire.refused("GetSession", session=session, token=bob).metadata == {"field": "session.user_id"}
        assert '"s"' in status(server.http_port, READ, writer, "{}")[1]
        forged = issuer.token(key="k" * 32, alg="HS256")
        assert status(server.http_port, READ, forged, "{}")[0] == 401
        assert wire.refused("ListSessions", token="Bearer no-jwt").reason == "UNAUTHENTICATED"
        assert issuer.fetched == 1
        wire.close()


def test_a_server_without_its_file_of_tokens_does_not_start(start_server: ServerFactory, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.jsonl"):
        start_server(token_hashes_file=tmp_path / "none.jsonl", frontend="grpc")
