"""ListAuditRecords: the calls of the caller's tenant, and of nobody else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from threadkeep import Client, SessionRef, errors
from threadkeep.cli import main
from threadkeep_server.app.server import Running

from .bad_input import requests
from .conftest import running

TOKENS = {
    "token-of-the-ann": {"tenant": "acme", "user_id": "ann"},
    "token-of-the-acme": {"tenant": "acme"},
    "token-of-the-other": {"tenant": "other"},
    "token-of-a-writer": {"tenant": "acme", "roles": ["writer", "compactor", "ops"]},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    data = tmp_path_factory.mktemp("data")
    with running(data_dir=data, auth_tokens=TOKENS, audit_log=str(data / "audit.log"), audit_reads=True) as opened:
        for token, user in (("other", "ann"), ("ann", "ann"), ("acme", "ann"), ("acme", "bob")):
            with client_of(opened, token) as client:
                client.delete_session(SessionRef(app="shop", user_id=user, session_id=f"{token}-{user}"))
        with client_of(opened, "nobody") as client, pytest.raises(errors.Unauthenticated):
            client.delete_session(SessionRef(app="shop", user_id="ann", session_id="unknown"))
        yield opened


def client_of(server: Running, token: str) -> Client:
    return Client(f"127.0.0.1:{server.grpc_port}", app="shop", token=f"token-of-the-{token}")


def deleted(client: Client, **conditions: Any) -> list[str]:
    """Returns the sessions of the records of DeleteSession, once none is missing: a thread writes them."""
    found: list[str] = []
    for _ in range(500):
        records = client.audit_records(method="DeleteSession", page_size=1, **conditions)
        found = [record.target_json.partition('"session_id": "')[2].rstrip('"}') for record in records]
        if found:
            break
        time.sleep(0.01)
    return found


def test_each_credential_reads_the_calls_of_its_tenant_and_binding(server: Running) -> None:
    with client_of(server, "acme") as client:
        assert deleted(client) == ["acme-bob", "acme-ann", "ann-ann"]
        assert deleted(client, caller_user_id="ann") == ["ann-ann"]
        assert deleted(client, session_id="acme-ann", outcome="OK") == ["acme-ann"]
        first = next(iter(client.audit_records(method="threadkeep.v1.SessionService/DeleteSession")))
        assert first.peer.startswith("127.0.0.1:")
        assert 0 <= time.time() - first.begin_time.seconds < 600
        assert first.duration_ms > 0
    with client_of(server, "ann") as client:
        assert deleted(client) == ["ann-ann"]
        with pytest.raises(errors.PermissionDenied) as denied:
            client.audit_records_page(caller_user_id="bob")
        assert denied.value.metadata == {"field": "caller_user_id"}
    with client_of(server, "other") as client:
        assert deleted(client) == ["other-ann"]
        text = str(list(client.audit_records()))
        assert "acme" not in text
        assert "unknown" not in text


def test_a_page_token_is_of_one_credential_and_request(server: Running) -> None:
    wire = requests.Wire(server.grpc_port)
    try:
        acme, other, ann = (f"Bearer token-of-the-{name}" for name in ("acme", "other", "ann"))
        token = wire.call("ListAuditRecords", page_size=1, token=acme).next_page_token
        assert len(wire.call("ListAuditRecords", page_token=token, page_size=2, token=acme).records) == 2
        for credential, fields in ((other, {}), (ann, {}), (acme, {"outcome": "OK"})):
            refusal = wire.refused("ListAuditRecords", page_token=token, token=credential, **fields)
            assert refusal.reason == "INVALID_PAGE_TOKEN"
    finally:
        wire.close()


def test_the_command_prints_what_its_credential_reaches(server: Running, capfd: pytest.CaptureFixture[str]) -> None:
    with client_of(server, "ann") as client:
        assert deleted(client)
    where = ["--address", f"127.0.0.1:{server.grpc_port}", "--token", "token-of-the-ann"]
    assert main(["audit", "--method", "DeleteSession", "--json", *where]) == 0
    [record] = map(json.loads, capfd.readouterr().out.splitlines())
    assert record["target"] == {"app": "shop", "user_id": "ann", "session_id": "ann-ann"}
    assert (record["caller_user_id"], record["caller_app"], record["outcome"]) == ("ann", None, "OK")
    assert main(["audit", "--session", "ann-ann", *where]) == 0
    assert "SessionService/DeleteSession" in capfd.readouterr().out


def test_only_an_admin_reads_it(server: Running) -> None:
    with Client(f"127.0.0.1:{server.grpc_port}", token="token-of-a-writer") as client:
        with pytest.raises(errors.PermissionDenied) as denied:
            client.audit_records_page()
        assert denied.value.metadata == {"role": "admin"}
