"""Session behavior that requires a configured server."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from tests.api.conftest import ServerFactory
from threadkeep import Client, system, user

_TOLERANCE_S = 60


def _lifetime(client: Client, **how: Any) -> float:
    session = client.create_session(user_id="alice", **how)
    return session.expire_time.ToNanoseconds() / 1e9 - time.time()


def test_a_session_without_a_ttl_expires_after_60_days(start_server: ServerFactory) -> None:
    with Client(f"127.0.0.1:{start_server().grpc_port}") as client:
        assert abs(_lifetime(client) - 60 * 86_400) < _TOLERANCE_S


def test_the_ttl_of_the_server_is_the_default(start_server: ServerFactory) -> None:
    with Client(f"127.0.0.1:{start_server(default_ttl='2h').grpc_port}") as client:
        assert abs(_lifetime(client) - 2 * 3600) < _TOLERANCE_S


def test_the_ttl_of_the_request_overrides_the_servers(start_server: ServerFactory) -> None:
    with Client(f"127.0.0.1:{start_server(default_ttl='2h').grpc_port}") as client:
        assert abs(_lifetime(client, ttl=timedelta(minutes=30)) - 30 * 60) < _TOLERANCE_S


def test_system_messages_are_stored(start_server: ServerFactory) -> None:
    """The log is verbatim, so the server stores system messages; an agent kit may leave them out."""
    with Client(f"127.0.0.1:{start_server().grpc_port}") as client:
        session = client.create_session("s1", user_id="alice")
        client.append(session, system("be brief"), user("hi"))
        assert [event.message.role for event in client.events(session)] == [3, 1]
