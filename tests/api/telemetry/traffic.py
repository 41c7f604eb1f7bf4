"""Calls of every kind that the metrics, the dashboard and the alerts are about."""

from __future__ import annotations

import http.client
import json
from typing import Any

from threadkeep import Client, LogVersion, SessionRef, compaction, errors, user
from threadkeep_server.app.server import Running

TOKEN = "token-of-everyone"
"""Of a caller with every role, for servers with authentication."""


def post(server: Running, path: str, body: object, *, token: str = TOKEN, **headers: str) -> tuple[int, bytes]:
    """Calls an RPC with JSON. Returns the status and the body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port or 0, timeout=60)
    sent = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("POST", f"/{path}", json.dumps(body), sent)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def run_traffic(server: Running, session_id: str) -> None:
    """Appends 4 events to a new session, one of them twice, with two conflicts; compacts, searches, subscribes, deletes."""
    with Client(f"127.0.0.1:{server.grpc_port}", app="hush-app", user_id="hush-user", token=TOKEN) as client:
        session = SessionRef(app="hush-app", user_id="hush-user", session_id=session_id)
        first = user("hush-text one", event_id="e1")
        client.append(session, first, create_if_missing={})
        client.append(session, first, user("hush-text two", event_id="e2"))
        client.append(session, user("hush-text three"), user("hush-text four"))
        _refused(lambda: client.append(session, user("other", event_id="e1")), errors.EventIdConflict)
        _refused(lambda: client.append(session, user("late"), expect=LogVersion(1)), errors.VersionMismatch)
        client.compact(session, compaction.turn_window(1))
        for mode in ("substring", "ranked", "hybrid"):
            list(client.search("hush-text", mode=mode))
        changes: Any = client.watch(session, after_seq=0)
        next(changes)
        changes.close()
        client.delete_session(client.create_session(f"{session_id}-deleted"))
    post(server, "threadkeep.v1.SessionService/GetSession", {"session": {"session_id": "hush-missing"}}, token="hush-wrong")


def _refused(call: Any, error: type[Exception]) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"{error.__name__} was expected")
