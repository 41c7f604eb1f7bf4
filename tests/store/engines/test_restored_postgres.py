"""The feed continues after a dump is restored into a PostgreSQL cluster that has counted fewer transactions."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from tests.store.rows.consumers import KEY, change, standing, working
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.databases.postgres import PostgresCluster, find_binaries
from tests.support.feed import follow, kinds, settled, trim
from tests.support.sessions import TENANT, append, create, ref, search
from threadkeep_server.domain.feed import BEGINNING, Position
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.sql.store import SqlStore, open_store

pytestmark = pytest.mark.postgres

AHEAD = 1_000_000
_STORED = {
    "changes": "xid",
    "feed_floor": "xid",
    "consumer_partitions": "xid",
    "parked_changes": "change_xid",
    "index_progress": "xid",
}
_OFFSET = "SELECT value FROM threadkeep_meta WHERE key = 'xid_offset'"
_DEFAULT = "SELECT column_default FROM information_schema.columns WHERE table_name = 'changes' AND column_name = 'xid'"
_COUNT_ON = "DO $$ BEGIN FOR i IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"


async def run(url: str, *statements: str) -> list[object]:
    """The first value of what each of them answers."""
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        return [await connection.fetchval(statement) for statement in statements]
    finally:
        await connection.close()


async def age(url: str, *tables: str) -> None:
    """As if these had been stored when the cluster had counted so much further."""
    columns = ((table, _STORED[table]) for table in tables)
    await run(url, *(f"UPDATE {table} SET {xid} = {xid} + {AHEAD} WHERE {xid} > 0" for table, xid in columns))


async def offset(url: str) -> int:
    (reported,) = await run(url, _OFFSET)
    return int(str(reported or 0))


@asynccontextmanager
async def servers(url: str) -> AsyncIterator[list[SqlStore]]:
    """Two that start at once."""
    async with AsyncExitStack() as stack:
        starting = (stack.enter_async_context(open_store(url, CODEC)) for _ in range(2))
        yield await asyncio.gather(*starting)


async def indexed(store: SqlStore) -> None:
    async with asyncio.timeout(60):
        while (await store.info(TENANT, totals=False)).index_lag:  # noqa: ASYNC110 - the indexer sends no signal
            await asyncio.sleep(0.01)


async def fill(store: SqlStore) -> list[Position]:
    """Two sessions, and a consumer that has come to the second change; the changes' positions."""
    await create(store, "s1")
    await append(store, draft("old heron"), to=ref("s1"))
    await create(store, "s2")
    await settled(store)
    positions = [each.position for each in await follow(store)]
    await working(store)
    await store.acknowledge(KEY, "m", dict.fromkeys(range(4), positions[1]))
    return positions


async def check_feed_continues(one: SqlStore, other: SqlStore, old: Sequence[Position]) -> None:
    """New changes come after the old ones, for readers at any position among them."""
    page = await one.changes(BEGINNING, 100)
    assert ([each.position for each in page.changes], page.unsettled) == (list(old), False)
    assert await one.feed_head() == old[-1]
    await append(one, draft("new otter"), to=ref("s2"))
    assert await settled(other) > old[-1]
    await append(other, draft("new stork"), to=ref("s1"))
    await settled(one)
    changes = await follow(one)
    positions = [each.position for each in changes]
    assert positions == sorted(set(positions))
    assert positions[: len(old)] == list(old)
    assert kinds(changes[len(old) :]) == "appended appended"
    for place, position in enumerate(positions):
        assert [each.position for each in await follow(other, after=position)] == positions[place + 1 :]
    assert not (await other.changes(positions[-1], 100)).unsettled


async def test_changes_follow_those_of_a_cluster_that_had_counted_further(postgres_url: str) -> None:
    async with open_store(postgres_url, CODEC) as store:
        old = [Position(each.xid + AHEAD, each.change) for each in await fill(store)]
    await age(postgres_url, *_STORED)
    async with servers(postgres_url) as (one, other):
        await check_feed_continues(one, other, old)
        assert [part.position for part in (await standing(one)).values()] == [old[1]] * 4
        new = await one.feed_head()
        assert not await one.acknowledge(KEY, "m", {2: new})
        assert (await standing(one))[2].position == new
        await indexed(one)
        assert [len(await search(one, word, UserScope("alice"))) for word in ("heron", "otter", "stork")] == [1, 1, 1]


