"""The limit of searches at a time: of one caller, of all, and of all kinds of searches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.sessions import TENANT, ref
from tests.unit.service.search.searching import SearchServices
from threadkeep_server.domain.errors import RateLimited
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.memories import MemoryScope
from threadkeep_server.domain.model import Caller
from threadkeep_server.service.memory.memory_search import MemoryQuery
from threadkeep_server.service.search.search_slots import SearchSlots
from threadkeep_server.store.contract.search import SearchQuery

ALICE, BOB = Caller(TENANT, "alice"), Caller(TENANT, "bob")
Search = Callable[[SearchServices, Caller], Awaitable[Any]]


def ranked(services: SearchServices, caller: Caller) -> Awaitable[Any]:
    return services.find("needle", ref(user=caller.user_id or ""), caller=caller)


def literal(services: SearchServices, caller: Caller) -> Awaitable[Any]:
    query = SearchQuery(ref(user=caller.user_id or ""), EventFilter(keyword="needle"))
    return services.literal.search(caller, query)


def memories(services: SearchServices, caller: Caller) -> Awaitable[Any]:
    return services.memory.search(caller, MemoryQuery(MemoryScope("shop", caller.user_id or ""), "needle"))


SEARCHES: list[Search] = [ranked, literal, memories]


async def occupied(services: SearchServices, monkeypatch: pytest.MonkeyPatch, searches: int) -> Callable[[], Awaitable[None]]:
    """Has searches of alice wait in the store. Returns what lets them end."""
    for user in ("alice", "bob"):
        await services.session("s1", "a needle", user=user)
    gate, original = asyncio.Event(), services.store.word_candidates

    async def waits(*args: Any) -> Any:
        await gate.wait()
        return await original(*args)

    monkeypatch.setattr(services.store, "word_candidates", waits)
    running = [asyncio.ensure_future(ranked(services, ALICE)) for _ in range(searches)]
    await asyncio.sleep(0)
    monkeypatch.setattr(services.store, "word_candidates", original)

    async def let() -> None:
        gate.set()
        assert all(page.hits for page in await asyncio.gather(*running))

    return let


@pytest.mark.parametrize("search", SEARCHES)
async def test_the_ninth_search_of_a_caller_is_refused_and_that_of_another_is_answered(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = SearchServices(slots=SearchSlots(most=64, most_per_caller=8))
    let = await occupied(services, monkeypatch, 8)
    with pytest.raises(RateLimited) as refused:
        await search(services, ALICE)
    assert refused.value.metadata == {"limit": "searches_per_caller"}
    await search(services, BOB)
    await let()
    await search(services, ALICE)


async def test_a_search_beyond_the_limit_of_the_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    services = SearchServices(slots=SearchSlots(most=2, most_per_caller=2))
    let = await occupied(services, monkeypatch, 2)
    with pytest.raises(RateLimited) as refused:
        await literal(services, BOB)
    assert refused.value.metadata == {"limit": "searches"}
    await let()
    await literal(services, BOB)
