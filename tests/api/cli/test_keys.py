"""A server that encrypts, and `threadkeep keys` on its database."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from threadkeep import Client, errors, user
from threadkeep.cli import main

from ..conftest import running

KEY = base64.b64encode(bytes(range(32))).decode()
TOKENS = {"token-of-the-acme": {"tenant": "acme"}, "token-of-the-globex": {"tenant": "globex"}}


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {"data_dir": tmp_path, "auth_tokens": TOKENS, "encryption_key": KEY}


def client_of(server: Any, tenant: str) -> Client:
    return Client(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="ann", token=f"token-of-the-{tenant}")


def test_destroyed_keys_are_reported_to_callers(
    settings: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = ["--data-dir", str(tmp_path)]
    with running(**settings) as server:
        for tenant in ("acme", "globex"):
            with client_of(server, tenant) as client:
                client.append("trip", user("on the BA117"), create_if_missing=True)
                assert [hit.event.text for hit in client.search("BA117")] == ["on the BA117"]
    assert main(["keys", "list", *place, "--json"]) == 0
    rows = json.loads(capfd.readouterr().out)
    assert [(row["tenant"], row["keys"], row["destroyed"]) for row in rows] == [("acme", 1, None), ("globex", 1, None)]
    assert main(["keys", "destroy", "acme", "--yes", *place]) == 0
    assert "destroyed 1 key of tenant acme" in capfd.readouterr().out
    assert main(["keys", "destroy", "acme", "--yes", *place]) == 3
    assert "has no keys to destroy" in capfd.readouterr().err
    assert main(["keys", "list", *place]) == 0
    assert "acme" in capfd.readouterr().out
    with running(**settings) as server:
        with client_of(server, "acme") as client:
            with pytest.raises(errors.EncryptionKeyDestroyed):
                list(client.events("trip"))
            with pytest.raises(errors.EncryptionKeyDestroyed):
                client.append("trip", user("more"))
        with client_of(server, "globex") as client:
            assert [event.text for event in client.events("trip")] == ["on the BA117"]


def test_searches_are_refused_if_the_operator_says_so(settings: dict[str, Any]) -> None:
    with running(**settings, encrypted_search=False) as server, client_of(server, "acme") as client:
        client.append("trip", user("on the BA117"), create_if_missing=True)
        for mode in ("substring", "ranked"):
            with pytest.raises(errors.SearchDisabled):
                list(client.search("BA117", mode=mode))


def test_a_server_without_the_key_of_its_database_says_so(settings: dict[str, Any]) -> None:
    with running(**settings) as server, client_of(server, "acme") as client:
        client.append("trip", user("hello"), create_if_missing=True)
    with pytest.raises(Exception, match="encryption_key_file: must be set: texts of tenant 'acme' are encrypted"):
        # Behind Envoy the server logs it, and fails without a reason.
        running(**settings | {"encryption_key": "", "frontend": "grpc"}).__enter__()
