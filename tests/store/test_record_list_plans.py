"""Lists of compactions, of consumers and of parked changes cost what they return, however many there are: on both engines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection, Table

from tests.store.engines.test_plans import NO_INDEX
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT, append, compact, create, ref
from tests.support.statements import Read, executed, looked_at, steps_of_read
from threadkeep_server.domain.feed import BEGINNING, FeedScope
from threadkeep_server.store.contract.consumers import Consumer, ConsumerKey
from threadkeep_server.store.sql.schema.tables import compactions, consumers, parked_changes
from threadkeep_server.store.sql.store import SqlStore, open_store

MANY = size(100_000, 10_000)
FEW = 100
PAGE = 20
MEMBER = "m1"
ALL, ALICES = (ConsumerKey(TENANT, "", name) for name in ("all", "alices"))
OTHERS = "other"
"""An owner with many consumers."""


def _consumer(key: ConsumerKey, scope: FeedScope) -> Consumer:
    return Consumer(key, scope, b"", partitions=1, max_attempts=1, ack_timeout=NOW, create_time=NOW)


async def _of_each(store: SqlStore) -> None:
    """Stores a compaction, consumers, and their parked changes."""
    await create(store)
    await append(store, draft("hello", event_id="e1"), draft("more", event_id="e2"))
    await compact(store, ["e1"])
    (first, *_) = (await store.changes(BEGINNING, 10, FeedScope(TENANT))).changes
    for key, scope in ((ALL, FeedScope(TENANT)), (ALICES, FeedScope(TENANT, user_id="alice"))):
        await store.join_consumer(_consumer(key, scope), BEGINNING, MEMBER, NOW, NOW + 1)
        await store.balance(key, MEMBER, NOW, NOW + 1)
        assert await store.park(key, MEMBER, first, "failed", NOW)


async def _filled(store: SqlStore, count: int, owners: int) -> None:
    """Adds so many compactions to the session, parked changes to each consumer, and consumers to another owner; and a few
    consumers to each of so many other owners."""
    await _of_each(store)

    def fill(connection: Connection) -> None:
        _add(connection, compactions, count, lambda n: {"compaction_id": f"c{n}"})
        _add(connection, parked_changes, count, lambda _: {})
        _add(connection, consumers, count, lambda n: {"owner": OTHERS, "name": f"n{n:06}"}, only=1)
        for owner in range(owners):
            _add(connection, consumers, FEW, lambda n, owner=owner: {"owner": f"o{owner}", "name": f"n{n:06}"}, only=1)  # type: ignore[misc]
        connection.exec_driver_sql("ANALYZE")

    await store._engine.write(fill)


def _add(connection: Connection, table: Table, count: int, own: Callable[[int], dict[str, Any]], *, only: int = 2) -> None:
    """Adds copies of the first rows."""
    for row in connection.execute(sa.select(table).order_by(table.c.id).limit(only)).all():
        kept = {name: value for name, value in row._asdict().items() if name != "id"}
        connection.execute(table.insert(), [kept | own(number) for number in range(count)])


async def _compactions(store: SqlStore) -> None:
    first = await store.list_compactions(TENANT, ref(), PAGE, None)
    page = await store.list_compactions(TENANT, ref(), PAGE, first.cursor)
    assert len(page.compactions) == PAGE
    assert page.cursor is not None


def _consumers(owner: str) -> Read:
    async def read(store: SqlStore) -> None:
        assert len(await store.consumers(TENANT, owner, PAGE, "n000010")) == PAGE

    return read


def _parked(key: ConsumerKey) -> Read:
    async def read(store: SqlStore) -> None:
        first = await store.parked(key, PAGE, 0)
        assert len(await store.parked(key, PAGE, first[-1].parked_id)) == PAGE

    return read


READS: dict[str, Read] = {
    "compactions": _compactions,
    "consumers": _consumers("o1"),
    "parked": _parked(ALL),
    "parked of a user": _parked(ALICES),
}
BY_NAME: dict[str, Read] = {"consumers of many": _consumers(OTHERS)}
"""PostgreSQL, whose index of names has another order, reads all consumers of an owner and sorts them."""


async def test_a_page_of_records_takes_as_many_steps_of_100_as_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = READS | BY_NAME
    steps: dict[str, list[int]] = {name: [] for name in reads}
    for count in (FEW, MANY):
        async with open_store(f"sqlite:///{tmp_path}/{count}.db", CODEC, options=NO_INDEX) as store:
            await _filled(store, count, owners=count // FEW + 1)
            for name, read in reads.items():
                steps[name].append(await steps_of_read(store, read, monkeypatch))
    assert all(0 < many <= few * 1.3 for few, many in steps.values()), steps


@pytest.mark.postgres
async def test_a_page_of_records_looks_at_a_few(postgres_url: str) -> None:
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as store:
        await _filled(store, MANY, owners=MANY // FEW)
        for name, read in READS.items():
            found = await executed(read(store), "")
            assert found
            for sql, params in found:
                most, plan = await looked_at(store, sql, params)
                assert most <= 2 * FEW, f"{name}\n{plan}"
