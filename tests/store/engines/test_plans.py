"""Guarantee G10 without a clock: calls on a long log use an index and never scan the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.support.candidates import terms
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.sessions import append, compact, create, new_session, ref
from threadkeep_server.domain.context import ContextSpec
from threadkeep_server.domain.filters import Authors, AuthorStep, EventFilter
from threadkeep_server.domain.model import Role
from threadkeep_server.domain.scopes import EventScope, UserScope
from threadkeep_server.domain.search import WordQuery
from threadkeep_server.store.contract.compaction import CompactionRequest, Inserts
from threadkeep_server.store.contract.events import Cursor, EventQuery
from threadkeep_server.store.contract.search import SearchCursor, SearchQuery
from threadkeep_server.store.sql.compaction import compact_queries
from threadkeep_server.store.sql.encryption.codec import StoredCodec
from threadkeep_server.store.sql.engine import statements
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.engine.sqlite import SqliteEngine
from threadkeep_server.store.sql.engine.sqlite_driver import driver
from threadkeep_server.store.sql.engine.statements import Prepared
from threadkeep_server.store.sql.log.change_order import beyond
from threadkeep_server.store.sql.log.slices.archivings import archivings
from threadkeep_server.store.sql.schema.tables import changes, index_progress
from threadkeep_server.store.sql.store import SqlStore, open_store

from .slices import emptied

NO_INDEX = SqlOptions(search_index=False)
"""The indexer reads through the engine at any time, and would be recorded."""


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

    def walks(self) -> list[str]:
        """The full scans. Excluded: hits, which are few enough to be sorted; progress, which is one row; archivings, whose
        first row is enough; and subqueries, whose scans are listed separately."""
        few = ("SCAN search.index_progress", "SCAN search.words_renewal", "SCAN archivings", "SCAN (subquery", "SCAN anon")
        scans = [plan for plan in self.plans if plan.startswith("SCAN") and "VIRTUAL TABLE INDEX" not in plan]
        return [plan for plan in scans if not plan.startswith(few)]

    def scans(self) -> list[str]:
        return [plan for plan in self.plans if plan.startswith(("SCAN events", "SCAN sessions", "USE TEMP B-TREE"))]


async def _opened(tmp_path: Path, options: SqlOptions | None = None) -> AsyncIterator[SqlStore]:
    async with open_store(f"sqlite:///{tmp_path}/threadkeep.db", CODEC, options=options) as store:
        await create(store)
        yield store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    async for store in _opened(tmp_path, NO_INDEX):
        yield store


@pytest.fixture
async def searchable(tmp_path: Path) -> AsyncIterator[SqlStore]:
    async for store in _opened(tmp_path):
        yield store


async def _grow(store: SqlStore, to: int, role: Role) -> None:
    have = (await store.get_session("acme", ref())).last_seq
    for start in range(have, to, 1000):
        await append(store, *(draft(f"text {n}", event_id=f"e{n}", role=role) for n in range(start, start + 1000)))


_READS = {
    "last": EventQuery(EventFilter(last_n=50)),
    "last_exactly": EventQuery(EventFilter(exact_last_n=50)),
    "last_of_a_role": EventQuery(EventFilter(last_n=50, roles=frozenset({Role.USER, Role.ASSISTANT}))),
    "first_page": EventQuery(limit=50),
    "newest_page": EventQuery(limit=50, descending=True),
    "after_seq": EventQuery(EventFilter(after_seq=900), limit=50),
    "before_seq": EventQuery(EventFilter(before_seq=100), limit=50),
    "onward": EventQuery(limit=50, cursor=Cursor(900 << 20)),
}


# A log without a single turn start is the worst case of a window that looks for one.
@pytest.mark.parametrize("role", [Role.USER, Role.ASSISTANT])
async def test_a_read_costs_the_same_however_long_the_log(store: SqlStore, monkeypatch: pytest.MonkeyPatch, role: Role) -> None:
    steps: dict[str, list[int]] = {name: [] for name in _READS}
    for length in (1000, 10_000):
        await _grow(store, length, role)
        for name, query in _READS.items():
            with monkeypatch.context() as patch:
                recorder = Recorder(patch)
                page = await store.list_events("acme", ref(), query)
            assert len(page.events) == 50, name
            assert recorder.scans() == [], name
            steps[name].append(recorder.steps)
    assert all(long <= short * 1.3 for short, long in steps.values()), steps


async def test_an_append_costs_the_same_however_long_the_log(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    for length in (1000, 10_000):
        await _grow(store, length, Role.USER)
        recorder = Recorder(monkeypatch)
        await append(store, draft("one more", event_id=f"more-{length}"))
        assert recorder.plans
        assert recorder.scans() == []
        steps.append(recorder.steps)
    assert steps[1] <= steps[0] * 1.3


async def _archived_to_a_tenth(store: SqlStore, length: int) -> None:
    """A log of this length: its prompt, its first event and its newest tenth are active."""
    have = (await store.get_session("acme", ref())).last_seq
    if not have:
        await append(store, draft("prompt", role=Role.SYSTEM))
    await _grow(store, length, Role.USER)
    window = await store.read_window("acme", ref())
    await compact(store, [event.event_id for event in window.events[2:] if event.seq <= length * 9 // 10])
    await emptied(store, archivings)  # marking them is not a part of what is counted


_CONTEXTS = {
    "newest": ContextSpec(last_n=20),
    "turns": ContextSpec(max_turns=5),
    "bytes": ContextSpec(max_bytes=200),
    "tokens": ContextSpec(max_tokens=50, include_system=False),
}


async def test_a_context_costs_the_same_however_much_is_archived_before_it(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: dict[str, list[int]] = {name: [] for name in _CONTEXTS}
    for length in (2001, 20_001):
        await _archived_to_a_tenth(store, length)
        for name, spec in _CONTEXTS.items():
            with monkeypatch.context() as patch:
                recorder = Recorder(patch)
                page = await store.get_context("acme", ref(), spec, 1 << 40)
            assert page.truncated, name
            assert (page.events[0].seq == 1) is spec.include_system, name
            plans = " ".join(recorder.plans)
            assert "USING INDEX events_active" in plans, name
            assert "USING INDEX events_lead" in plans, name
            assert recorder.scans() == [], name
            steps[name].append(recorder.steps)
    assert all(long <= short * 1.3 for short, long in steps.values()), steps


async def test_a_compaction_costs_what_it_archives_however_long_the_log(store: SqlStore) -> None:
    steps = []
    for length in (1000, 20_000):
        await _grow(store, length, Role.USER)
        for gone in (10, 100):
            names = [event.event_id for event in (await store.read_window("acme", ref())).events[: gone + 1]]
            steps.append(await _steps_of(store, names))
    few, many, few_of_long, many_of_long = steps
    assert few_of_long <= few * 1.3
    assert many_of_long <= many * 1.3
    assert few * 3 < many


async def _steps_of(store: SqlStore, names: Sequence[str]) -> int:
    """Steps of the compaction that archives all but the last of these, before which it inserts."""
    steps = 0
    insert: Inserts = {names[-1]: [draft("summary", role=Role.ASSISTANT, synthetic=True)]}
    request = CompactionRequest("acme", ref(), f"before {names[-1]}", NOW, names[:-1], insert, None)

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    def unit(connection: Connection) -> None:
        raw = driver(connection)
        raw.set_progress_handler(step, 1)
        try:
            compact_queries.compact(connection, store._engine, StoredCodec(CODEC), request, None)
        finally:
            raw.set_progress_handler(None, 0)

    await store._engine.write(unit)
    return steps


async def test_unindexed_events_are_found_without_scanning_all_changes(store: SqlStore) -> None:
    """On SQLite a range over (xid, id) is served by its first column only, which is the same in every row."""

    def unit(connection: Connection) -> list[str]:
        at = sa.select(index_progress.c.xid).scalar_subquery(), sa.select(index_progress.c.change).scalar_subquery()
        query = sa.select(changes).where(beyond(store._engine, *at)).order_by(*store._engine.sql.change_order)
        compiled = query.compile(dialect=connection.dialect)
        return [row[3] for row in driver(connection).execute(f"EXPLAIN QUERY PLAN {compiled}")]

    plans = await store._engine.read(unit)
    assert plans[0] == "SEARCH changes USING INTEGER PRIMARY KEY (rowid>?)"
    assert not any("TEMP B-TREE" in plan for plan in plans)


async def _indexed(store: SqlStore) -> None:
    for _ in range(3000):
        if not (await store.info("acme", totals=False)).index_lag:
            return
        await asyncio.sleep(0.01)
    pytest.fail("the index does not catch up")


ALICE = UserScope("alice")
_SEARCHES = {
    "keyword": SearchQuery(ALICE, EventFilter(keyword="needle")),
    "of_an_app": SearchQuery(UserScope("alice", "shop"), EventFilter(keyword="needle")),
    "any": SearchQuery(ALICE, EventFilter(keywords=("needle", "pin"))),
    "all": SearchQuery(ALICE, EventFilter(keywords=("needle", "hay"), match_all=True)),
    "filtered": SearchQuery(ALICE, EventFilter(keyword="needle", roles=frozenset({Role.USER}), after_seq=0)),
    "onward": SearchQuery(ALICE, EventFilter(keyword="needle"), cursor=SearchCursor(0, 0, 0)),
    "numbered": SearchQuery(ALICE, EventFilter(keyword="needle", page=0, page_size=5)),
}


async def test_a_search_of_a_user_reads_only_the_events_that_the_index_names(
    searchable: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await append(searchable, draft("needle in hay"))
    steps: dict[str, list[int]] = {name: [] for name in _SEARCHES}
    for length in (1000, 5000):
        await _grow(searchable, length, Role.USER)
        await _indexed(searchable)
        for name, query in _SEARCHES.items():
            with monkeypatch.context() as patch:
                recorder = Recorder(patch)
                assert len((await searchable.search("acme", query)).hits) == 1
            assert len(recorder.plans) > 1
            assert recorder.walks() == [], name
            steps[name].append(recorder.steps)
    # The index reads more pages of its own; a walk would take several steps for each of the 4000 events more.
    assert all(after - before < 1000 for before, after in steps.values()), steps


async def test_a_repeated_search_form_compiles_no_statement(searchable: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes several times as long as searching."""
    await append(searchable, draft("needle in hay"))
    await _indexed(searchable)
    for query in _SEARCHES.values():
        await searchable.search("acme", query)

    def compiled(*_: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(Prepared, "__init__", compiled)
    for query in _SEARCHES.values():
        assert len((await searchable.search("acme", query)).hits) == 1


async def test_statements_are_kept_within_bounds(searchable: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller decides how many shapes its filters have, and how long they are."""
    monkeypatch.setattr(statements, "_MOST_SHAPES", 8)
    monkeypatch.setattr(statements, "_MOST_CHARACTERS", 20_000)
    await append(searchable, draft("needle in hay"))
    kept = searchable._units.statements._prepared
    for count in (*range(1, 30), 900):
        terms = ("needle", *(f"term {n}" for n in range(count % 40)))
        authors = Authors(frozenset(f"author {n}" for n in range(count)))
        wanted = EventFilter(keywords=terms, authors=(AuthorStep(False, authors),))
        assert len((await searchable.search("acme", SearchQuery(ALICE, wanted))).hits) == 1
        assert len(kept) <= 8
        assert len(kept) == 1 or sum(each.length for each in kept.values()) <= 20_000


async def _spread(store: SqlStore, others: int) -> None:
    """Rare terms of one user among as many sessions of others, who say them all the time."""
    await append(store, *(draft(f"filler giraffe{n % 7}" if n % 50 else "zebra lion") for n in range(2000)))
    for number in range(others):
        name = new_session(f"o{number}", user=f"other{number}")
        await append(store, *(draft("zebra lion") for _ in range(1000)), to=name.ref, create=name)
    await _indexed(store)


_SCOPES: dict[str, EventScope] = {"session": ref(), "user": UserScope("alice"), "both": UserScope("alice", "shop")}
_WANTED = {"all": EventFilter(), "filter": EventFilter(exclude_archived=True, from_time=1)}


async def test_candidates_cost_what_the_scope_has_of_the_terms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requested = {f"{scope} {wanted}": (_SCOPES[scope], _WANTED[wanted]) for scope in _SCOPES for wanted in _WANTED}
    steps: dict[str, list[int]] = {name: [] for name in requested}
    for others in (0, 8):
        async with open_store(f"sqlite:///{tmp_path}/{others}.db", CODEC) as store:
            await create(store)
            await _spread(store, others)
            for name, (scope, wanted) in requested.items():
                with monkeypatch.context() as patch:
                    recorder = Recorder(patch)
                    found = await store.word_candidates("acme", scope, WordQuery(terms("zebra lion")), wanted)
                    assert len(found.found) == 40, name
                    assert recorder.walks() == [], name
                    steps[name].append(recorder.steps)
                    keys = [each.key for each in found.found]
                    events = await store.events_by_key("acme", scope, keys, wanted, neighbors=2)
                assert len(events) == 40, name
                assert recorder.walks() == [], name
    assert all(many <= few * 1.3 for few, many in steps.values()), steps
