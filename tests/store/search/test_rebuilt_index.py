"""A rebuilt text index: it is read from the events, because the feed may be trimmed, and results are complete at every step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.support.candidates import terms
from tests.support.codec import CODEC, draft
from tests.support.feed import settled
from tests.support.sessions import TENANT, append, compact, create, placed, ref
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.domain.search import WordQuery
from threadkeep_server.store.contract.search import SearchQuery
from threadkeep_server.store.sql.engine.sqlite_driver import driver
from threadkeep_server.store.sql.engine.statements import Prepared
from threadkeep_server.store.sql.schema.tables import ADDING, changes, event_text, feed_floor, index_progress
from threadkeep_server.store.sql.search import rescoping
from threadkeep_server.store.sql.search.indexer import Indexer
from threadkeep_server.store.sql.store import SqlStore, open_store
from threadkeep_server.transport.wire.codec import EventCodec

SESSIONS = ("s1", "s2")
EVENTS = 4  # in each


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stops the indexers; a test runs their steps."""

    async def nothing(_: Indexer) -> None:
        pass

    monkeypatch.setattr(Indexer, "run", nothing)


async def lag(store: SqlStore) -> int:
    return (await store.info(TENANT, totals=False)).index_lag


async def step(store: SqlStore) -> None:
    made = store._indexer
    assert made is not None
    await store._engine.index(partial(made.step, most=3))


async def finish(store: SqlStore) -> None:
    async with asyncio.timeout(60):
        while await lag(store):
            await step(store)


async def found(store: SqlStore) -> int:
    page = await store.search(TENANT, SearchQuery(UserScope("alice"), EventFilter(keyword="needle"), limit=100))
    return len(page.hits)


async def candidates(store: SqlStore) -> int:
    found = await store.word_candidates(TENANT, UserScope("alice"), WordQuery(terms("needle")))
    assert list(found.frequencies.values()) == [len(found.found)]
    return len(found.found)


async def indexed(store: SqlStore) -> int:
    count = sa.select(sa.func.count()).select_from(event_text)
    return await store._engine.index(lambda connection: int(connection.execute(count).scalar_one()))


def forget(connection: Connection) -> None:
    connection.execute(index_progress.update().values(version=0))


def trim(connection: Connection) -> None:
    """Up to the newest change, which stays."""
    newest = connection.execute(sa.select(changes).order_by(changes.c.id.desc()).limit(1)).one()
    connection.execute(changes.delete().where(changes.c.id != newest.id))
    connection.execute(feed_floor.update().values(xid=newest.xid, change=newest.id))


@asynccontextmanager
async def filled(url: str, codec: EventCodec = CODEC) -> AsyncIterator[SqlStore]:
    """Two sessions with events, that of one inserted by a compaction, in a feed that was trimmed and an index that is begun."""
    async with open_store(url, codec) as store:
        for name in SESSIONS:
            await create(store, name)
            for number in range(EVENTS - 1):
                await append(store, draft(f"needle {number}"), to=ref(name))
            await compact(store, [], placed(None, draft("needle summary", synthetic=True)), of=ref(name))
        await store._engine.write(trim)
        await store._engine.index(forget)
    async with open_store(url, codec) as store:
        yield store


async def test_every_event_is_found_once_at_every_step(url: str) -> None:
    async with filled(url) as store:
        before = await lag(store)
        assert before >= EVENTS * 2
        await append(store, draft("needle more"))
        await settled(store)  # or the last step finds nothing to do
        while left := await lag(store):
            assert await found(store) == await candidates(store) == EVENTS * 2 + 1
            await step(store)
            now = await lag(store)
            assert now < left
        assert await found(store) == await candidates(store) == await indexed(store) == EVENTS * 2 + 1


