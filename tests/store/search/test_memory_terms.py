"""The index of the words of memories: behind, not there, of another version, and cut off while it is brought up to date."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from tests.support.codec import CODEC
from tests.support.memories import ALICE, candidates, forget, found, memory, remember
from tests.support.sessions import TENANT
from threadkeep_server.domain.errors import StoreUnavailable
from threadkeep_server.domain.memories import MemoryScope
from threadkeep_server.domain.search import ALL_FIELDS, Words
from threadkeep_server.store.sql.log.markers import memory_marker
from threadkeep_server.store.sql.memories import memory_queries
from threadkeep_server.store.sql.memories.store import WORDS_TABLE, SqlMemories
from threadkeep_server.store.sql.schema.memories import memories
from threadkeep_server.store.sql.search.term_index import TermQuery
from threadkeep_server.store.sql.store import SqlStore, open_store
from threadkeep_server.transport.wire.codec import EventCodec


class LaterCodec(EventCodec):
    """A version ahead: every word ends in an x."""

    words_version = CODEC.words_version + 1

    def memory_words(self, content: bytes, time: int, author: str = "") -> Words:
        words = CODEC.memory_words(content, time, author)
        return words._replace(text=[f"{term}x" for term in words.text])


@asynccontextmanager
async def opened(url: str, codec: EventCodec = CODEC) -> AsyncIterator[SqlStore]:
    async with open_store(url, codec) as store:
        yield store


@pytest.fixture
def left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is brought up to date but by the test."""

    async def nothing(_: SqlMemories) -> None:
        return

    monkeypatch.setattr(SqlMemories, "keep_index", nothing)


async def _postings(store: SqlStore, *terms: str, scope: MemoryScope = ALICE) -> dict[str, int]:
    """How many entries the index itself has for each term."""
    index, requested = store._memories._index, TermQuery(memory_marker(TENANT, scope), terms, ALL_FIELDS)
    assert index is not None
    reported = await store._engine.read(
        lambda connection: index.postings(connection, store._engine, requested, 1000), snapshot=True
    )
    return {term: len(keys) for term, keys in reported.keys.items()}


async def _versions(store: SqlStore) -> list[int]:
    query = sa.select(memories.c.analyzer).order_by(memories.c.id)
    return list(await store._engine.read(lambda connection: connection.execute(query).scalars().all()))


async def _renew_all(store: SqlStore) -> int:
    total = 0
    while done := await store._memories.renew_terms():
        total += done
    return total


