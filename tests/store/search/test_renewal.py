"""An index made by an earlier version of the analyzer: terms are renewed in place, and answers are complete at every step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from tests.support.candidates import terms
from tests.support.codec import CODEC, draft
from tests.support.feed import settled
from tests.support.removals import clear
from tests.support.runs.thoroughness import LONG
from tests.support.sessions import TENANT, append, create, ref
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.domain.search import ALL_FIELDS, Candidates, WordQuery, Words
from threadkeep_server.store.contract.search import SearchQuery
from threadkeep_server.store.sql.engine.base import SqlOptions, Unit
from threadkeep_server.store.sql.log.markers import scope_marker
from threadkeep_server.store.sql.schema.tables import event_words, words_renewal
from threadkeep_server.store.sql.search import candidate_selection, indexer
from threadkeep_server.store.sql.search.indexer import Indexer
from threadkeep_server.store.sql.search.term_index import TermQuery
from threadkeep_server.store.sql.search.text_index import ScopedTexts
from threadkeep_server.store.sql.store import SqlStore, open_store
from threadkeep_server.transport.wire.codec import EventCodec

T = TypeVar("T")

EVENTS = 8
ALICE = UserScope("alice")
# A search reads one event that is not indexed.
OPTIONS = SqlOptions(search_scan_bytes=1)


class EarlierWords(EventCodec):
    """The analyzer of the version before: every term is the one of now, with an x."""

    words_version = CODEC.words_version - 1

    def words(self, body: bytes, time: int) -> Words:
        return Words(*([f"{term}x" for term in field] for field in super().words(body, time)))


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stops the indexers; a test runs their steps."""

    async def nothing(_: Indexer) -> None:
        pass

    monkeypatch.setattr(Indexer, "run", nothing)


async def lag(store: SqlStore) -> int:
    return (await store.info(TENANT, totals=False)).index_lag


async def step(store: SqlStore, most: int = 3) -> bool:
    """Returns whether something was done."""
    assert store._indexer is not None
    return not (await store._engine.index(partial(store._indexer.step, most=most))).done


async def finish(store: SqlStore) -> None:
    async with asyncio.timeout(60):
        while await lag(store):
            await step(store)


def question(*words: str) -> WordQuery:
    now = terms(*words)
    return WordQuery(now, earlier={term: (f"{term}x",) for term in now})


async def ask(store: SqlStore, *words: str) -> Candidates:
    return await store.word_candidates(TENANT, ALICE, question(*words))


async def is_complete(store: SqlStore, count: int) -> None:
    """All events with "needle" are found, and rank by the terms of now."""
    found = await ask(store, "needle")
    (term,) = terms("needle")
    assert (len(found.found), found.unsearched, found.complete) == (count, 0, True)
    assert found.frequencies == {term: count}
    assert all(term in each.words.split() for each in found.found)
    page = await store.search(TENANT, SearchQuery(ALICE, EventFilter(keyword="needle"), limit=100))
    assert (len(page.hits), page.incomplete) == (count, False)


async def in_index(store: SqlStore, *which: str) -> Sequence[set[int]]:
    """Returns the events that the index itself has for each term, deleted or not."""
    assert store._indexer is not None
    index = store._indexer._index.words
    assert index is not None
    query = TermQuery(scope_marker(TENANT, ALICE), which, ALL_FIELDS)
    found = await store._engine.read(lambda connection: index.postings(connection, store._engine, query, 1000))
    return [set(found.keys.get(term, ())) for term in which]


