"""Row-level security: statements that forget their tenant find and change nothing of others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from tests.store.suite import StoreSuite
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.databases.emptied import Emptied, open_emptied
from tests.support.databases.postgres import PostgresCluster
from tests.support.memories import memory
from tests.support.runs.thoroughness import LONG
from tests.support.sessions import append, compact, create, ref
from threadkeep_server.domain.feed import FeedScope, Position
from threadkeep_server.domain.memories import Forget, MemoryScope
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.state.state import StateName, StatePage, StatePatch, StateQuery, StateScope
from threadkeep_server.store.contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from threadkeep_server.store.contract.consumers import Consumer, ConsumerKey
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.schema.row_security import RowSecurityBypassed
from threadkeep_server.store.sql.schema.tables import events, sessions
from threadkeep_server.store.sql.store import SqlStore, open_store

pytestmark = [pytest.mark.postgres, pytest.mark.asyncio(loop_scope="module")]

OPTIONS = SqlOptions(row_security=True)
QUOTED = 'a "quoted" {tenant}, \\ and more'
SCOPED = (
    *("sessions", "session_labels", "events", "changes", "compactions", "policies"),
    *("consumers", "consumer_members", "consumer_partitions", "memories", "memory_tombstones"),
)


@pytest.fixture(scope="module")
def url(postgres: PostgresCluster) -> Iterator[str]:
    """The URL of an empty database of a user who is bound by row-level security."""
    postgres.execute("CREATE ROLE bound LOGIN", "CREATE DATABASE row_security OWNER bound")
    try:
        yield postgres.url("row_security").replace("test@", "bound@")
    finally:
        postgres.drop_database("row_security")
        postgres.execute("DROP ROLE bound")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def emptied(url: str) -> AsyncIterator[Emptied]:
    async with open_emptied(url, OPTIONS) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def store(emptied: Emptied) -> SqlStore:
    return await emptied.store()


async def fill(store: Store, tenant: str) -> None:
    """Writes to every table of a tenant."""
    await create(store, tenant=tenant, labels={"team": "red"})
    await append(store, draft(tenant, event_id="e1"), draft("two", event_id="e2"), tenant=tenant)
    await compact(store, ["e1"], tenant=tenant)
    await store.put_policy(StoredPolicy(PolicyKey(tenant, PolicyScope.APP, "shop"), b"{}", NOW))
    consumer = Consumer(ConsumerKey(tenant, "", "c"), FeedScope(tenant), b"", 1, 3, 10**9, NOW)
    await store.join_consumer(consumer, Position(0, 0), "m", NOW, NOW + 10**12)
    scope = MemoryScope("shop", "alice")
    drafts = [memory(tenant, id=f"m{number}", namespace=("a", "b")) for number in (1, 2)]
    await store.add_memories(tenant, scope, drafts, NOW, ingesting=False)
    await store.forget(tenant, scope, Forget(names=[drafts[1].name]), NOW)


def count(connection: Connection, table: str) -> int:
    found: int = connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()
    return found


async def test_a_unit_of_a_tenant_sees_rows_of_that_tenant_only(store: SqlStore) -> None:
    for tenant in ("a", QUOTED):
        await fill(store, tenant)

    def counts(connection: Connection) -> dict[str, int]:
        return {table: count(connection, table) for table in SCOPED}

    every = await store._units.read(counts)
    for tenants in (("a",), (QUOTED,)):
        assert {table: 2 * number for table, number in (await store._units.of(*tenants).read(counts)).items()} == every
    assert await store._units.of("a", QUOTED).read(counts, snapshot=True) == every
    assert set((await store._units.of("none").read(counts)).values()) == {0}
    assert await store._units.read(counts) == every
    assert every["events"] == 4


async def test_a_unit_of_a_tenant_changes_rows_of_that_tenant_only(store: SqlStore) -> None:
    for tenant in ("a", "b"):
        await fill(store, tenant)
    units = store._units.of("a")
    assert (await units.write(lambda connection: connection.execute(events.delete()).rowcount)) == 2
    foreign = await store._units.read(lambda c: c.execute(sa.select(sessions).where(sessions.c.tenant == "b")).mappings().one())

    def insert(connection: Connection) -> Any:
        stored = {name: value for name, value in foreign.items() if sessions.c[name].computed is None}
        return connection.execute(sessions.insert(), {**stored, "id": 10**6, "session_id": "s9"})

    with pytest.raises(DBAPIError, match="row-level security"):
        await units.write(insert)


async def test_a_group_of_writes_of_several_tenants_is_committed(store: SqlStore) -> None:
    await asyncio.gather(*(create(store, tenant=tenant) for tenant in ("a", "b")))
    for _ in range(2):  # the first one remembers the sessions for the second
        answers = await asyncio.gather(*(append(store, draft(), tenant=tenant) for tenant in ("a", "b") * 3))
        assert sum(len(answer.events) for answer in answers) == 6
    name = StateName(StateScope.SESSION, ref())
    for number in range(3):
        delta = {StateScope.SESSION: StatePatch({"k": str(number), f"k{number}": "1"}, (f"k{number - 1}",))}
        await asyncio.gather(*(append(store, draft(), tenant=tenant, state=delta) for tenant in ("a", "b")))
    for tenant in ("a", "b"):
        assert await store.get_state(tenant, name, StateQuery()) == StatePage({"k": "2", "k2": "1"}, 3)
        assert (await store.get_state(tenant, name, StateQuery(as_of=8))).values == {"k": "1", "k1": "1"}
    assert await store.delete_session("a", ref()) == 9
    assert (await store.get_session("b", ref())).last_seq == 9


async def test_a_user_that_bypasses_row_security_is_refused(postgres_url: str) -> None:
    with pytest.raises(RowSecurityBypassed, match="user test: connect as one without SUPERUSER and BYPASSRLS"):
        async with open_store(postgres_url, CODEC, options=OPTIONS):
            pass


async def test_a_server_without_the_setting_works_on_a_database_that_has_the_policies(url: str, store: SqlStore) -> None:
    await create(store)
    async with open_store(url, CODEC) as other:
        await append(other, draft())
        assert (await other.get_session("acme", SessionRef("shop", "alice", "s1"))).last_seq == 1


if LONG:  # the suite without row-level security runs always: see test_postgres

    class TestRowSecurity(StoreSuite):
        pass
