"""Reads of a few memories look at a few, however many a scope and its namespaces have."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.support.clock import NOW
from tests.support.codec import CODEC
from tests.support.memories import ALICE, memory, remember
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT
from threadkeep_server.domain.memories import MemoryFilter
from threadkeep_server.domain.memory.namespaces import NamespaceQuery
from threadkeep_server.store.sql.encryption.codec import StoredCodec
from threadkeep_server.store.sql.memories import write_queries
from threadkeep_server.store.sql.memories.memory_queries import list_page, remove_expired
from threadkeep_server.store.sql.memories.namespace_queries import namespaces_page
from threadkeep_server.store.sql.store import SqlStore, open_store

LARGE, FEW = size(100_000, 1000), 150
HELD = StoredCodec(CODEC)


@pytest.fixture(params=["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlStore]:
    """A large namespace, a small one, and many of one entry; with statistics."""
    async with open_store(url, CODEC) as opened:
        await remember(opened, *[memory(f"a {n}", id=f"{n}", namespace=("a", "small")) for n in range(20)])
        for start in range(0, LARGE, 500):
            some = range(start, start + 500)
            await remember(opened, *[memory(f"x {n}", id=f"{n}", namespace=("a", "large"), ttl=n + 1) for n in some])
        await remember(opened, *[memory(f"y {n}", namespace=("b", f"{n:03}")) for n in range(300)])
        await opened._engine.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
        yield opened


def page(*namespace: str) -> Callable[[Connection], Any]:
    wanted = MemoryFilter(namespace=namespace, live_at=NOW)
    return lambda connection: list_page(connection, HELD, TENANT, ALICE, wanted, 20, None).memories


READS: dict[str, Callable[[Connection], Any]] = {
    "a large namespace": page("a", "large"),
    "a small one": page("a", "small"),
    "both": page("a"),
    "all": page(),
    "namespaces": lambda c: namespaces_page(c, TENANT, ALICE, NamespaceQuery(("b",)), 20, None, NOW).namespaces,
    "groups": lambda c: namespaces_page(c, TENANT, ALICE, NamespaceQuery(max_depth=1), 20, None, NOW).namespaces,
    "names": lambda c: write_queries.named(c, HELD, TENANT, ALICE, ["a\x1flarge\x1f7"], NOW, 1000).found,
    "expired": lambda c: write_queries.expired_scope(c, NOW + LARGE),
    "few expired": lambda c: write_queries.count_expired(c, NOW + 20, 1000),
}


NAMES = [f"a\x1flarge\x1f{n}" for n in range(5)]


def taken(connection: Connection) -> bool:
    remove_expired(connection, None, TENANT, ALICE, NAMES, NOW)
    return True


BEFORE_WRITES: dict[str, Callable[[Connection], Any]] = {
    "expired entries, whose names are taken": taken,
    "entries that are replaced": lambda c: write_queries._rows_of_names(c, TENANT, ALICE, NAMES),
}


async def test_reads_of_a_few_memories_look_at_a_few(store: SqlStore) -> None:
    for name, read in READS.items():
        check_few(name, await store._engine.read(partial(plans_of, read)), "SCAN memor|TEMP B-TREE")


async def test_writes_look_their_names_up(store: SqlStore) -> None:
    """And do not pass through the scope in the order of its keys."""
    for name, read in BEFORE_WRITES.items():
        check_few(name, await store._engine.write(partial(plans_of, read)), "SCAN memor|memories_scope")


def check_few(name: str, plans: list[str], unwanted: str) -> None:
    assert plans, name
    for plan in plans:
        assert not re.search(unwanted, plan), f"{name}: {plan}"
        counts = re.findall(r"Rows Removed by Filter: (\d+)|actual rows=(\d+)", plan)
        assert all(int(one or other) <= FEW for one, other in counts), f"{name}: {plan}"


def plans_of(read: Callable[[Connection], Any], connection: Connection) -> list[str]:
    """Returns the plans of the statements of a read that finds something."""
    run: list[tuple[str, Any]] = []

    @sa.event.listens_for(connection, "before_cursor_execute")
    def note(_c: Any, _cursor: Any, sql: str, parameters: Any, *_: Any) -> None:
        run.append((sql, parameters))

    assert read(connection)
    sa.event.remove(connection, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN (ANALYZE, TIMING OFF) "
    plans = [connection.exec_driver_sql(explain + sql, parameters).all() for sql, parameters in run]
    return ["\n".join(str(row[-1]) for row in plan) for plan in plans]
