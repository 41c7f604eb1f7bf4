"""G10 on PostgreSQL: reads of a long log find what they want by an index, and throw away next to nothing on the way."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.store.engines.test_plans import NO_INDEX
from tests.support.codec import CODEC, draft
from tests.support.feed import settled
from tests.support.sessions import TENANT, append, create, ref
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import Role
from threadkeep_server.store.contract.events import EventQuery
from threadkeep_server.store.sql.engine.postgres import PostgresEngine
from threadkeep_server.store.sql.search.indexer import Indexer
from threadkeep_server.store.sql.store import SqlStore, open_store

pytestmark = pytest.mark.postgres

EVENTS = 4000
FEW = 200


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[SqlStore]:
    """Two sessions of thousands of events; with statistics, which autovacuum gathers within a minute."""
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as opened:
        for name in ("s1", "s2"):
            await create(opened, name)
            for first in range(0, EVENTS, 500):
                roles = [Role.USER if number % 2 else Role.ASSISTANT for number in range(first, first + 500)]
                await append(opened, *[draft("hello", role=role) for role in roles], to=ref(name))
        await opened._engine.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
        yield opened


def page(wanted: EventFilter, *, descending: bool = False) -> Callable[[SqlStore], Awaitable[Any]]:
    query = EventQuery(wanted, descending=descending, limit=50)
    return lambda store: store.list_events(TENANT, ref(), query)


READS: dict[str, Callable[[SqlStore], Awaitable[Any]]] = {
    "after_seq": page(EventFilter(after_seq=EVENTS - 20)),
    "before_seq": page(EventFilter(before_seq=20)),
    "newest": page(EventFilter(), descending=True),
    "last_n": page(EventFilter(last_n=51)),
    "exact_last_n": page(EventFilter(exact_last_n=51)),
    "context": lambda store: store.get_context(TENANT, ref(), ContextSpec(last_n=50), 1 << 20),
}


async def thrown_away(read: Callable[[], Awaitable[Any]], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Returns the most rows that a step of the read's plans found or threw away, and the plans."""
    plans: list[str] = []
    fetch = PostgresEngine.fetch

    def explained(engine: PostgresEngine, connection: Connection, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
        lines = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}", tuple(params)).scalars()
        plans.append("\n".join(lines))
        return fetch(engine, connection, sql, params)

    with monkeypatch.context() as patch:
        patch.setattr(PostgresEngine, "fetch", explained)
        await read()
    removed = [int(count) for plan in plans for count in re.findall(r"Rows Removed by Filter: (\d+)", plan)]
    found = [int(count) for plan in plans for count in re.findall(r"actual rows=(\d+)", plan)]
    assert plans
    return max([*removed, *found]), "\n\n".join(plans)


@pytest.mark.parametrize("read", READS)
async def test_a_read_of_a_few_events_looks_at_a_few(store: SqlStore, read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    most, plans = await thrown_away(lambda: READS[read](store), monkeypatch)
    assert most <= FEW, plans


async def _idle(_: Indexer) -> None:
    """The test steps the indexer."""


async def test_the_indexer_looks_at_the_events_of_the_changes_it_reads(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Indexer, "run", _idle)
    async with open_store(postgres_url, CODEC) as store:
        for name in ("s1", "s2"):
            await create(store, name)
        await asyncio.gather(*(append(store, draft(f"text {n}"), to=ref(f"s{n % 2 + 1}")) for n in range(EVENTS // 2)))
        await settled(store)
        await store._engine.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
        indexer = store._indexer
        assert indexer is not None
        _, plans = await thrown_away(
            lambda: store._engine.index(lambda connection: indexer.step(connection, most=EVENTS // 4)), monkeypatch
        )
        assert "Scan on events_position" in plans, plans
        assert "Seq Scan on events" not in plans, plans
