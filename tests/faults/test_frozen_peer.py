"""A server that is frozen in the middle of a transaction does not stop the others on its database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import threadkeep
from tests.support.runs.thoroughness import LONG

from .conftest import ServerMaker
from .harness.ledger import connect
from .harness.search_invariants import caught_up

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


# It stops itself once it indexes; its transaction ends after two seconds, not after three minutes.
FREEZES_INDEXING = """
import os, signal
from threadkeep_server.store.sql.search import indexer
indexer._LONGEST_PAUSE_S = 2
derive = indexer.Indexer._derive
def freezing(self, connection, found, by_process):
    derive(self, connection, found, by_process)
    if found:
        os.kill(os.getpid(), signal.SIGSTOP)
indexer.Indexer._derive = freezing
"""


@pytest.mark.postgres
@pytest.mark.skipif(not LONG, reason="its setting is tested in tests/store/search/test_renewal.py")
async def test_a_server_that_is_frozen_while_it_indexes_stops_neither_the_index_nor_starts(
    make_server: ServerMaker, durable_url: str
) -> None:
    frozen = make_server(database_url=durable_url, prelude=FREEZES_INDEXING).start()
    async with connect(frozen.address) as elsewhere:
        await elsewhere.append("s1", threadkeep.user("an apple"), create_if_missing=True)
        async with asyncio.timeout(60):
            while not is_stopped(frozen.serving_pid):  # noqa: ASYNC110 - it cannot send a signal
                await asyncio.sleep(0.01)
    other = await asyncio.to_thread(make_server(database_url=durable_url).start)
    async with connect(other.address) as client:
        await caught_up(client)
        assert len((await client.search_page("apple")).hits) == 1
