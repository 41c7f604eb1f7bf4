"""RANKED, HYBRID and memory search with a reranker: the order of the best, and answers without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.service.memory.memories import entry
from tests.unit.service.search.searching import ANYONE, SCOPE, Meanings, SearchServices, said, texts_of
from threadkeep_server.domain.search import SearchMode
from threadkeep_server.providers.rerankers.base import RerankFailed
from threadkeep_server.service.search.ranked_search import RankedSearch

BOATS = ("the boat is red", "the boat is green and a boat", "a boat, and what else", "boat boat boat")


class Shortest:
    """A Reranker: the shorter the better. `fails`: it does not answer."""

    def __init__(self, top: int = 50, *, fails: bool = False) -> None:
        self.top, self.fails = top, fails
        self.max_characters = 100
        self.calls: list[tuple[str, list[str]]] = []

    async def scores(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        self.calls.append((query, list(documents)))
        if self.fails:
            raise RerankFailed("did not answer in time")
        return [-float(len(document)) for document in documents]


async def services_with(reranker: Shortest, embedder: Meanings | None = None) -> SearchServices:
    services = SearchServices(embedder)
    services.ranked = RankedSearch(
        services.store, services.limits, services.ranked._texts, services.vectors, services.clock, reranker=reranker
    )
    services.memory._search._reranker = reranker
    await services.session("s1", *BOATS)
    if embedder is not None:
        await services.embed_all()
    return services


async def found(services: SearchServices, **how: Any) -> list[str]:
    return said(await services.find("boat", **how))


@pytest.mark.parametrize("mode", [SearchMode.RANKED, SearchMode.HYBRID])
async def test_the_best_are_in_the_order_of_the_reranker_and_keep_their_relevance(mode: SearchMode) -> None:
    plain = SearchServices(Meanings())
    await plain.session("s1", *BOATS)
    await plain.embed_all()
    before = await plain.find("boat", mode=mode)
    services = await services_with(Shortest(), Meanings())
    page = await services.find("boat", mode=mode)
    assert said(page) == sorted(BOATS, key=len)
    assert not page.rerank_failed
    scores = {hit.found.event.seq: hit.score for hit in before.hits}
    assert {hit.found.event.seq: hit.score for hit in page.hits} == scores


async def test_only_the_best_are_reranked_and_the_others_follow() -> None:
    order = await found(await services_with(Shortest(fails=True)))
    reranker = Shortest(top=2)
    assert await found(await services_with(reranker)) == sorted(order[:2], key=len) + order[2:]
    assert [(query, sorted(documents)) for query, documents in reranker.calls] == [("boat", sorted(order[:2]))]


async def test_without_an_answer_of_the_reranker_the_order_is_as_before_and_the_page_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plain = SearchServices()
    await plain.session("s1", *BOATS)
    services = await services_with(Shortest(fails=True))
    page = await services.find("boat")
    assert said(page) == await found(plain)
    assert page.rerank_failed
    assert "answering without the reranker: it did not answer in time" in caplog.text


async def test_semantic_searches_and_single_hits_are_not_reranked() -> None:
    reranker = Shortest()
    services = await services_with(reranker, Meanings())
    await services.find("boat", mode=SearchMode.SEMANTIC)
    await services.find("green")
    assert reranker.calls == []


async def test_memories_are_reranked_too() -> None:
    services = await services_with(Shortest())
    await services.memory.add(ANYONE, SCOPE, [entry(text) for text in BOATS])
    assert texts_of(await services.remembered("boat", SearchMode.RANKED)) == sorted(BOATS, key=len)
