"""Z-17 and G10 without a clock: what is asked of a long log is answered from an index, never by walking the log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from recollect_server.domain.filters import EventFilter
from recollect_server.domain.model import Role
from recollect_server.store.base import Cursor, EventQuery
from recollect_server.store.sql.indexer import beyond
from recollect_server.store.sql.schema import changes, index_progress
from recollect_server.store.sql.sqlite import SqliteEngine, driver
from recollect_server.store.sql.store import SqlStore, open_store
from tests.support.codec import CODEC, draft
from tests.support.sessions import append, create, ref


class Recorder:
    """Keeps the plan and the count of virtual-machine steps of every statement that goes through the engine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plans: list[str] = []
        self.steps = 0
        fetch = SqliteEngine.fetch

        def recorded(engine: SqliteEngine, connection: Connection, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
            raw = driver(connection)
            self.plans += [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {sql}", params)]
            raw.set_progress_handler(self._step, 1)
            try:
                return fetch(engine, connection, sql, params)
            finally:
                raw.set_progress_handler(None, 0)

        monkeypatch.setattr(SqliteEngine, "fetch", recorded)

    def _step(self) -> int:
        self.steps += 1
        return 0

    def scans(self) -> list[str]:
        return [plan for plan in self.plans if plan.startswith(("SCAN events", "SCAN sessions", "USE TEMP B-TREE"))]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    async with open_store(f"sqlite:///{tmp_path}/recollect.db", CODEC) as store:
        await create(store)
        yield store


async def _grow(store: SqlStore, to: int, role: Role) -> None:
    have = (await store.get_session("acme", ref())).last_seq
    for start in range(have, to, 1000):
        await append(store, *(draft(f"text {n}", event_id=f"e{n}", role=role) for n in range(start, start + 1000)))


_READS = {
    "last": EventQuery(EventFilter(last_n=50)),
    "last_of_a_role": EventQuery(EventFilter(last_n=50, roles=frozenset({Role.USER, Role.ASSISTANT}))),
    "first_page": EventQuery(limit=50),
    "newest_page": EventQuery(limit=50, descending=True),
    "after_seq": EventQuery(EventFilter(after_seq=900), limit=50),
    "before_seq": EventQuery(EventFilter(before_seq=100), limit=50),
    "onward": EventQuery(limit=50, cursor=Cursor(900 << 20)),
}


# A log without a single turn start is the worst case of a window that looks for one.
@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT])
@pytest.mark.parametrize("name", _READS)
async def test_z_17_a_read_costs_the_same_however_long_the_log(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch, name: str, role: Role
) -> None:
    steps = []
    for length in (1000, 10_000):
        await _grow(store, length, role)
        recorder = Recorder(monkeypatch)
        page = await store.list_events("acme", ref(), _READS[name])
        assert len(page.events) == 50
        assert recorder.scans() == []
        steps.append(recorder.steps)
    assert steps[1] <= steps[0] * 1.3


async def test_z_17_an_append_costs_the_same_however_long_the_log(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    for length in (1000, 10_000):
        await _grow(store, length, Role.USER)
        recorder = Recorder(monkeypatch)
        await append(store, draft("one more", event_id=f"more-{length}"))
        assert recorder.plans
        assert recorder.scans() == []
        steps.append(recorder.steps)
    assert steps[1] <= steps[0] * 1.3


async def test_g_10_what_is_behind_the_index_is_found_without_walking_all_changes(store: SqlStore) -> None:
    """On SQLite a range over (xid, id) is served by its first column only, which is the same in every row."""

    def unit(connection: Connection) -> list[str]:
        at = sa.select(index_progress.c.xid).scalar_subquery(), sa.select(index_progress.c.change).scalar_subquery()
        query = sa.select(changes).where(beyond(store._engine, *at)).order_by(*store._engine.change_order)
        compiled = query.compile(dialect=connection.dialect)
        return [row[3] for row in driver(connection).execute(f"EXPLAIN QUERY PLAN {compiled}")]

    plans = await store._engine.read(unit)
    assert plans[0] == "SEARCH changes USING INTEGER PRIMARY KEY (rowid>?)"
    assert not any("TEMP B-TREE" in plan for plan in plans)
