"""Servers of the previous version are replaced by present ones on one database, one after the other, and back: under the load
of clients of both versions no call fails, and every event is stored and delivered once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import threadkeep
from tests.support.servers.server_process import ForkServer, ServerProcess, fork_server
from threadkeep_server.store.sql.schema.tables import OLDEST_CODE_THAT_CAN_RUN, SCHEMA_VERSION

from ..conftest import Command
from .balancer import Balancer
from .source import environment, schema_of

WITHIN = 120.0
MORE = 15
"""Events that each writer appends between two steps."""
SESSIONS = 4
# What the next version may do: it adds, and older servers do not need what it adds.
EXPAND = """
from threadkeep_server.store.sql.schema import versions
versions.SCHEMA_VERSION += 1
migrate = versions._migrate
def expand(connection):
    migrate(connection)
    connection.exec_driver_sql("ALTER TABLE sessions ADD COLUMN note text NOT NULL DEFAULT ''")
    connection.exec_driver_sql("ALTER TABLE events ADD COLUMN note text")
    connection.exec_driver_sql("CREATE TABLE notes (id bigint PRIMARY KEY)")
versions._migrate = expand
"""
_LOAD = Path(__file__).with_name("load.py")


@contextmanager
def _load(address: str, name: str, env: dict[str, str] | None) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(_LOAD), address, name]
    process = subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _connected(balancer: Balancer) -> threadkeep.AsyncClient:
    return threadkeep.AsyncClient(balancer.address, app="shop", user_id="ann", timeout=60)


def _result(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate("", timeout=WITHIN)
    assert process.returncode == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


class _Rollout:
    """Replaces servers, while the load continues."""

    def __init__(self, stack: ExitStack, balancer: Balancer, client: threadkeep.AsyncClient, server: dict[str, Any]) -> None:
        self._stack = stack
        self._balancer = balancer
        self._client = client
        self._settings = server

    async def start(self, servers: ForkServer, root: Path, prelude: str = "") -> ServerProcess:
        server = self._stack.enter_context(ServerProcess(servers, root, prelude=prelude, **self._settings))
        await asyncio.to_thread(server.start)
        self._balancer.add(server.port)
        return server

    async def stop(self, server: ServerProcess) -> None:
        self._balancer.remove(server.port)
        assert await asyncio.to_thread(server.terminate) == 0, server.log

    async def progress(self) -> None:
        """Returns when each writer has appended MORE events."""
        start: dict[str, int] = {}
        async with asyncio.timeout(WITHIN):
            while True:
                stored = {each.ref.session_id: each.last_seq async for each in self._client.sessions()}
                if len(start) < SESSIONS:
                    start = stored
                elif all(count >= start[name] + MORE for name, count in stored.items()):
                    return
                await asyncio.sleep(0.1)


def test_servers_of_the_previous_version_can_run_on_the_present_schema(previous: Path) -> None:
    """What a rolling upgrade needs; CONTRIBUTING says how a schema is changed."""
    assert schema_of(previous) >= OLDEST_CODE_THAT_CAN_RUN


@pytest.mark.postgres
async def test_no_call_fails_while_servers_are_replaced(
    previous: Path, previous_servers: ForkServer, postgres_url: str, tmp_path: Path, db: Command
) -> None:
    before = schema_of(previous)
    prelude = EXPAND if before == SCHEMA_VERSION else ""
    with ExitStack() as stack:
        async with Balancer() as balancer, _connected(balancer) as client:
            rollout = _Rollout(stack, balancer, client, {"database_url": postgres_url})
            old = [await rollout.start(previous_servers, tmp_path) for _ in range(2)]
            clients = {"old": environment(previous), "new": None}
            loads = [stack.enter_context(_load(balancer.address, name, env)) for name, env in clients.items()]
            await rollout.progress()
            new = []
            for each in old:
                new.append(await rollout.start(fork_server(), tmp_path, prelude))
                await rollout.progress()
                await rollout.stop(each)
                await rollout.progress()
            schema = await asyncio.to_thread(db, "current", "--database-url", postgres_url)
            assert schema["schema_version"] > before
            back = await rollout.start(previous_servers, tmp_path)
            for each in new:
                await rollout.stop(each)
                await rollout.progress()
            results = [await asyncio.to_thread(_result, each) for each in loads]
            for result in results:
                assert result["failed"] == []
                assert result["watched"] == result["acknowledged"]
                for name, count in result["acknowledged"].items():
                    events = [event.text async for event in client.events(name)]
                    assert events == [f"event {number}" for number in range(count)]
            await rollout.stop(back)
    found = await asyncio.to_thread(db, "verify", "--database-url", postgres_url)
    assert found["shown"] == []
    assert found["events"] == sum(sum(result["acknowledged"].values()) for result in results)
