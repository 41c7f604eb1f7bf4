"""A server renews the terms of the index after a change of the analyzer: with kill -9 it or another one continues, and under
load it ends. At the end the index is that of a fresh one."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

import threadkeep
from tests.support.databases.postgres import PostgresCluster
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG, size
from tests.support.servers.server_process import url_settings

from .conftest import Look, ServerMaker
from .harness.background_tasks import background
from .harness.ledger import connect
from .harness.outdated_index import RENEWED, IndexTables, Steps, outdated
from .harness.search_invariants import caught_up

EVENTS, KILLS, AT_ONCE = size(20_000, 240), size(20, 2), size(128, 16)
STEPS = -(-EVENTS // AT_ONCE)
SHARE = STEPS // (KILLS + 1)  # from a kill to the next one
SEARCHES = size(100, 10)
IN_STEPS = Steps.prelude(AT_ONCE, 0.02, by_process=LONG)
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


@pytest.fixture
def steps(tmp_path: Path) -> Steps:
    return Steps(tmp_path)


async def test_a_renewal_interrupted_by_kills_continues(
    make_server: ServerMaker, database_url: str | None, look: Look, tables: IndexTables, steps: Steps, say: Say
) -> None:
    async with outdated(make_server, EVENTS, **url_settings(database_url)) as texts:
        server, renewed = make_server(prelude=IN_STEPS, **url_settings(database_url)), 0
        steps.allow(SHARE)
        await asyncio.to_thread(server.start)
        async with connect(server.address) as client:
            for number in range(1, KILLS + 1):
                before = await _reached(look, renewed)
                await texts.say(client, "u0", [(f"meanwhile {number}", ("flew",))])
                await asyncio.sleep(random.uniform(0, 0.05 * SHARE))
                await asyncio.to_thread(server.kill)
                renewed = look(RENEWED)
                assert before <= renewed < look(UPTO), "in the middle"
                steps.allow((number + 1) * SHARE)
                await asyncio.to_thread(server.start)
                await texts.check_found(client, SEARCHES)
            steps.allow(1 << 30)
            await caught_up(client, 600)
            searches = await texts.check_found(client)
        assert server.terminate() == 0, server.log
        again = len(steps.done()) - STEPS
        say(f"renewal, {KILLS} kills: {EVENTS} events in {STEPS} steps and {again} again; {searches} searches at the end")
        assert again <= KILLS, "a kill costs one step"
        await _check_fresh(make_server, database_url, tables)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_another_server_continues_the_renewal_of_a_killed_one(
    make_server: ServerMaker, database_url: str | None, look: Look, tables: IndexTables, steps: Steps, say: Say
) -> None:
    waits: list[float] = []
    async with outdated(make_server, EVENTS, **url_settings(database_url)) as texts:
        servers = [make_server(prelude=IN_STEPS, **url_settings(database_url)) for _ in range(2)]
        steps.allow(0)  # a start waits for the transaction of another server
        for server in servers:
            await asyncio.to_thread(server.start)
        for _ in range(size(5, 1)):
            steps.allow(limit := len(steps.done()) + SHARE)
            at_work = await _waiting(steps, limit)
            killed, other = sorted(servers, key=lambda server: server.serving_pid != at_work)
            await asyncio.to_thread(killed.kill)
            since, renewed = time.monotonic(), look(RENEWED)
            assert renewed < look(UPTO), "in the middle"
            steps.allow(limit + SHARE)
            await _reached(look, renewed)
            waits.append(time.monotonic() - since)
            assert set(steps.done()[limit:]) == {other.serving_pid}
            async with connect(other.address) as client:
                await texts.check_found(client, SEARCHES)
            if LONG:
                steps.allow(0)
                await asyncio.to_thread(killed.start)
        steps.allow(1 << 30)
        async with connect(other.address) as client:
            await caught_up(client, 600)
            await texts.check_found(client)
        assert len(steps.done()) == STEPS, "none twice"
        say(f"renewal by another server: within {max(waits):.2f} s of a kill")
        if LONG:
            for server in servers:
                server.kill()
            await _check_fresh(make_server, database_url, tables)


async def _waiting(steps: Steps, done: int) -> int:
    """Returns the process that waits after so many steps, inside its transaction."""
    async with asyncio.timeout(90):
        while not (pid := steps.waiting(done)):  # noqa: ASYNC110 - the server sends no signal
            await asyncio.sleep(0.01)
    return pid


class TestUnderLoad:
    """Appends that never pause: the indexer always has something to index."""

    __test__ = LONG
    EVENTS, WRITERS = 3_000, 16

    async def test_a_renewal_ends_while_appends_never_pause(
        self, make_server: ServerMaker, database_url: str | None, look: Look, tables: IndexTables, say: Say
    ) -> None:
        async with outdated(make_server, self.EVENTS, **url_settings(database_url)) as texts:
            server = make_server(**url_settings(database_url))
            await asyncio.to_thread(server.start)
            appended = [0] * self.WRITERS
            async with connect(server.address) as client:
                began = time.monotonic()
                async with background(*(_append_each(client, number, appended) for number in range(self.WRITERS))) as writers:
                    while look(RENEWED) == 0 or look(RENEWED) < look(UPTO):
                        writers.check()
                        await texts.check_found(client, SEARCHES)
                        assert time.monotonic() - began < 1200
                    took = time.monotonic() - began
                rates = f"{self.EVENTS / took:.0f} events/s renewed, {sum(appended) / took:.0f} appended"
                say(f"renewal under load: {took:.0f} s, {rates}")
                await caught_up(client, 600)
                await texts.check_found(client)
            assert server.terminate() == 0, server.log
            await _check_fresh(make_server, database_url, tables)


async def _append_each(client: threadkeep.AsyncClient, number: int, appended: list[int]) -> None:
    while True:
        await client.append(f"w{number}", threadkeep.user(f"message {appended[number]}"), create_if_missing=True)
        appended[number] += 1
