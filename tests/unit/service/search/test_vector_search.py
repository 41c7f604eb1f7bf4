"""Searching by vectors: what is found when, with filters, deletions, small caches and stores that have an index."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.clock import Clock
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, ref
from tests.unit.service.search.searching import ANYONE, DIMENSION, SCOPE, Meanings, SearchServices, meaning
from threadkeep_server.domain.errors import AmbiguousSession
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.memories import Forget, MemoryFilter
from threadkeep_server.domain.model import Role, SessionRef
from threadkeep_server.domain.scopes import EventScope, UserScope
from threadkeep_server.providers.embedders.base import EmbedFailed
from threadkeep_server.search.vectors import MatrixCache
from threadkeep_server.service.search import vector_cache, vector_search
from threadkeep_server.service.search.vector_cache import VectorCache
from threadkeep_server.service.search.vector_model import VectorModel
from threadkeep_server.store.contract.vectors import Embedded, Source
from threadkeep_server.store.inmemory import InMemoryStore

ALICES = UserScope("alice", "shop")
ANY = EventFilter()


async def near(
    services: SearchServices, text: str, scope: EventScope = ALICES, wanted: EventFilter = ANY, count: int = 10, **how: Any
) -> list[str]:
    assert services.vectors is not None
    found, _ = await services.vectors.events(TENANT, scope, text, wanted, count, **how)
    assert [each.cosine for each in found] == sorted((each.cosine for each in found), reverse=True)
    return [CODEC.text(each.document.event.body) for each in found]


def room_for(count: int, dimension: int = DIMENSION) -> int:
    """Bytes of a cache that holds a scope of so many vectors, and no larger one."""
    cache = MatrixCache(1 << 30)
    cache.extend("scope", np.arange(count), np.zeros(count, np.int64), np.zeros((count, dimension), np.float32))
    return cache.bytes


async def fleet() -> SearchServices:
    services = SearchServices(Meanings())
    await services.session("s1", "my automobile", "my vessel")
    await services.session("s2", "your vehicle is a car", "your kitten")
    await services.embed_all()
    return services


async def test_the_nearest_are_found_exactly_within_the_scope() -> None:
    services = await fleet()
    assert set((await near(services, "car"))[:2]) == {"your vehicle is a car", "my automobile"}
    assert await near(services, "car", ref("s1"), count=1) == ["my automobile"]
    assert await near(services, "car", ref("s2"), count=1) == ["your vehicle is a car"]
    assert len(await near(services, "car")) == 4


async def test_events_embedded_before_the_call_are_found_despite_caching() -> None:
    services = await fleet()
    await near(services, "car")
    for number in range(5):
        await services.say(ref("s1"), f"car {number}")
        await services.embed_all()
        assert f"car {number}" in await near(services, "car", count=3 + number)


async def test_a_late_embedding_is_found_within_a_second() -> None:
    """Of two servers the faster may have embedded what was said later."""
    services = await fleet()
    model = await services.model.number()
    await services.say(ref("s1"), "the first car", "the second car")
    first, second = await services.store.unembedded(Source.EVENTS, model, 10)
    await services.store.put_embeddings(Source.EVENTS, model, [second.key], meaning(second.text)[None])
    assert "the second car" in await near(services, "car")
    await services.store.put_embeddings(Source.EVENTS, model, [first.key], meaning(first.text)[None])
    services.clock.advance(1)
    assert "the first car" in await near(services, "car")


async def test_cached_vectors_are_not_read_again() -> None:
    services = await fleet()
    starts: list[int] = []
    read = services.store.event_vectors

    async def noted(tenant: str, scope: EventScope, model: int, after: int, limit: int) -> Embedded:
        starts.append(after)
        return await read(tenant, scope, model, after, limit)

    services.store.event_vectors = noted  # type: ignore[method-assign]
    for _ in range(5):
        services.clock.advance(61)
        await near(services, "car")
    last = max(entry.key for log in services.store._logs.values() for entry in log.entries)  # type: ignore[attr-defined]
    assert starts[0] == 0
    assert starts[-1] == last


async def test_deleted_sessions_are_not_found_from_a_cache() -> None:
    services = await fleet()
    assert len(await near(services, "car")) == 4
    await services.store.delete_session(TENANT, ref("s2"))
    assert set(await near(services, "car")) == {"my automobile", "my vessel"}
    assert await near(services, "car", count=1) == ["my automobile"]
    await services.store.delete_session(TENANT, ref("s1"))
    assert await near(services, "car") == []


async def test_a_recreated_session_has_nothing_of_the_previous_one() -> None:
    services = await fleet()
    assert len(await near(services, "car", ref("s1"))) == 2
    await services.store.delete_session(TENANT, ref("s1"))
    await services.session("s1", "another automobile")
    await services.embed_all()
    assert await near(services, "car", ref("s1")) == ["another automobile"]
    assert await near(services, "car", SessionRef("", "", "s1")) == ["another automobile"]


async def test_a_bare_id_may_later_select_a_session_with_older_events() -> None:
    services = SearchServices(Meanings())
    await services.session("s1", "the older automobile", user="bob")
    await services.session("s1", "the newer automobile")
    await services.embed_all()
    bare = SessionRef("", "", "s1")
    with pytest.raises(AmbiguousSession):
        await near(services, "car", bare)
    await services.store.delete_session(TENANT, ref(user="bob"))
    assert await near(services, "car", bare) == ["the newer automobile"]
    services = SearchServices(Meanings())
    older = await services.session("s2", "the older automobile", user="bob")
    await services.session("s1", "the newer automobile")
    await services.embed_all()
    assert await near(services, "car", bare) == ["the newer automobile"]
    await services.store.delete_session(TENANT, ref())
    log = services.store._logs.pop((TENANT, older))  # type: ignore[attr-defined]
    log.session = replace(log.session, ref=ref(user="bob"))
    services.store._logs[TENANT, ref(user="bob")] = log  # type: ignore[attr-defined]
    assert await near(services, "car", bare) == ["the older automobile"]


async def test_the_search_goes_deeper_while_a_filter_leaves_too_few_hits() -> None:
    services = SearchServices(Meanings())
    await services.session("s1", *["car"] * 40, draft("my car, at last", role=Role.SYSTEM))
    await services.embed_all()
    wanted = EventFilter(roles=frozenset({Role.SYSTEM}))
    assert await near(services, "car", wanted=wanted, count=1) == ["my car, at last"]
    assert len(await near(services, "car", wanted=EventFilter(roles=frozenset({Role.ASSISTANT})), count=15)) == 15


async def test_the_depth_of_a_search_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_search, "_DEEPEST", 16)
    services = SearchServices(Meanings())
    await services.session("s1", *["car"] * 40, draft("my car, at last", role=Role.SYSTEM))
    await services.embed_all()
    assert await near(services, "car", wanted=EventFilter(roles=frozenset({Role.SYSTEM})), count=1) == []


async def test_a_score_floor_ends_the_search() -> None:
    services = await fleet()
    assert set(await near(services, "car", min_score=0.9)) == {"my automobile", "your vehicle is a car"}
    assert await near(services, "tea", min_score=0.9) == []


async def test_scopes_larger_than_the_cache_are_streamed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "BLOCK_ROWS", 3)
    monkeypatch.setattr(vector_search, "BLOCK_ROWS", 3)
    large, small = SearchServices(Meanings(), cache_bytes=1 << 20), SearchServices(Meanings(), cache_bytes=room_for(4))
    for services in (large, small):
        await services.session("s1", *[f"car {'and ' * (number % 7)}{number}" for number in range(20)])
        await services.embed_all()
    wanted = EventFilter(exclude_synthetic=True)
    for count in (1, 5, 20, 50):
        assert await near(small, "car", wanted=wanted, count=count) == await near(large, "car", wanted=wanted, count=count)
    assert small.cache.bytes == 0
    assert large.cache.bytes > 0


async def test_caches_of_many_scopes_stay_within_bounds_and_answers_the_same() -> None:
    services = SearchServices(Meanings(), cache_bytes=2 * room_for(6))
    for number in range(6):
        await services.session(f"s{number}", *[f"car {number} {each}" for each in range(5)], user=f"user{number}")
    await services.embed_all()
    scopes = [UserScope(f"user{number}") for number in range(6)]
    for _ in range(3):
        answers = await asyncio.gather(*(near(services, "car", scope) for scope in scopes))
        for number, answer in enumerate(answers):
            assert {text.split()[1] for text in answer} == {str(number)}
            assert len(answer) == 5
        assert services.cache.bytes <= 2 * room_for(6)


async def test_searches_at_once_of_one_scope_read_it_once() -> None:
    services = await fleet()
    reads = 0
    read = services.store.event_vectors

    async def slow(*args: Any) -> Embedded:
        nonlocal reads
        reads += args[3] == 0
        await asyncio.sleep(0)
        return await read(*args)

    services.store.event_vectors = slow  # type: ignore[method-assign, assignment]
    answers = await asyncio.gather(*(near(services, "car") for _ in range(10)))
    assert len({tuple(answer) for answer in answers}) == 1
    assert len(answers[0]) == 4
    assert reads <= 2  # the second for what may have come late


async def test_a_canceled_search_leaves_no_partial_scope_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "BLOCK_ROWS", 2)
    services = await fleet()
    read = services.store.event_vectors

    async def breaks(tenant: str, scope: EventScope, model: int, after: int, limit: int) -> Embedded:
        if after:
            raise asyncio.CancelledError
        return await read(tenant, scope, model, after, limit)

    services.store.event_vectors = breaks  # type: ignore[method-assign]
    with pytest.raises(asyncio.CancelledError):
        await near(services, "car")
    services.store.event_vectors = read  # type: ignore[method-assign]
    assert len(await near(services, "car")) == 4


class Indexed(InMemoryStore):
    """Has an index of its own."""

    def __init__(self, answer: Sequence[tuple[int, float]]) -> None:
        super().__init__(CODEC)
        self.answer = answer
        self.wanted: list[int] = []

    async def nearest(self, source: Source, tenant: str, scope: Any, model: int, vector: Any, limit: int) -> Any:
        self.wanted.append(limit)
        return list(self.answer[:limit])

    async def event_vectors(self, *_: Any) -> Embedded:
        raise AssertionError("its index must answer")


async def test_a_store_with_its_own_index_is_searched_first() -> None:
    store = Indexed([])
    services = SearchServices(Meanings(), store=store)
    await services.session("s1", "my automobile", "my vessel")
    store.answer = [(key, 1 / key) for key in (1, 2)]
    assert await near(services, "car") == ["my automobile", "my vessel"]
    assert store.wanted == [10]


async def test_questions_are_embedded_once_and_as_questions() -> None:
    services = await fleet()
    embedder = services.embedder
    assert embedder is not None
    for _ in range(3):
        await near(services, "car")
        await near(services, "boat", ref("s1"))
    assert embedder.questions == ["car", "boat"]
    await asyncio.gather(*(near(services, f"question {number}") for number in range(vector_search._QUERIES_KEPT)))
    await near(services, "car")
    assert embedder.questions.count("car") == 2


async def test_a_failing_embedder_is_reported_and_the_failure_is_not_cached() -> None:
    services = await fleet()
    assert services.embedder is not None
    services.embedder.fails = EmbedFailed("no answer", retry=True)
    with pytest.raises(EmbedFailed):
        await near(services, "car")
    services.embedder.fails = None
    assert len(await near(services, "car")) == 4


async def test_a_question_without_meaning_has_no_similarity() -> None:
    services = await fleet()
    assert await near(services, "?!") == []


async def test_memories_are_searched_in_their_scope_with_their_filter() -> None:
    services = await fleet()
    assert services.vectors is not None
    for session in ("s1", "s2"):
        await services.memory.add_session(ANYONE, ref(session))
    await services.embed_all()

    async def found(**wanted: Any) -> set[str]:
        assert services.vectors is not None
        near, _ = await services.vectors.memories(TENANT, SCOPE, "car", MemoryFilter(**wanted), 2)
        return {each.document.draft.text for each in near}

    assert await found() == {"my automobile", "your vehicle is a car"}
    assert await found(session_ids=frozenset({"s1"})) == {"my automobile", "my vessel"}
    await services.store.forget(TENANT, SCOPE, Forget(session_id="s1"), 0)
    assert await found() == {"your vehicle is a car", "your kitten"}
    assert (await services.vectors.memories(TENANT, SCOPE._replace(user_id="bob"), "car", MemoryFilter(), 2)).found == []


async def test_many_rows_are_compared_outside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    services = await fleet()
    few = await near(services, "car")
    monkeypatch.setattr(vector_search, "_MOST_AT_ONCE", 1)
    beside: list[object] = []
    to_thread = asyncio.to_thread

    async def noted(work: Any, *args: Any) -> Any:
        beside.append(work)
        return await to_thread(work, *args)

    monkeypatch.setattr(asyncio, "to_thread", noted)
    assert await near(services, "car") == few
    assert len(beside) == 1


async def test_an_unknown_dimension_is_determined_once_by_a_probe() -> None:
    store = InMemoryStore(CODEC)
    embedder = Meanings(known=False)
    model = VectorModel(store, embedder)
    assert await asyncio.gather(*(model.number() for _ in range(3))) == [1, 1, 1]
    assert embedder.requested == [["probe"]]
    other = VectorModel(store, Meanings("other"))
    assert await other.number() == 2


async def test_a_model_whose_dimension_has_changed_is_refused_by_its_name() -> None:
    store = InMemoryStore(CODEC)
    await store.vector_model("meanings", DIMENSION + 1)
    with pytest.raises(EmbedFailed, match="'meanings'"):
        await VectorModel(store, Meanings()).number()


async def test_a_matrix_is_the_same_for_any_order_of_arrival() -> None:
    """Random arrivals, late ones within the time they are waited for: every read holds all that was stored a second before."""
    chance = np.random.default_rng(11)
    clock = Clock()
    cache = VectorCache(MatrixCache(1 << 20), clock)
    stored: dict[int, float] = {}
    waiting = list(range(1, 400))

    async def read(after: int, limit: int) -> Embedded:
        keys = sorted(key for key in stored if key > after)[:limit]
        rows = np.array([[stored[key]] for key in keys], np.float32).reshape(len(keys), 1)
        return Embedded(np.array(keys, np.int64), np.zeros(len(keys), np.int64), rows)

    while waiting:
        for _ in range(int(chance.integers(1, 6))):
            if waiting:
                stored[waiting.pop(int(chance.integers(0, min(8, len(waiting)))))] = float(len(waiting))
        clock.advance(float(chance.choice([0.1, 1.0, 5.0])))
        entry = await cache.get("scope", read)
        assert entry is not None
        if not chance.integers(0, 3):
            clock.advance(1)
            entry = await cache.get("scope", read)
            assert entry is not None
            assert dict(zip(entry.keys.tolist(), entry.vectors[:, 0].tolist(), strict=True)) == stored
    clock.advance(1)
    entry = await cache.get("scope", read)
    assert entry is not None
    assert sorted(entry.keys.tolist()) == list(range(1, 400))


async def test_a_scope_evicted_while_it_is_read_is_never_partially_cached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vector_cache, "BLOCK_ROWS", 4)
    cache = VectorCache(MatrixCache(room_for(12, 1)), Clock())

    def rows(keys: range) -> Embedded:
        return Embedded(np.array(keys, np.int64), np.zeros(len(keys), np.int64), np.ones((len(keys), 1), np.float32))

    async def other(after: int, limit: int) -> Embedded:
        return rows(range(after + 1, min(after + 1 + limit, 11)))

    async def read(after: int, limit: int) -> Embedded:
        if after == 4:
            entry = await cache.get("other", other)
            assert entry is not None
            assert len(entry.keys) == 10
        return rows(range(after + 1, min(after + 1 + limit, 11)))

    assert await cache.get("scope", read) is None  # to be streamed
    entry = await cache.get("scope", other)
    assert entry is not None
    assert entry.keys.tolist() == list(range(1, 11))
