"""Signals to a server process."""

from __future__ import annotations

import os
import signal

from .conftest import ServerMaker
from .harness.ledger import connect


async def test_sighup_without_a_terminal_ends_nothing(make_server: ServerMaker) -> None:
    server = make_server(frontend="grpc").start()
    os.kill(server.pid, signal.SIGHUP)
    async with connect(server.address) as client:
        assert (await client.info()).version
    os.kill(server.pid, signal.SIGTERM)
    assert server.wait() == 0
    assert "SIGHUP: " in server.log
