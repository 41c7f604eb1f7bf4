"""G10 for the feed: a page of it costs what it holds, however long the feed and the session are."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.store.engines.test_plans import NO_INDEX, Recorder
from tests.support.codec import CODEC, draft
from tests.support.feed import settled
from tests.support.sessions import TENANT, append, compact, create, placed, ref
from threadkeep_server.domain.feed import BEGINNING, ChangeKind, FeedScope, Position
from threadkeep_server.store.sql.engine.postgres import PostgresEngine
from threadkeep_server.store.sql.store import SqlStore, open_store

LIMIT = 20
FEW = 60
_NAMES = ("s1", "s2")


async def _begin(store: SqlStore) -> None:
    """Sessions that have been compacted."""
    for name in _NAMES:
        await create(store, name, labels={"team": "blue"})
        first = (await append(store, draft("first"), to=ref(name))).events[0].event_id
        await compact(store, [first], placed(None, draft("summary", synthetic=True)), of=ref(name))


async def _grow(store: SqlStore, to: int) -> None:
    """As many changes of either session, taking turns."""
    have = (await store.get_session(TENANT, ref())).last_seq
    for start in range(have, to, 500):
        numbers = range(start, min(start + 500, to))
        await asyncio.gather(*(append(store, draft(f"text {n}"), to=ref(name)) for n in numbers for name in _NAMES))


async def _middle(store: SqlStore) -> Position:
    """Where much of the feed lies before and behind."""
    await settled(store)  # or its end moves between two reads
    return await store.locate(TENANT, ref(), (await store.get_session(TENANT, ref())).last_seq // 2)


async def _page(store: SqlStore, scope: FeedScope | None, after: Position) -> None:
    page = await store.changes(after, LIMIT, scope)
    assert len(page.changes) == LIMIT
    added = await store.change_events(page.changes, with_text=False)
    assert sum(map(len, added)) >= LIMIT - len(_NAMES)


def _of(scope: FeedScope | None) -> Callable[[SqlStore, Position], Awaitable[None]]:
    return lambda store, after: _page(store, scope, after)


async def _of_nobody(store: SqlStore, after: Position) -> None:
    page = await store.changes(after, LIMIT, FeedScope(TENANT, user_id="nobody"))
    assert (page.changes, page.more) == ([], True)


async def _at_the_end(store: SqlStore, _: Position) -> None:
    page = await store.changes(await store.feed_head(), LIMIT)
    assert page.changes == []


async def _compacted(store: SqlStore, _: Position) -> None:
    page = await store.changes(BEGINNING, LIMIT)
    changes = [change for change in page.changes if change.kind is ChangeKind.COMPACTED]
    added = await store.change_events(changes, with_text=False)
    assert [len(events) for events in added] == [1] * len(_NAMES)


async def _located(store: SqlStore, _: Position) -> None:
    await store.locate(TENANT, ref(), 400)


_READS: dict[str, Callable[[SqlStore, Position], Awaitable[None]]] = {
    "everything": _of(None),
    "tenant": _of(FeedScope(TENANT)),
    "user": _of(FeedScope(TENANT, user_id="alice")),
    "labels": _of(FeedScope(TENANT, labels=(("team", "blue"),))),
    "session": _of(FeedScope(TENANT, *ref())),
    "compacted": _compacted,
    "nobody": _of_nobody,
    "end": _at_the_end,
    "locate": _located,
}


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqlStore]:
    async with open_store(f"sqlite:///{tmp_path}/threadkeep.db", CODEC, options=NO_INDEX) as store:
        await _begin(store)
        yield store


async def test_a_page_of_the_feed_costs_the_same_however_long_the_feed(
    sqlite: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: dict[str, list[int]] = {name: [] for name in _READS}
    for length in (1000, 4000):
        await _grow(sqlite, length)
        middle = await _middle(sqlite)
        for name, read in _READS.items():
            with monkeypatch.context() as patch:
                recorder = Recorder(patch)
                await read(sqlite, middle)
            assert recorder.plans
            assert recorder.scans() == [], name
            steps[name].append(recorder.steps)
    assert all(after <= before * 1.3 for before, after in steps.values()), steps


@pytest.fixture
async def postgres_store(postgres_url: str) -> AsyncIterator[SqlStore]:
    async with open_store(postgres_url, CODEC, options=NO_INDEX) as store:
        await _begin(store)
        await _grow(store, 2000)
        yield store


# Of one session PostgreSQL finds the next changes by their order once it knows how many a session may have.
_OF_ALL = [name for name in _READS if name not in ("session", "locate")]


@pytest.mark.postgres
@pytest.mark.parametrize(("analyzed", "names"), [(True, list(_READS)), (False, _OF_ALL)], ids=["analyzed", "new"])
async def test_a_page_of_the_feed_looks_at_a_few_changes(
    postgres_store: SqlStore, monkeypatch: pytest.MonkeyPatch, analyzed: bool, names: Sequence[str]
) -> None:
    if analyzed:
        await postgres_store._engine.write(lambda connection: connection.exec_driver_sql("ANALYZE"))
    middle = await _middle(postgres_store)
    plans: list[str] = []
    fetch = PostgresEngine.fetch

    def explained(engine: PostgresEngine, connection: Connection, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
        lines = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}", tuple(params)).scalars()
        plans.append("\n".join(lines))
        return fetch(engine, connection, sql, params)

    monkeypatch.setattr(PostgresEngine, "fetch", explained)
    for name in names:
        plans.clear()
        await _READS[name](postgres_store, middle)
        assert plans
        text = "\n\n".join(plans)
        thrown_away = [int(count) for count in re.findall(r"Rows Removed by (?:Join )?Filter: (\d+)", text)]
        found = [int(count) for count in re.findall(r"actual rows=(\d+)", text)]
        assert max([*thrown_away, *found]) <= FEW, f"{name}\n{text}"
        assert "Seq Scan on changes" not in text
        assert "Seq Scan on events" not in text
