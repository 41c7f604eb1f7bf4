"""Texts are analyzed where that blocks no call: neither the indexer nor a search analyzes in the event loop's thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.support.candidates import caught_up
from tests.support.codec import CODEC, draft
from tests.support.feed import settled
from tests.support.memories import candidates, memory, remember
from tests.support.sessions import TENANT, append, session_with
from threadkeep_server.domain.feed import BEGINNING, ChangeKind
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.domain.search import WordQuery, Words
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.memories.store import SqlMemories
from threadkeep_server.store.sql.store import open_store
from threadkeep_server.transport.wire.codec import EventCodec


class _Watching(EventCodec):
    """Records the threads in which it analyzes."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def words(self, body: bytes, time: int) -> Words:
        self.threads.add(threading.get_ident())
        return super().words(body, time)

    def memory_words(self, content: bytes, time: int, author: str = "") -> Words:
        self.threads.add(threading.get_ident())
        return super().memory_words(content, time, author)


@pytest.mark.parametrize("indexed", [True, False])
async def test_texts_are_analyzed_outside_the_event_loop(url: str, indexed: bool) -> None:
    codec = _Watching()
    async with open_store(url, codec, options=SqlOptions(search_index=indexed)) as store:
        await session_with(store, *(draft(f"lions and {n} tigers") for n in range(5)))
        found = await store.word_candidates(TENANT, UserScope("alice"), WordQuery(("lion",)))
        assert len(found.found) == 5
        if indexed:
            await caught_up(store)
    assert codec.threads
    assert threading.get_ident() not in codec.threads


async def test_memories_are_analyzed_again_outside_the_event_loop(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(_: SqlMemories) -> None:
        return

    monkeypatch.setattr(SqlMemories, "keep_index", nothing)
    async with open_store(url, CODEC) as store:
        await remember(store, *(memory(f"lions and {n} tigers") for n in range(5)))
    codec = _Watching()
    codec.words_version += 1
    async with open_store(url, codec) as store:
        assert len((await candidates(store, "lion")).found) == 5
        searched = set(codec.threads)
        while await store._memories.renew_terms():
            pass
    assert searched
    assert threading.get_ident() not in codec.threads


class _Waiting(EventCodec):
    """Analyses when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.let = threading.Event(), threading.Event()

    def words(self, body: bytes, time: int) -> Words:
        self.begun.set()
        assert self.let.wait(120)  # longer than anything in the test waits
        return super().words(body, time)


@pytest.mark.postgres
async def test_the_feed_does_not_wait_for_analysis(postgres_url: str) -> None:
    codec = _Waiting()
    async with open_store(postgres_url, codec) as store:
        await session_with(store, draft("lions"))
        assert await asyncio.to_thread(codec.begun.wait, 60)
        await append(store, draft("tigers"))
        await settled(store)  # a notification may hold up the last change; the analysis still waits
        page = await store.changes(BEGINNING, 10)
        codec.let.set()
        assert [each.kind for each in page.changes] == [ChangeKind.CREATED, ChangeKind.APPENDED, ChangeKind.APPENDED]
        assert not page.unsettled