@pytest.mark.usefixtures("left_alone")
class TestBehind:
    async def test_entries_of_an_older_version_are_found_by_new_terms_before_and_after_they_are_analyzed_again(
        self, url: str
    ) -> None:
        async with opened(url) as store:
            await remember(store, *(memory(f"red {number}") for number in range(150)), memory("wool"))
        later = LaterCodec()
        async with opened(url, later) as store:
            await remember(store, memory("red new"))
            for _ in range(2):
                reported = await candidates(store, "redx", "red", "woolx", limit=200)
                assert (dict(reported.frequencies), len(reported.found), reported.documents) == (
                    {"redx": 151, "woolx": 1},
                    152,
                    152,
                )
                assert {each.words.split()[0] for each in reported.found} == {"redx", "woolx"}
                await _renew_all(store)
            assert await _versions(store) == [later.words_version] * 152
            assert await _postings(store, "red", "wool", "woolx", "newx") == {"woolx": 1, "newx": 1}
            assert await _renew_all(store) == 0

    async def test_entries_of_a_newer_version_are_found_and_not_analyzed_again(self, url: str) -> None:
        later = LaterCodec()
        async with opened(url, later) as store:
            await remember(store, memory("red"))
        async with opened(url) as store:
            assert await found(store, "red") == {"red"}
            assert await found(store, "redx") == set()
            assert await _renew_all(store) == 0
            assert await _versions(store) == [later.words_version]

    async def test_a_missing_index_is_rebuilt_while_searches_stay_complete(self, url: str) -> None:
        async with opened(url) as store:
            await remember(store, memory("red", id="a"), memory("red wool"))
            await store._engine.write(lambda connection: connection.exec_driver_sql(f"DROP TABLE {WORDS_TABLE}"))
        async with opened(url) as store:
            assert await _postings(store, "red") == {}
            assert await found(store, "red") == {"red", "red wool"}
            await forget(store, names=["a"])
            assert await _renew_all(store) == 1
            assert await _postings(store, "red", "wool") == {"red": 1, "wool": 1}
            assert await found(store, "red") == {"red wool"}

    async def test_without_an_index_everything_is_found_and_with_one_again_it_is_indexed(self, url: str) -> None:
        async with opened(url) as store:
            await remember(store, memory("red before"))
            index, store._memories._index = store._memories._index, None
            await remember(store, memory("red without"), memory("wool"))
            reported = await candidates(store, "red", limit=1)
            assert (dict(reported.frequencies), len(reported.found), reported.documents, reported.complete) == (
                {"red": 2},
                1,
                3,
                False,
            )
            assert await found(store, "red") == {"red before", "red without"}
            assert await _renew_all(store) == 0
            store._memories._index = index
            assert await found(store, "red", "wool") == {"red before", "red without", "wool"}
            assert await _renew_all(store) == 2
            assert await _postings(store, "red", "wool") == {"red": 2, "wool": 1}

    async def test_a_batch_that_fails_changes_nothing_and_is_done_later(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with opened(url) as store:
            await remember(store, memory("red"))
        async with opened(url, LaterCodec()) as store:
            index = store._memories._index
            assert index is not None

            def full(*_: object) -> None:
                raise OSError("disk full")

            with monkeypatch.context() as failing:
                failing.setattr(index, "add", full)
                with pytest.raises(StoreUnavailable):
                    await store._memories.renew_terms()
                with pytest.raises(StoreUnavailable):
                    await remember(store, memory("lost"))
            assert await _versions(store) == [CODEC.words_version]
            assert await _postings(store, "red", "redx") == {"red": 1}
            assert await found(store, "redx", "lostx") == {"red"}
            assert await _renew_all(store) == 1
            assert await _postings(store, "red", "redx") == {"redx": 1}

    async def test_entries_deleted_during_renewal_are_not_indexed_again(
        self, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with opened(url) as store:
            await remember(store, memory("red", id="a"), memory("wool", id="b"))
        async with opened(url, LaterCodec()) as store:
            write, mine = store._units.write, asyncio.current_task()

            async def late(unit: object) -> object:
                if asyncio.current_task() is not mine:  # what a store does when it opens
                    return await write(unit)  # type: ignore[arg-type]
                monkeypatch.setattr(store._units, "write", write)
                await forget(store, names=["a"])
                return await write(unit)  # type: ignore[arg-type]

            monkeypatch.setattr(store._units, "write", late)
            assert await store._memories.renew_terms() == 2
            assert await _postings(store, "red", "redx", "wool", "woolx") == {"woolx": 1}


async def test_memory_terms_are_renewed_in_the_background(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(url) as store:
        await remember(store, *(memory(f"red {number}") for number in range(100)))
    done, nothing_left = [], asyncio.Event()
    renew = SqlMemories.renew_terms

    async def reported(store: SqlMemories) -> int:
        done.append(await renew(store))
        if not done[-1]:
            nothing_left.set()
        return done[-1]

    monkeypatch.setattr(SqlMemories, "renew_terms", reported)
    async with opened(url, LaterCodec()) as store:
        async with asyncio.timeout(60):
            await nothing_left.wait()
        assert await _postings(store, "red", "redx") == {"redx": 100}
    assert (sum(done), max(done) < 100) == (100, True)


async def test_deleting_leaves_nothing_in_the_index(url: str) -> None:
    async with opened(url) as store:
        await remember(store, memory("red", id="a"), memory("red"))
        assert await _postings(store, "red") == {"red": 2}
        await forget(store, names=["a"])
        assert await _postings(store, "red") == {"red": 1}
        await forget(store)
        assert await _postings(store, "red") == {}


@pytest.mark.parametrize(("entries", "words", "least"), [(300, 1, 3), (12, 40_000, 4)])
async def test_a_large_scope_is_deleted_in_parts_so_that_others_can_write(
    url: str, monkeypatch: pytest.MonkeyPatch, entries: int, words: int, least: int
) -> None:
    parts: list[int] = []
    forget_some = memory_queries.forget_some

    def counted(*args: Any) -> memory_queries.Gone:
        some = forget_some(*args)
        parts.append(len(some.names))
        return some

    monkeypatch.setattr(memory_queries, "forget_some", counted)
    async with opened(url) as store:
        await remember(store, *(memory(f"m{number} " + "tea " * words) for number in range(entries)))
        assert await forget(store) == (entries, 0, 0)
        assert sum(parts) == entries
        assert len([part for part in parts if part]) >= least
        assert await found(store, "tea") == set()
