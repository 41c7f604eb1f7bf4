"""The floor under searches of events: what an answer leaves out, through pages and groups."""

from __future__ import annotations

import pytest

from tests.unit.service.search.searching import Meanings, SearchServices, said
from threadkeep_server.domain.search import SearchMode
from threadkeep_server.service.search.ranked_search import Grouping


@pytest.mark.parametrize("mode", [SearchMode.RANKED, SearchMode.HYBRID])
@pytest.mark.parametrize("floor", [None, 0.0, 0.4, 1.0])
async def test_pages_under_a_score_floor_equal_one_page(mode: SearchMode, floor: float | None) -> None:
    services = SearchServices(Meanings())
    texts = ["red kayak", "kayak paddle red", "a red boat", "harbour", "automobile", "blue kayak"]
    await services.session("s1", *texts)
    await services.embed_all()
    whole = await services.find("red kayak", mode=mode, min_score=floor, limit=20)
    paged: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = await services.find("red kayak", mode=mode, min_score=floor, limit=1, offset=offset)
        assert len(page.hits) == 1
        paged += said(page)
        offset = page.next_offset
    assert paged == said(whole)
    assert whole.next_offset is None
    assert all(floor is None or hit.score >= floor for hit in whole.hits)
    assert said(whole)[0] in texts[:2]


async def test_groups_count_what_reaches_the_floor() -> None:
    services = SearchServices()
    await services.session("s1", "red kayak", "kayak", "harbour")
    every = await services.find("red kayak", grouping=Grouping.SESSION, min_score=0.0)
    above = await services.find("red kayak", grouping=Grouping.SESSION, min_score=0.9)
    assert (every.hits[0].group_hits, above.hits[0].group_hits) == (2, 1)


@pytest.mark.parametrize("mode", [SearchMode.RANKED, SearchMode.HYBRID])
async def test_an_unrelated_question_finds_no_event(mode: SearchMode) -> None:
    services = SearchServices(Meanings())
    await services.session("s1", "my automobile", "the word car", "an infusion", "the harbour")
    await services.embed_all()
    assert (await services.find("What is quantum entanglement?", mode=mode)).hits == []
