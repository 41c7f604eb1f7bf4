"""The indexes of pgvector behind PgBouncer in transaction mode: they are created outside transactions, under a lock and without
a limit on time, none of which a pooled connection has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace

import asyncpg
import pytest

import threadkeep
from tests.faults.harness.ledger import connect
from tests.support.codec import CODEC, draft
from tests.support.databases.postgres import PostgresCluster
from tests.support.databases.scratch import scratch_folder
from tests.support.models.vectors import DIMENSION, EVENTS, embed_all, vector
from tests.support.runs.thoroughness import size, with_long
from tests.support.sessions import TENANT, session_with
from threadkeep_server.domain.scopes import AppScope, UserScope
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.store import SqlStore, open_store
from threadkeep_server.store.sql.vectors import pgvector

from .conftest import PACKAGED, PREPARING, ServerMaker, program_of, required
from .harness.bouncer import Bouncer

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(300)]
ALICE, SHOP = UserScope("alice"), AppScope("shop")
_INDEXES = (
    "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relname LIKE '%copies_near%' "
    "ORDER BY 1"
)
_LOCKS = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
    "(classid::bigint << 32 | objid::bigint) = hashtextextended('event_vector_copies', 0)"
)
_BUILDING = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'CREATE INDEX%'"
_BUILDER = _BUILDING.replace("count(*)", "pid")


class Pooled:
    """A pooler in front of a database with pgvector."""

    def __init__(self, bouncer: Bouncer, cluster: PostgresCluster) -> None:
        self.bouncer = bouncer
        self._cluster = cluster
        url, direct = (each.replace("postgresql:", "postgresql+asyncpg:") for each in (bouncer.url, bouncer.direct_url))
        self.url = url
        self.without_direct_url = SqlOptions(postgres_pooler=not bouncer.prepares)
        self._options = replace(self.without_direct_url, postgres_listen_url=direct)

    def execute(self, sql: str) -> str:
        """Runs a statement as the superuser."""
        return self._cluster.execute(sql, database="threadkeep")

    def open(self) -> AbstractAsyncContextManager[SqlStore]:
        """Opens a store behind the pooler, as a server does."""
        return open_store(self.url, CODEC, options=self._options)

    async def until(self, sql: str, expected: str) -> None:
        """Waits until a statement returns this."""
        found = ""
        async with asyncio.timeout(60):
            while found != expected:
                await asyncio.sleep(0.05)
                found = await asyncio.to_thread(self.execute, sql)


@pytest.fixture(params=with_long([PACKAGED], PREPARING))
def without_extension(
    request: pytest.FixtureRequest, pgvector_postgres: PostgresCluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pooled]:
    required()
    monkeypatch.setattr(pgvector, "LARGE_FROM", 5)
    monkeypatch.setattr(pgvector, "_COUNTED_EVERY_S", 0.2)
    monkeypatch.setattr(pgvector, "_RETRY_S", 0.2)
    with scratch_folder() as folder:
        bouncer = Bouncer(folder, pgvector_postgres, program_of(request, folder), prepares=request.param == PREPARING)
        try:
            bouncer.start()
            yield Pooled(bouncer, pgvector_postgres)
        finally:
            bouncer.kill()
            pgvector_postgres.drop_database("threadkeep")
            pgvector_postgres.execute("DROP ROLE threadkeep")


@pytest.fixture
def pooled(without_extension: Pooled) -> Pooled:
    without_extension.execute("CREATE EXTENSION vector")
    return without_extension


@pytest.fixture
async def model(pooled: Pooled) -> int:
    """A model, and sessions of two apps with vectors by it."""
    async with pooled.open() as store:
        await session_with(store, *(draft(f"text {number}") for number in range(12)))
        await session_with(store, draft("elsewhere"), app="desk", session_id="s2")
        number = await store.vector_model("small", DIMENSION)
        await embed_all(store, number)
    return number


@asynccontextmanager
async def held_up(pooled: Pooled) -> AsyncIterator[None]:
    """Meanwhile no index can be completed: a transaction could still read what an index does not have."""
    connection = await asyncpg.connect(pooled.bouncer.direct_url)
    try:
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await connection.execute("SELECT 1 FROM pg_class")
        yield
    finally:
        await connection.close()


async def near(store: SqlStore, model: int, scope: UserScope | AppScope) -> list[str]:
    """Returns the texts of the scope, the nearest first; all must be found."""
    async with asyncio.timeout(60):
        while (found := await store.nearest(EVENTS, TENANT, scope, model, vector("question"), 100)) is None:  # noqa: ASYNC110 - there is no signal for it
            await asyncio.sleep(0.05)  # some vectors may have no copies yet
    events = await store.events_by_key(TENANT, scope, [key for key, _ in found])
    assert len(events) == (13 if scope == ALICE else 12)
    return [CODEC.text(each.event.body) for each in events]


async def until_indexed(store: SqlStore, model: int, scope: UserScope | AppScope) -> None:
    """Searches until a search uses the index; every one finds the same."""
    index, before = store._vector_index, await near(store, model, scope)
    assert isinstance(index, pgvector.PgVector)
    async with asyncio.timeout(60):
        while not index._ready:
            assert await near(store, model, scope) == before
            await asyncio.sleep(0.05)
    assert await near(store, model, scope) == before


async def test_index_whose_creation_is_killed_is_made_by_another_server(pooled: Pooled, model: int) -> None:
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(pooled.open()) for _ in range(2)]
        async with held_up(pooled):
            await near(one, model, ALICE)
            await pooled.until(_BUILDING, "1")
            # Of the same table and at the same time, two would wait for each other.
            for _ in range(10):
                await near(one, model, ALICE)
                await near(other, model, ALICE)
                await near(other, model, SHOP)
                await asyncio.sleep(0.05)
            assert pooled.execute(_BUILDING) == "1"
            pid = pooled.execute(_BUILDER)
            assert pooled.execute(f"SELECT pg_terminate_backend({pid})") == "t"
            # The other server may have begun by now.
            await pooled.until(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}", "0")
            assert "|t" not in pooled.execute(_INDEXES), "it can be used though it is not complete"
        for store in (other, one):
            await until_indexed(store, model, ALICE)
        await pooled.until(_LOCKS, "0")
    assert pooled.execute(_INDEXES).count("|t") == len(pooled.execute(_INDEXES).splitlines()) >= 1


async def test_server_that_is_closed_while_it_makes_an_index_makes_it_after_its_start(pooled: Pooled, model: int) -> None:
    async with held_up(pooled):
        async with asyncio.timeout(60), pooled.open() as store:
            await near(store, model, ALICE)
            await pooled.until(_BUILDING, "1")
        await pooled.until(_BUILDING, "0")
        await pooled.until(_LOCKS, "0")
        assert pooled.execute(_INDEXES).endswith("|f")
    async with pooled.open() as store:
        await until_indexed(store, model, ALICE)
    assert pooled.execute(_INDEXES).endswith("|t")


async def test_without_a_url_past_the_pooler_vectors_are_compared(
    pooled: Pooled, model: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(pooled.url, CODEC, options=pooled.without_direct_url) as store:
        async with asyncio.timeout(60):
            while "database_listen_url" not in caplog.text:
                await near(store, model, ALICE)
                await asyncio.sleep(0.05)
        await near(store, model, ALICE)
    assert pooled.execute(_INDEXES) == ""
    assert pooled.execute(_LOCKS) == "0"


async def test_role_that_may_not_create_the_extension_searches_without(
    without_extension: Pooled, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with without_extension.open() as store:
        assert store._vector_index is None
    assert "CREATE EXTENSION vector" in caplog.text
    caplog.clear()
    # Where the role finds no names, the extension is of no use.
    without_extension.execute("CREATE SCHEMA elsewhere")
    without_extension.execute("CREATE EXTENSION vector SCHEMA elsewhere")
    async with without_extension.open() as store:
        assert store._vector_index is None
    assert "search_path" in caplog.text


_SMALL = """
from threadkeep_server.store.sql.vectors import pgvector
pgvector.LARGE_FROM, pgvector._COUNTED_EVERY_S = 20, 0.2
"""
_USED = "SELECT count(*) FROM pg_stat_user_indexes WHERE indexrelname LIKE '%copies_near%' AND idx_scan > 0"


async def test_servers_behind_a_pooler_search_by_index_and_make_another_for_another_model(
    make_server: ServerMaker, pooled: Pooled
) -> None:
    indexes: list[str] = []
    for dimensions in (64, 128):
        settings = {**pooled.bouncer.settings, "embedder": "hashing", "embedder_dimensions": dimensions}
        servers = [await asyncio.to_thread(make_server(**settings, prelude=_SMALL).start) for _ in range(size(2, 1))]
        async with connect(servers[0].address) as one, connect(servers[-1].address) as other, asyncio.timeout(120):
            if not indexes:
                await one.create_session("one")
                await one.append("one", *(threadkeep.user(f"the parcel number {number} has arrived") for number in range(40)))
            before, made = indexes, ""
            while not made or made in before or pooled.execute(_USED) != "1":
                for client in (one, other):
                    found = [hit async for hit in client.search("number 17", session="one", mode="semantic")]
                    # Those without a vector by the new model are embedded meanwhile.
                    assert all("parcel" in hit.event.text for hit in found)
                await asyncio.sleep(0.1)
                made = pooled.execute(_INDEXES)
            indexes = made.split("\n")
        for server in servers:
            server.kill()
            assert "indexing vectors failed" not in server.log
    assert pooled.execute(_LOCKS) == "0"