@asynccontextmanager
async def outdated(url: str) -> AsyncIterator[SqlStore]:
    """Two sessions whose events are indexed with the terms of the version before."""
    async with open_store(url, EarlierWords()) as store:
        for name in ("s1", "s2"):
            await create(store, name)
            await append(store, *(draft(f"needle {number}") for number in range(EVENTS // 2)), to=ref(name))
        await settled(store)
        await finish(store)
    async with open_store(url, CODEC, options=OPTIONS) as store:
        yield store


async def test_every_event_is_found_at_every_step(url: str) -> None:
    """Also those appended meanwhile, and by the terms of now."""
    (now,) = terms("needle")
    async with outdated(url) as store:
        assert await lag(store) >= EVENTS
        await is_complete(store, EVENTS)
        await step(store)
        assert [len(keys) for keys in await in_index(store, now, f"{now}x")] == [3, EVENTS - 3]
        await append(store, draft("needle more"))
        await settled(store)
        await is_complete(store, EVENTS + 1)  # one that is not indexed is read
        left = await lag(store)
        while left:
            await step(store)
            await is_complete(store, EVENTS + 1)
            before, left = left, await lag(store)
            assert left < before
        assert [len(keys) for keys in await in_index(store, now, f"{now}x")] == [EVENTS + 1, 0]
        assert not await step(store)
    async with open_store(url, CODEC) as store:
        assert await lag(store) == 0, "once"


async def test_what_is_deleted_meanwhile_leaves_no_term_of_either_version(url: str) -> None:
    (now,) = terms("needle")
    async with outdated(url) as store:
        await step(store)
        assert await store.delete_session(TENANT, ref("s1")) == EVENTS // 2
        assert len((await ask(store, "needle")).found) == EVENTS // 2
        await settled(store)
        await finish(store)
        await is_complete(store, EVENTS // 2)
        found, before = await in_index(store, now, f"{now}x")
        assert (len(found), before) == (EVENTS // 2, set())
        count = sa.select(sa.func.count()).select_from(event_words)
        assert await store._engine.read(lambda connection: connection.execute(count).scalar_one()) == EVENTS // 2


@pytest.mark.parametrize("steps", [0, 1])
async def test_what_is_erased_meanwhile_leaves_no_term_of_either_version(url: str, steps: int) -> None:
    (now,) = terms("needle")
    async with outdated(url) as store:
        for _ in range(steps):
            await step(store)
        await clear(store, of=ref("s1"), erase=True)
        assert len((await ask(store, "needle")).found) == EVENTS // 2
        assert sum(map(len, await in_index(store, now, f"{now}x"))) == EVENTS // 2
        await settled(store)
        await finish(store)
        assert [len(keys) for keys in await in_index(store, now, f"{now}x")] == [EVENTS // 2, 0]


async def test_a_renewal_that_fails_or_is_interrupted_continues(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (now,) = terms("needle")
    async with outdated(url) as store:
        await step(store)
        renew = ScopedTexts.renew

        def failing(*args: Any) -> None:
            renew(*args)
            raise RuntimeError("after the old terms were removed")

        with monkeypatch.context() as patch:
            patch.setattr(ScopedTexts, "renew", failing)
            with pytest.raises(RuntimeError, match="after the old"):
                await step(store)
        await is_complete(store, EVENTS)
        left = await lag(store)
    async with open_store(url, CODEC, options=OPTIONS) as store:
        assert await lag(store) == left
        await is_complete(store, EVENTS)
        await finish(store)
        assert [len(keys) for keys in await in_index(store, now, f"{now}x")] == [EVENTS, 0]


async def test_appends_that_never_pause_do_not_stop_a_renewal(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are they held up: of nine transactions eight index."""
    (now,) = terms("needle")
    monkeypatch.setattr(indexer, "_EVENTS_AT_ONCE_BUSY", 4)
    monkeypatch.setattr(indexer, "_REST_FACTOR", 0)
    async with outdated(url) as store:
        assert store._indexer is not None
        index, batches = store._engine.index, 0
        store._indexer._deriver.has_process = False
        monkeypatch.setattr(store._indexer, "_busy", lambda: True)

        async def after_an_append(unit: Unit[T]) -> T:
            nonlocal batches
            batches += 1
            await append(store, draft("needle more"))
            await settled(store)
            return await index(unit)

        monkeypatch.setattr(store._engine, "index", after_an_append)
        following = asyncio.create_task(store._indexer._catch_up())
        async with asyncio.timeout(60):
            while (await in_index(store, f"{now}x"))[0]:
                assert not following.done()
                await asyncio.sleep(0.005)
        following.cancel()
        await asyncio.wait([following])
        assert batches <= 3 * 9, "two had terms to renew"
        monkeypatch.setattr(store._engine, "index", index)
        await finish(store)
        assert len((await in_index(store, now))[0]) == EVENTS + batches


async def test_common_terms_are_found_by_both_forms(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_selection, "most_counted", lambda documents, limit: 2)
    async with outdated(sqlite_url) as store:
        await append(store, draft("needle thread"))
        for _ in range(4):
            await step(store)
            await settled(store)
            assert len((await ask(store, "needle")).found) == EVENTS + 1
            assert len((await ask(store, "needle", "thread")).found) == EVENTS + 1


def longest_pause(store: SqlStore, connection: sa.Connection) -> str:
    """Runs a step and returns how long its transaction may be without a statement."""
    assert store._indexer is not None
    assert not store._indexer.step(connection, most=3).done
    return str(connection.exec_driver_sql("SELECT current_setting('idle_in_transaction_session_timeout')").scalar_one())


async def test_an_older_server_neither_indexes_nor_renews_while_a_newer_one_runs(postgres_url: str) -> None:
    (now,) = terms("needle")
    async with outdated(postgres_url) as newer, open_store(postgres_url, EarlierWords(), options=OPTIONS) as older:
        assert await newer._engine.index(partial(longest_pause, newer)) == "3min", "a frozen one does not hold the turn longer"
        await append(older, draft("needle more"))
        await settled(older)
        for _ in range(3):
            assert not await step(older)
        await finish(newer)
        assert [len(keys) for keys in await in_index(newer, now, f"{now}x")] == [EVENTS + 1, 0]
        # The newer one is gone.
        await newer._engine.index(lambda connection: connection.execute(words_renewal.update().values(seen=0)))
        await append(older, draft("needle at last"))
        await settled(older)
        await step(older)
        await finish(older)
        assert [len(keys) for keys in await in_index(newer, now, f"{now}x")] == [0, EVENTS + 2]
        # And is back.
        await step(newer)
        assert not await step(older)
        await finish(newer)
        assert [len(keys) for keys in await in_index(newer, now, f"{now}x")] == [EVENTS + 2, 0]


class TestLarge:
    """More events than a search may read of those that are not indexed."""

    __test__ = LONG

    async def test_a_scope_beyond_the_budget_of_a_search_has_complete_answers(self, url: str) -> None:
        options, count, at_once = SqlOptions(search_scan_seconds=60), 50_000, 500
        async with open_store(url, EarlierWords(), options=options) as store:
            await create(store)
            for start in range(0, count, at_once):
                some = range(start, start + at_once)
                await append(
                    store, *(draft(f"{'needle ' if number % 500 == 0 else ''}{'hay ' * 100}{number}") for number in some)
                )
                while await step(store, 1024):
                    pass
            await settled(store)
            while await lag(store):
                await step(store, 1024)
        async with open_store(url, CODEC, options=options) as store:
            while await lag(store):
                await is_complete(store, count // 500)
                await step(store, 1024)
            await is_complete(store, count // 500)
