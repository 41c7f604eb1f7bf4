"""The embedding backlog is counted once a second for each credential and source, for any number of callers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.support.clock import Clock
from tests.support.codec import CODEC
from tests.support.sessions import TENANT
from tests.unit.service.search.searching import ALICE, ANYONE, Meanings, SearchServices
from threadkeep_server.domain.errors import StoreUnavailable
from threadkeep_server.domain.model import SECOND_NS, Caller
from threadkeep_server.domain.search import SearchMode
from threadkeep_server.service.search import embedding_backlog
from threadkeep_server.service.search.embedding_backlog import EmbeddingBacklog
from threadkeep_server.store.contract.vectors import Source
from threadkeep_server.store.inmemory import InMemoryStore

EVENTS, MEMORIES = Source.EVENTS, Source.MEMORIES
OTHER = Caller("other")


class Counting(InMemoryStore):
    """Counts slowly, from `waits`, and notes for whom."""

    def __init__(self) -> None:
        super().__init__(CODEC)
        self.waits = 5
        self.requested: list[tuple[Source, Caller | None]] = []
        self.free = asyncio.Event()
        self.free.set()
        self.fails = False

    async def waiting_for(self, name: str, sources: Sequence[Source], whose: Caller | None = None) -> int:
        assert name == "m"
        self.requested += [(source, whose) for source in sources]
        waits = self.waits
        await self.free.wait()
        if self.fails:
            raise StoreUnavailable("gone")
        return waits


class Counted:
    def __init__(self) -> None:
        self.store, self.clock = Counting(), Clock()
        self.counts = EmbeddingBacklog(self.store, "m", lambda: self.clock.now / SECOND_NS)


async def test_a_count_is_kept_for_a_second() -> None:
    counted = Counted()
    assert await counted.counts.recent(ALICE, EVENTS) == 5
    counted.store.waits = 3
    counted.clock.advance(0.99)
    assert await counted.counts.recent(ALICE, EVENTS) == 5
    counted.clock.advance(0.01)
    assert await counted.counts.recent(ALICE, EVENTS) == 3
    assert counted.store.requested == [(EVENTS, ALICE)] * 2


async def test_the_second_begins_when_it_has_been_counted() -> None:
    counted = Counted()
    counted.store.free.clear()
    requested = asyncio.create_task(counted.counts.recent(ALICE, EVENTS))
    await asyncio.sleep(0)
    counted.clock.advance(30)
    counted.store.free.set()
    assert await requested == 5
    counted.clock.advance(0.5)
    assert await counted.counts.recent(ALICE, EVENTS) == 5
    assert len(counted.store.requested) == 1


async def test_each_credential_and_source_has_a_count_of_its_own() -> None:
    counted = Counted()
    everyone = [(caller, source) for caller in (ALICE, ANYONE, OTHER, Caller("other", "alice")) for source in Source]
    for number, (caller, source) in enumerate(everyone):
        counted.store.waits = number
        assert await counted.counts.recent(caller, source) == number
    assert [await counted.counts.recent(*each) for each in everyone] == list(range(len(everyone)))
    assert counted.store.requested == [(source, caller) for caller, source in everyone]


async def test_concurrent_callers_share_a_count() -> None:
    counted = Counted()
    counted.store.free.clear()
    requested = [asyncio.create_task(counted.counts.recent(ALICE, EVENTS)) for _ in range(20)]
    other = asyncio.create_task(counted.counts.recent(OTHER, EVENTS))
    await asyncio.sleep(0)
    counted.store.free.set()
    assert await asyncio.gather(*requested, other) == [5] * 21
    assert counted.store.requested == [(EVENTS, ALICE), (EVENTS, OTHER)]


async def test_a_canceled_caller_does_not_cancel_the_shared_count() -> None:
    counted = Counted()
    counted.store.free.clear()
    first, second = (asyncio.create_task(counted.counts.recent(ALICE, EVENTS)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    counted.store.free.set()
    assert await second == 5
    assert first.cancelled()


async def test_a_count_that_failed_is_not_kept() -> None:
    counted = Counted()
    counted.store.fails = True
    with pytest.raises(StoreUnavailable):
        await counted.counts.recent(ALICE, EVENTS)
    counted.store.fails = False
    assert await counted.counts.recent(ALICE, EVENTS) == 5


async def test_a_current_count_replaces_the_cached_one() -> None:
    counted = Counted()
    assert await counted.counts.recent(ALICE, EVENTS) == 5
    counted.store.waits = 0
    assert await counted.counts.current(ALICE, [EVENTS, MEMORIES]) == 0
    assert await counted.counts.recent(ALICE, EVENTS) == 0
    counted.store.waits = 2
    assert await counted.counts.current(ALICE, [EVENTS, MEMORIES, EVENTS]) == 4


async def test_a_count_that_began_before_does_not_replace_the_present_one() -> None:
    counted = Counted()
    counted.store.free.clear()
    before = asyncio.create_task(counted.counts.recent(ALICE, EVENTS))
    await asyncio.sleep(0)
    counted.store.waits = 0
    present = asyncio.create_task(counted.counts.current(ALICE, [EVENTS]))
    await asyncio.sleep(0)
    counted.store.free.set()
    assert (await before, await present) == (5, 0)
    assert await counted.counts.recent(ALICE, EVENTS) == 0


async def test_no_more_counts_are_kept_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_backlog, "_COUNTS_KEPT", 3)
    counted = Counted()
    for name in "abcda":
        await counted.counts.recent(Caller(TENANT, name), EVENTS)
    assert [caller.user_id for _, caller in counted.store.requested if caller] == ["a", "b", "c", "d", "a"]
    assert len(counted.counts._counts) == 3
    assert not counted.counts._counting


async def test_searches_of_a_moment_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    services = SearchServices(Meanings())
    await services.session("s1", "my automobile")
    await services.embed_all()
    requested: list[Sequence[Source]] = []
    count = services.store.waiting_for

    async def noted(name: str, sources: Sequence[Source], whose: Caller | None = None) -> int:
        requested.append(sources)
        return await count(name, sources, whose)

    monkeypatch.setattr(services.store, "waiting_for", noted)
    for mode in (SearchMode.SEMANTIC, SearchMode.HYBRID) * 5:
        await services.find("car", mode=mode)
        await services.remembered("car", mode)
    assert requested == [[EVENTS], [MEMORIES]]
    services.clock.advance(1)
    await services.find("car", mode=SearchMode.HYBRID)
    assert requested == [[EVENTS], [MEMORIES], [EVENTS]]
