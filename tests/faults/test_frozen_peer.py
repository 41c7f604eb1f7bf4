"""A server that is frozen in the middle of a transaction does not stop the others on its database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import threadkeep

from .conftest import ServerMaker
from .harness.ledger import connect

# It stops itself once it has locked the session. What it has locked is free after a second, not after 15.
FREEZES = """
import os, signal
from threadkeep_server.store.sql.engine import postgres_dialect
postgres_dialect._ACQUIRE_SOON = postgres_dialect._ACQUIRE_SOON.replace("15s", "1s")
acquire = postgres_dialect.PostgresLocks.acquire
def freezing(self, connection, names, **options):
    acquire(self, connection, names, **options)
    if any(name == "stuck" for _, name in names):
        os.kill(os.getpid(), signal.SIGSTOP)
postgres_dialect.PostgresLocks.acquire = freezing
"""


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.postgres
async def test_a_frozen_server_does_not_stop_the_appends_of_others(make_server: ServerMaker, durable_url: str) -> None:
    one = make_server(database_url=durable_url).start()
    frozen = make_server(database_url=durable_url, prelude=FREEZES).start()
    async with connect(one.address) as client, connect(frozen.address) as elsewhere:
        for name in ("stuck", "other"):
            await client.create_session(name)
        unanswered = asyncio.create_task(elsewhere.append("stuck", threadkeep.user("frozen")))
        async with asyncio.timeout(60):
            while not is_stopped(frozen.serving_pid):  # noqa: ASYNC110 - it cannot send a signal
                await asyncio.sleep(0.01)
        waiting = asyncio.create_task(client.append("stuck", threadkeep.user("waits")))
        async with asyncio.timeout(20):
            for _ in range(5):
                await client.append("other", threadkeep.user("undisturbed"))
            # PostgreSQL ends the transaction of the frozen server, which has committed nothing.
            assert (await waiting).last_seq == 1
        unanswered.cancel()
        await asyncio.wait([unanswered])
