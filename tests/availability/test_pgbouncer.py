"""Servers behind PgBouncer in transaction mode: every statement may run on another connection than the one before it.

The long form also tests a later PgBouncer, which keeps prepared statements, built from the source of a later Debian.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import asyncpg
import pytest

import threadkeep
from tests.faults.harness.ledger import Ledger, Load, connect
from tests.support.databases.postgres import PostgresCluster
from tests.support.databases.scratch import scratch_folder
from tests.support.runs.thoroughness import with_long
from threadkeep_server.store.sql.backups.postgres_dump import restore_dump
from threadkeep_server.store.sql.engine.postgres_separate import PooledConnection
from threadkeep_server.store.sql.verification.snapshots import in_snapshot

from .conftest import LATER, PACKAGED, PREPARING, ServerMaker, program_of, required
from .harness.bouncer import Bouncer

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=with_long([PACKAGED], LATER, PREPARING))
def bouncer(request: pytest.FixtureRequest, postgres: PostgresCluster) -> Iterator[Bouncer]:
    required()
    with scratch_folder() as folder:
        bouncer = Bouncer(folder, postgres, program_of(request, folder), prepares=request.param == PREPARING)
        bouncer.start()
        yield bouncer
        bouncer.kill()
    postgres.drop_database("threadkeep")
    postgres.execute("DROP ROLE threadkeep")


async def until_failed(ledger: Ledger, writers: int) -> None:
    """Waits until so many writers had an error."""
    async with asyncio.timeout(90):
        while len(ledger.failed) < writers:  # noqa: ASYNC110 - the writers set it
            await asyncio.sleep(0.02)


async def prepared(bouncer: Bouncer) -> int:
    """Returns how many statements are prepared on one of the connections that servers share."""
    connection = await asyncpg.connect(bouncer.url, statement_cache_size=0)
    try:
        [[count]] = await connection.fetch("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'PGBOUNCER%'")
        return int(count)
    finally:
        await connection.close()


async def test_two_servers_behind_a_pooler_lose_nothing_when_it_is_killed(make_server: ServerMaker, bouncer: Bouncer) -> None:
    servers = [await asyncio.to_thread(make_server(**bouncer.settings).start) for _ in range(2)]
    ledger = Ledger()
    async with connect(servers[0].address) as first, connect(servers[1].address) as second:
        async with Load(ledger, first, ("one",)) as load, Load(ledger, second, ("two",)):
            await load.until_acknowledged(100)
            ledger.failed.clear()
            bouncer.kill()
            await until_failed(ledger, 6)
            bouncer.start()
            await load.until_acknowledged(100)
        assert await ledger.check(servers[1].address) >= ledger.acknowledged
        found = {hit.event.event_id async for hit in first.search("w0-1", session="two")}
        assert any(event_id.startswith("w0-1") for event_id in found)
        assert (await prepared(bouncer) > 0) is bouncer.prepares
    assert set(ledger.problems) <= {"STORE_UNAVAILABLE"}, ledger.problems
    assert not any("unhandled" in server.log for server in servers)


async def test_a_change_of_another_server_is_heard_past_the_pooler(make_server: ServerMaker, bouncer: Bouncer) -> None:
    settings = {**bouncer.settings, "feed_poll_interval": "60s"}
    servers = [await asyncio.to_thread(make_server(**settings).start) for _ in range(2)]
    async with connect(servers[0].address) as writer, connect(servers[1].address) as watcher:
        await writer.create_session("heard")
        async with aclosing(watcher.watch("heard", after_seq=0)) as changes:
            await anext(changes)
            await asyncio.sleep(0.5)
            began = time.monotonic()
            await writer.append("heard", threadkeep.user("hello"))
            async with asyncio.timeout(30):
                await anext(changes)
            assert time.monotonic() - began < 20, "it was not found by polling"


async def test_a_pooler_without_its_setting_prevents_the_start(make_server: ServerMaker, bouncer: Bouncer) -> None:
    if bouncer.prepares:
        pytest.skip("it needs no setting, its own settings are tested above")
    server = make_server(database_url=bouncer.url)
    server.launch()
    assert await asyncio.to_thread(server.wait) == 1
    assert "database_pooler" in server.log
    assert "Traceback" not in server.log


def test_a_pooler_is_refused_by_what_needs_the_database_itself(bouncer: Bouncer) -> None:
    with pytest.raises(PooledConnection, match="database_url of a command"):
        in_snapshot(bouncer.url, lambda _: None)
    with pytest.raises(PooledConnection):
        restore_dump(Path("backup.dump"), bouncer.url, "15", None, lambda: None)