@pytest.mark.parametrize("steps", range(5))
async def test_a_session_deleted_during_ingestion_leaves_nothing(url: str, steps: int) -> None:
    async with filled(url) as store:
        for _ in range(steps):
            await step(store)
        assert await store.delete_session(TENANT, ref("s1")) == EVENTS
        assert await found(store) == EVENTS
        await finish(store)
        assert await indexed(store) == await found(store) == await candidates(store) == EVENTS


async def test_a_change_with_events_already_read_adds_nothing(url: str) -> None:
    """Where transactions overlap, an event may be there when the index is begun, and its change not yet settled."""
    async with open_store(url, CODEC) as store:
        await create(store)
        await append(store, draft("needle"), draft("needle"))
        await store._engine.index(forget)
    async with open_store(url, CODEC) as store:
        begin = index_progress.update().values(xid=0, change=0)
        await store._engine.index(lambda connection: connection.execute(begin))
        await finish(store)
        assert await indexed(store) == await found(store) == 2


async def test_large_events_are_indexed_in_smaller_steps(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step reads a bounded number of bytes."""
    async with filled(url) as store:
        monkeypatch.setattr(rescoping, "_BYTES_AT_ONCE", 1)
        for expected in range(1, EVENTS * 2):
            await step(store)
            assert await indexed(store) == expected
        await finish(store)
        await append(store, draft("needle")), await append(store, draft("needle"))
        await settled(store)
        before = await indexed(store)
        await step(store)
        assert await indexed(store) == before + 1
        await finish(store)
        assert await indexed(store) == await found(store) == EVENTS * 2 + 2


async def test_interrupted_work_is_resumed(url: str) -> None:
    async with filled(url) as store:
        await step(store)
        left = await lag(store)
    async with open_store(url, CODEC) as store:
        assert await lag(store) == left
        assert await found(store) == EVENTS * 2


async def test_an_index_is_kept_when_the_feed_is_trimmed_up_to_it(url: str) -> None:
    async with filled(url) as store:
        await finish(store)
        await append(store, draft("needle more"))
        await finish(store)
        await store._engine.write(trim)
    async with open_store(url, CODEC) as store:
        assert await lag(store) == 0
        assert await found(store) == EVENTS * 2 + 1


async def test_an_index_is_rebuilt_when_the_feed_was_trimmed_beyond_it(url: str) -> None:
    async with filled(url) as store:
        await finish(store)
        await append(store, draft("needle unseen"))
        await append(store, draft("needle at the floor"))
        await store._engine.write(lambda connection: connection.execute(feed_floor.update().values(_newest(connection))))
    async with open_store(url, CODEC) as store:
        assert await found(store) == EVENTS * 2 + 2
        assert await lag(store) >= EVENTS * 2
        await finish(store)
        assert await indexed(store) == await found(store) == EVENTS * 2 + 2


def _newest(connection: Connection) -> dict[str, int]:
    xid, change = connection.execute(sa.select(changes.c.xid, changes.c.id).order_by(changes.c.id.desc()).limit(1)).one()
    return {"xid": xid, "change": change}


async def test_an_unindexed_append_to_a_long_session_is_found_from_its_change(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the events of the session, all of its changes would be read for each of them."""
    plans: list[str] = []
    stream = Prepared.stream

    def explained(prepared: Prepared, connection: Connection, params: Mapping[str, Any]) -> Iterator[Any]:
        rows = driver(connection).execute(f"EXPLAIN QUERY PLAN {prepared._sql}", prepared._values(params))
        plans.append("\n".join(row[3] for row in rows))
        return stream(prepared, connection, params)

    async with filled(sqlite_url) as store:
        await finish(store)
        await append(store, draft("needle"))
        monkeypatch.setattr(Prepared, "stream", explained)
        assert await candidates(store) == EVENTS * 2 + 1
    assert len(plans) >= len(ADDING)
    for plan in plans[: len(ADDING)]:
        assert plan.startswith("SEARCH changes USING INTEGER PRIMARY KEY"), plan
