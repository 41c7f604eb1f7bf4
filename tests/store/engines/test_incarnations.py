"""An incarnation of a database ends where it is restored: resume tokens name it (see tests/feed/test_restored.py)."""

from __future__ import annotations

import asyncio
import subprocess
from functools import partial
from pathlib import Path

import asyncpg
import pytest

from tests.support.codec import CODEC, draft
from tests.support.databases.postgres import PostgresCluster, find_binaries
from tests.support.feed import settled
from tests.support.sessions import append, create
from threadkeep_server.domain.feed import Incarnation
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.store import open_store

on_postgres = pytest.mark.postgres
# Another transaction writes the row, as in a restore.
_REWRITTEN = "UPDATE threadkeep_meta SET value = value WHERE key = 'incarnations'"


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url.replace("+asyncpg", ""))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def lives(url: str, *, writing: bool = False) -> tuple[Incarnation, ...]:
    """Of a database that a server is started on and stopped."""
    async with open_store(url, CODEC) as store:
        if writing:
            await create(store, f"s{(await settled(store)).change}")
            await settled(store)
        return store.incarnations().known


async def test_every_start_on_a_file_that_has_changed_begins_one(sqlite_url: str) -> None:
    (first,) = await lives(sqlite_url, writing=True)
    begun = await lives(sqlite_url, writing=True)
    assert begun[0] == first
    assert (begun[1].start.change, len({each.number for each in begun})) == (1, 2)


async def test_starts_without_changes_leave_one_incarnation(sqlite_url: str) -> None:
    """But another one: a copy of the file may have gone on."""
    (first,) = await lives(sqlite_url)
    (second,) = await lives(sqlite_url)
    assert (second.start, second.number != first.number) == (first.start, True)


async def test_incarnations_of_trimmed_changes_are_forgotten(sqlite_url: str) -> None:
    for _ in range(3):
        known = await lives(sqlite_url, writing=True)
    assert len(known) == 3
    async with open_store(sqlite_url, CODEC) as store:
        while (await store.info("", totals=False)).index_lag:  # noqa: ASYNC110 - the indexer sends no signal
            await asyncio.sleep(0.01)
        assert await store.trim_feed(1 << 62, 2)
    assert [each.start.change for each in await lives(sqlite_url)][:1] == [1]


@on_postgres
async def test_servers_of_one_database_share_an_incarnation(postgres_url: str) -> None:
    known = await lives(postgres_url, writing=True)
    assert await lives(postgres_url, writing=True) == known
    async with open_store(postgres_url, CODEC) as one, open_store(postgres_url, CODEC) as other:
        assert one.incarnations() == other.incarnations()
        assert one.incarnations().known == known


@on_postgres
async def test_a_copy_of_a_database_begins_one(postgres_url: str, postgres: PostgresCluster) -> None:
    known = await lives(postgres_url, writing=True)
    name = postgres_url.rpartition("/")[2]
    copy = postgres.create_database(f"{name}_copy", template=name)
    try:
        assert (await lives(copy))[:-1] == known
        assert await lives(postgres_url) == known
    finally:
        postgres.drop_database(f"{name}_copy")


@on_postgres
async def test_a_dump_that_is_restored_in_place_begins_one(postgres_url: str, tmp_path: Path) -> None:
    known = await lives(postgres_url, writing=True)
    binaries, url = find_binaries(), postgres_url.replace("+asyncpg", "")
    assert binaries is not None
    dump = tmp_path / "dump.sql"
    for command in (("pg_dump", "--clean", "-d", url, "-f", dump), ("psql", "-d", url, "-qf", dump)):
        run = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)
        await asyncio.to_thread(run, [binaries / command[0], *command[1:]])
    assert (await lives(postgres_url))[:-1] == known


@on_postgres
async def test_a_server_reads_a_change_with_the_incarnation_that_another_server_began(postgres_url: str) -> None:
    """Behind a pooler it has not noticed the restart itself. The indexer would: it reads the feed when it likes."""
    async with open_store(postgres_url, CODEC, options=SqlOptions(search_index=False)) as store:
        await create(store)
        begun: list[int] = []
        store.on_incarnation(lambda: begun.append(len(store.incarnations().known)))
        before = await settled(store)
        await execute(postgres_url, _REWRITTEN)
        async with open_store(postgres_url, CODEC) as other:
            await append(other, draft("later"))
            await settled(other)
        assert begun == []
        page = await store.changes(before, 10)
        assert begun == [2]
        assert [store.incarnations().of(each.position) for each in page.changes] == [other.incarnations().known[-1].number]
