"""Searches that use up their budget for events that are not indexed: what they find, what they say, and how they continue."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from tests.support.candidates import ALICE, ask, caught_up, said_in
from tests.support.codec import CODEC, draft, texts
from tests.support.feed import settled
from tests.support.memories import candidates, memory, remember
from tests.support.sessions import TENANT, append, ref, search, session_with
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.scopes import EventScope
from threadkeep_server.store.contract.events import EventQuery
from threadkeep_server.store.contract.search import SearchQuery
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.memories.store import SqlMemories
from threadkeep_server.store.sql.search.indexer import Indexer
from threadkeep_server.store.sql.store import SqlStore, open_store
from threadkeep_server.transport.wire.codec import EventCodec

SCOPES = [ALICE, ref()]
TAIL = ["needle 2", "hay", "needle 3", "needle 4", "hay"]


@pytest.fixture(params=[{"search_scan_bytes": 1}, {"search_scan_seconds": 0.0}], ids=["bytes", "time"])
async def store(request: pytest.FixtureRequest, url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqlStore]:
    """Two sessions; of one only the first event is indexed. A search reads one event of the others."""

    async def idle(_: Indexer) -> None:
        """Nothing."""

    monkeypatch.setattr(Indexer, "run", idle)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(url, CODEC, options=SqlOptions(**request.param)))
        await session_with(store, draft("needle 1"))
        await settled(store)
        assert store._indexer is not None
        await store._indexer._catch_up()
        for text in TAIL:
            await append(store, draft(text))
        await session_with(store, draft("needle of bob"), session_id="s2", user="bob")
        yield store


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_ranked_search_reads_the_newest_and_counts_the_rest(store: SqlStore, scope: EventScope) -> None:
    found = await ask(store, "needle hay", scope)
    assert await said_in(store, "needle hay", scope) == ["hay", "needle 1"]
    assert (found.unsearched, found.documents) == (len(TAIL) - 1, len(TAIL) + 1)


async def test_a_ranked_search_that_needs_no_more_than_its_budget_is_complete(store: SqlStore) -> None:
    assert (await ask(store, "needle", ref("s2", user="bob"))).unsearched == 0


@pytest.mark.parametrize("scope", SCOPES)
async def test_pages_of_a_literal_search_continue_where_the_budget_ended(store: SqlStore, scope: EventScope) -> None:
    said: list[list[str]] = []
    flags, cursor = [], None
    while True:
        page = await store.search(TENANT, SearchQuery(scope, EventFilter(keyword="needle"), cursor=cursor))
        said.append(texts(hit.event for hit in page.hits))
        flags.append(page.incomplete)
        cursor = page.cursor
        if cursor is None:
            break
    assert [text for some in said for text in some] == [f"needle {n}" for n in range(1, 5)]
    assert flags == [True] * (len(flags) - 1) + [False]
    assert [] in said


@pytest.mark.parametrize("descending", [False, True])
async def test_pages_of_a_list_with_a_keyword_continue_where_the_budget_ended(store: SqlStore, descending: bool) -> None:
    query = EventQuery(EventFilter(keyword="needle"), descending=descending)
    pages: list[list[str]] = []
    cursor = None
    while cursor is not None or not pages:
        page = await store.list_events(TENANT, ref(), replace(query, cursor=cursor))
        pages.append(texts(page.events))
        cursor = page.cursor
    assert [text for some in pages for text in some] == [f"needle {n}" for n in range(1, 5)][:: -1 if descending else 1]
    assert len(pages) > len(TAIL)
    assert [] in pages


async def test_a_window_of_a_list_with_a_keyword_is_whole(store: SqlStore) -> None:
    page = await store.list_events(TENANT, ref(), EventQuery(EventFilter(keyword="needle", last_n=2)))
    assert (texts(page.events), page.cursor) == (["needle 3", "needle 4"], None)


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_numbered_page_beyond_the_budget_is_empty_and_incomplete(store: SqlStore, scope: EventScope) -> None:
    for number, said, incomplete in ((0, ["needle 1"], False), (3, [], True)):
        wanted = EventFilter(keyword="needle", page=number, page_size=1)
        page = await store.search(TENANT, SearchQuery(scope, wanted))
        assert (texts(hit.event for hit in page.hits), page.incomplete, page.cursor) == (said, incomplete, None)


@pytest.mark.parametrize("scope", SCOPES)
async def test_without_an_index_everything_counts(url: str, scope: EventScope) -> None:
    options = SqlOptions(search_index=False, search_scan_bytes=1)
    async with open_store(url, CODEC, options=options) as store:
        await session_with(store, *(draft(f"needle {n}") for n in range(3)))
        assert await said_in(store, "needle", scope) == ["needle 2"]
        assert (await ask(store, "needle", scope)).unsearched == 2
        page = await store.search(TENANT, SearchQuery(scope, EventFilter(keyword="needle")))
        assert (texts(hit.event for hit in page.hits), page.incomplete) == (["needle 0"], True)
        assert len(await search(store, "needle", scope)) == 1


class Never:
    """A pattern that nothing matches, and how often it was tried."""

    source = "never"

    def __init__(self) -> None:
        self.tried = 0

    def found_in(self, text: str) -> bool:
        self.tried += 1
        return False


async def test_a_pattern_decodes_candidates_within_the_budget(url: str) -> None:
    async with open_store(url, CODEC, options=SqlOptions(search_scan_bytes=20_000)) as store:
        await session_with(store)
        for _ in range(4):
            await append(store, *(draft("needle " + "x" * 1000) for _ in range(100)))
        await caught_up(store)
        pattern = Never()
        found = await ask(store, "needle", wanted=EventFilter(pattern=pattern), limit=10)
        assert (found.found, found.unsearched > 0) == ([], True)
        assert 10 <= pattern.tried <= 20
        every = await ask(store, "needle", limit=10)
        assert (len(every.found), every.unsearched) == (10, 0)


async def test_outdated_memories_beyond_the_budget_are_counted(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(_: SqlMemories) -> None:
        """No renewal."""

    monkeypatch.setattr(SqlMemories, "keep_index", nothing)
    async with open_store(url, CODEC) as store:
        await remember(store, *(memory(f"lions and {n} tigers") for n in range(5)))
    codec = EventCodec()
    codec.words_version += 1
    async with open_store(url, codec, options=SqlOptions(search_scan_bytes=1)) as store:
        found = await candidates(store, "lion")
        assert (len(found.found), found.unsearched) == (1, 4)