async def test_stored_changes_do_not_wait_for_an_open_transaction(postgres_url: str) -> None:
    """A transaction that somebody else in the new cluster holds open has nothing to add to it."""
    async with open_store(postgres_url, CODEC) as store:
        old = [Position(each.xid + AHEAD, each.change) for each in await fill(store)]
    somebody = await asyncpg.connect(postgres_url.replace("+asyncpg", ""))
    try:
        async with somebody.transaction():
            await somebody.execute("SELECT pg_current_xact_id()")
            await age(postgres_url, *_STORED)
            async with open_store(postgres_url, CODEC) as store:
                page = await store.changes(BEGINNING, 100)
                assert [each.position for each in page.changes] == old
                await append(store, draft("new"), to=ref("s1"))
                assert (await store.changes(old[-1], 100)).unsettled
    finally:
        await somebody.close()


async def test_the_order_is_repaired_once_per_restore(postgres_url: str) -> None:
    async with open_store(postgres_url, CODEC) as store:
        await fill(store)
    grown = [0]
    for _ in range(2):
        await age(postgres_url, *_STORED)
        for _ in range(2):
            async with servers(postgres_url) as (one, other):
                reported = await run(postgres_url, _OFFSET, _DEFAULT)
                await check_feed_continues(one, other, [each.position for each in await follow(one)])
                assert await run(postgres_url, _OFFSET, _DEFAULT) == reported
            grown.append(await offset(postgres_url))
    assert grown[0] < grown[1] == grown[2] < grown[3] == grown[4]


@pytest.mark.parametrize("table", ["changes", "feed_floor", "consumer_partitions", "parked_changes"])
async def test_new_changes_come_after_all_earlier_ones(postgres_url: str, table: str) -> None:
    async with open_store(postgres_url, CODEC) as store:
        positions = await fill(store)
        assert await trim(store, NOW + 1, limit=1) == 1
        assert await store.park(KEY, "m", replace(change(1), position=positions[2]), "no", NOW)
    await age(postgres_url, table)
    (ahead,) = await run(postgres_url, f"SELECT max({_STORED[table]}) FROM {table}")
    async with open_store(postgres_url, CODEC) as store:
        await append(store, draft("new"), to=ref("s1"))
        assert (await settled(store)).xid > int(str(ahead)) > AHEAD


async def test_a_database_that_was_not_restored_keeps_its_order(postgres_url: str) -> None:
    """However many write while servers start."""
    async with open_store(postgres_url, CODEC) as store:
        await create(store)
        writing = True

        async def write() -> None:
            while writing:
                await append(store, draft("x"))

        writer = asyncio.create_task(write())
        for _ in range(5):
            async with servers(postgres_url) as both:
                assert not any("+" in str(each._engine.sql.visible()) for each in both)
        writing = False
        await writer
    reported, default = await run(postgres_url, _OFFSET, _DEFAULT)
    assert reported is None
    assert "+" not in str(default)


@pytest.fixture
def elsewhere(postgres: PostgresCluster) -> Iterator[PostgresCluster]:
    """A cluster that has counted next to nothing."""
    binaries = find_binaries()
    assert binaries is not None
    with PostgresCluster(binaries) as cluster:
        yield cluster


def move(url: str, to: str, file: Path) -> None:
    """By pg_dump and psql."""
    binaries = find_binaries()
    assert binaries is not None
    for command, database, direction in (("pg_dump", url, "-f"), ("psql", to, "-qf")):
        plain = database.replace("+asyncpg", "")
        subprocess.run([binaries / command, "-d", plain, direction, file], check=True, stdout=subprocess.DEVNULL)


async def test_a_dump_restored_into_another_cluster(postgres_url: str, elsewhere: PostgresCluster, tmp_path: Path) -> None:
    await run(postgres_url, _COUNT_ON)
    async with open_store(postgres_url, CODEC) as store:
        old = await fill(store)
    restored = elsewhere.create_database("restored")
    await asyncio.to_thread(move, postgres_url, restored, tmp_path / "dump.sql")
    async with servers(restored) as (one, other):
        await check_feed_continues(one, other, old)
    assert await offset(restored) > 0
