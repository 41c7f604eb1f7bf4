"""kill -9 while a server renews the terms of the index after a change of the analyzer: it or another one continues, and the
index is that of a fresh one at the end."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

from tests.support.databases.postgres import PostgresCluster
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG, size
from tests.support.servers.server_process import url_settings

from ..conftest import Look, ServerMaker
from ..harness.ledger import connect
from ..harness.outdated_index import RENEWED, IndexTables, outdated, renewing
from ..harness.search_invariants import caught_up

EVENTS, KILLS, AT_ONCE = size(20_000, 400), size(20, 2), size(128, 16)
SEARCHES = size(100, 10)
SLOWLY = renewing(AT_ONCE, 0.02, by_process=LONG)
UPTO = "SELECT upto FROM words_renewal"

pytestmark = pytest.mark.timeout(3600 if LONG else 300)


@pytest.fixture
def tables(request: pytest.FixtureRequest, database_url: str | None, tmp_path: Path) -> IndexTables:
    if database_url is None:
        return IndexTables(tmp_path, None)
    cluster: PostgresCluster = request.getfixturevalue("durable_postgres")
    return IndexTables(tmp_path, (cluster, database_url.rpartition("/")[2]))


async def _reached(look: Look, more_than: int) -> int:
    """Returns the id up to which terms are renewed, once it is larger."""
    async with asyncio.timeout(90):
        while (renewed := look(RENEWED)) <= more_than:  # noqa: ASYNC110 - the server sends no signal
            await asyncio.sleep(0.05)
    return renewed


async def _check_fresh(make_server: ServerMaker, database_url: str | None, tables: IndexTables) -> None:
    """Checks that the index has what one has that is made now. No server runs."""
    renewed = tables.rows()
    assert all(renewed.values())
    tables.drop()
    server = await asyncio.to_thread(make_server(**url_settings(database_url)).start)
    async with connect(server.address) as client:
        await caught_up(client, 600)
    server.kill()
    fresh = tables.rows()
    for table, rows in renewed.items():
        assert rows == fresh[table], table


async def test_a_renewal_interrupted_by_kills_continues(
    make_server: ServerMaker, database_url: str | None, look: Look, tables: IndexTables, tmp_path: Path, say: Say
) -> None:
    async with outdated(make_server, EVENTS, **url_settings(database_url)) as texts:
        server, renewed = make_server(prelude=SLOWLY, **url_settings(database_url)), 0
        await asyncio.to_thread(server.start)
        async with connect(server.address) as client:
            for number in range(KILLS):
                before = await _reached(look, renewed)
                await texts.say(client, "u0", [(f"meanwhile {number}", ("flew",))])
                await asyncio.sleep(random.uniform(0, 0.05))
                await asyncio.to_thread(server.kill)
                renewed = look(RENEWED)
                assert before <= renewed < look(UPTO), "in the middle"
                await asyncio.to_thread(server.start)
                await texts.check_found(client, SEARCHES)
            await caught_up(client, 600)
            searches = await texts.check_found(client)
        assert server.terminate() == 0, server.log
        steps = len((tmp_path / "renewed").read_text().split())
        again = steps - -(-EVENTS // AT_ONCE)
        say(f"renewal, {KILLS} kills: {EVENTS} events in {steps} steps, {again} of them again; {searches} searches at the end")
        assert again <= KILLS, "a kill costs one step"
        await _check_fresh(make_server, database_url, tables)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_another_server_continues_the_renewal_of_a_killed_one(
    make_server: ServerMaker, database_url: str | None, look: Look, tables: IndexTables, tmp_path: Path, say: Say
) -> None:
    waits: list[float] = []
    async with outdated(make_server, EVENTS, **url_settings(database_url)) as texts:
        servers = [make_server(prelude=SLOWLY, **url_settings(database_url)) for _ in range(2)]
        for server in servers:
            await asyncio.to_thread(server.start)
        for _ in range(size(10, 1)):
            at_work = await _at_work(tmp_path / "renewed")
            killed, other = sorted(servers, key=lambda server: server.serving_pid != at_work)
            await asyncio.to_thread(killed.kill)
            renewed, since = look(RENEWED), time.monotonic()
            assert renewed < look(UPTO), "in the middle"
            assert await _at_work(tmp_path / "renewed", other_than=at_work) == other.serving_pid
            waits.append(time.monotonic() - since)
            async with connect(other.address) as client:
                await texts.check_found(client, SEARCHES)
            assert await _reached(look, renewed) > renewed
            if LONG:
                await asyncio.to_thread(killed.start)
        async with connect(other.address) as client:
            await caught_up(client, 600)
            await texts.check_found(client)
        say(f"renewal by another server: within {max(waits):.2f} s of a kill")
        if LONG:
            for server in servers:
                server.kill()
            await _check_fresh(make_server, database_url, tables)


async def _at_work(journal: Path, other_than: int = 0) -> int:
    """Returns the process that renews, once it is another one."""
    async with asyncio.timeout(90):
        while (pid := _last(journal)) in (0, other_than):  # noqa: ASYNC110 - the server sends no signal
            await asyncio.sleep(0.01)
    return pid


def _last(journal: Path) -> int:
    return int(journal.read_text().split()[-1]) if journal.exists() else 0
