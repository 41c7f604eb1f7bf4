"""The audit log of a server: the calls of every front end that change something, with their outcomes, and no text."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from threadkeep import Client, SessionRef, errors, user
from threadkeep_server.app.server import Running

from .conftest import running

TOKENS = {"token-of-the-ann": {"tenant": "acme", "user_id": "ann"}, "token-of-the-acme": {"tenant": "acme"}}
READERS = {"token-of-a-reader": {"tenant": "acme", "roles": ["reader"]}}
UPDATE = "/threadkeep.v1.SessionService/UpdateSession"
MEMORY = "/apps/shop/users/ann/memory"
SESSION = {"app": "shop", "user_id": "ann", "session_id": "s1"}
MISSING = {**SESSION, "session_id": "missing"}


def post(server: Running, method: str, path: str, body: object) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port or 0, timeout=20)
    headers = {"authorization": "Bearer token-of-the-acme", "content-type": "application/json"}
    try:
        connection.request(method, path, json.dumps(body), headers)
        return connection.getresponse().status
    finally:
        connection.close()


def client_of(server: Running, token: str) -> Client:
    return Client(f"127.0.0.1:{server.grpc_port}", app="shop", token=token)


def lines(path: Path) -> list[dict[str, Any]]:
    """Returns the log of a server that has ended, without what differs between runs."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    for line in found:
        assert line.pop("time").endswith("Z")
        assert line.pop("duration_ms") >= 0
        assert line.pop("peer").startswith("127.0.0.1:")
        assert line.pop("tenant") == ("" if line["outcome"] == "UNAUTHENTICATED" else "acme")
    return found


def lines_of_running(path: Path, count: int) -> list[dict[str, Any]]:
    """Waits for so many lines: that a stream ends is noticed a little later."""
    for _ in range(2_000):
        if len(path.read_text().splitlines()) >= count:
            break
        time.sleep(0.01)
    return lines(path)


def line(method: str, target: dict[str, Any], outcome: str = "OK", caller: str | None = None) -> dict[str, Any]:
    service = "" if "/" in method.partition(" ")[2] else "threadkeep.v1."
    return {"method": f"{service}{method}", "caller_user_id": caller, "caller_app": None, "target": target, "outcome": outcome}


@pytest.mark.parametrize("frontend", ["grpc", "envoy"])
def test_calls_that_change_something_are_recorded(tmp_path: Path, frontend: str) -> None:
    log = tmp_path / "audit.log"
    with running(data_dir=tmp_path, auth_tokens=TOKENS | READERS, audit_log=str(log), frontend=frontend) as server:
        with client_of(server, "token-of-the-acme") as client:
            client.append(SessionRef(**SESSION), user("hush hush"), create_if_missing={"labels": {"k": "hush"}})
            batches = [(SessionRef(**SESSION), [user("hush")]), (SessionRef(**MISSING), [user("hush"), user("hush")])]
            results = list(client.append_stream(batches))
            assert [result.WhichOneof("outcome") for result in results] == ["appended", "error"]
            client.get_session(SessionRef(**SESSION))  # a read
        ref = {"app": "shop", "userId": "ann", "sessionId": "s1"}
        assert post(server, "POST", UPDATE, {"session": ref, "labels": {"k": "hush"}, "updateMask": "labels"}) == 200
        assert post(server, "PATCH", MEMORY, {"sessionId": "s1"}) == 200
        with urlopen(f"http://127.0.0.1:{server.http_port}/metrics") as metrics:
            assert b"threadkeep_audit_lost_records_total 0.0" in metrics.read()
        with client_of(server, "token-of-the-ann") as client, pytest.raises(errors.PermissionDenied):
            client.delete_session(SessionRef(app="shop", user_id="bob", session_id="s2"))
        with client_of(server, "not-a-token") as client, pytest.raises(errors.Unauthenticated):
            client.delete_session("s1")
        with client_of(server, "token-of-a-reader") as client, pytest.raises(errors.PermissionDenied):
            client.delete_session(SessionRef(**SESSION))
    assert "hush" not in log.read_text()
    stream = "EventService/AppendStream"
    assert lines(log) == [
        line("EventService/AppendEvents", {**SESSION, "events": 1}),
        line(stream, {**SESSION, "events": 1}),
        line(stream, {**MISSING, "events": 2}, "SESSION_NOT_FOUND"),
        line("SessionService/UpdateSession", SESSION),
        line("PATCH /apps/{app}/users/{user}/memory", SESSION),
        line("SessionService/DeleteSession", {"app": "shop", "user_id": "bob", "session_id": "s2"}, "PERMISSION_DENIED", "ann"),
        line("SessionService/DeleteSession", {}, "UNAUTHENTICATED"),
        line("SessionService/DeleteSession", {}, "PERMISSION_DENIED"),
    ]


def test_reads_are_recorded_if_wanted(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    settings: dict[str, Any] = {"data_dir": tmp_path, "auth_tokens": TOKENS, "audit_log": str(log), "audit_reads": True}
    with running(**settings) as server, client_of(server, "token-of-the-ann") as client:
        created = client.create_session()
        client.append(created, user("hush"))
        assert list(client.search("hush"))
        changes: Iterator[Any] = client.watch(created, after_seq=0)
        next(changes)
        changes.close()  # type: ignore[attr-defined]
        found = lines_of_running(log, 5)
    named = {"app": "shop", "session_id": created.ref.session_id}
    assert "hush" not in str(found)
    methods = [(each["method"].rpartition("/")[2], each["outcome"]) for each in found]
    assert methods == [
        ("CreateSession", "OK"),
        ("AppendEvents", "OK"),
        ("SearchEvents", "OK"),
        ("WatchSession", "OPENED"),
        ("WatchSession", "CANCELED"),
    ]
    assert found[0]["target"] == {**named, "user_id": "ann"}, "the server chose the id"
