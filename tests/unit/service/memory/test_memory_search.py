"""What is found in long-term memory, by each mode, and in which order."""

from __future__ import annotations

import json

import pytest

from tests.unit.service.memory.memories import entry, remembering
from tests.unit.service.search.searching import ANYONE, SCOPE, Meanings, SearchServices, texts_of
from threadkeep_server.domain import errors
from threadkeep_server.domain.memories import Forget, MemoryFilter
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.domain.search import Field, SearchMode, Span
from threadkeep_server.domain.validation import Limits
from threadkeep_server.providers.embedders.base import EmbedFailed
from threadkeep_server.service.search.search_pipeline import Recency


@pytest.mark.parametrize("mode", SearchMode)
@pytest.mark.parametrize("query", ["", " \t\n"])
async def test_an_empty_query_returns_nothing(mode: SearchMode, query: str) -> None:
    services = await remembering("likes tea", embedder=Meanings())
    assert texts_of(await services.remembered(query, mode)) == []


async def test_hybrid_is_the_default_where_an_embedder_is_configured_else_ranked() -> None:
    assert (await (await remembering("tea")).remembered("tea")).mode is SearchMode.RANKED
    assert (await (await remembering("tea", embedder=Meanings())).remembered("tea")).mode is SearchMode.HYBRID


async def test_substring_is_case_insensitive_newest_first_with_highlights() -> None:
    services = SearchServices()
    now = services.clock.now
    await services.memory.add(
        ANYONE, SCOPE, [entry("Tea, newest", event_time=now), entry("more TEA", event_time=now - 5), entry("rum")]
    )
    found = await services.remembered("tEa", SearchMode.SUBSTRING)
    assert texts_of(found) == ["Tea, newest", "more TEA"]
    assert [each.highlights for each in found.entries] == [[(Field.TEXT, Span(0, 3))], [(Field.TEXT, Span(5, 8))]]
    assert [each.score for each in found.entries] == [1.0, 1.0]
    assert found.semantic_lag == 0
    assert texts_of(await services.remembered("tea", SearchMode.SUBSTRING, top_k=1)) == ["Tea, newest"]


async def test_ranked_answers_questions_best_first() -> None:
    services = await remembering("her boat lies in the harbour", "she likes tea", "the harbour is old")
    found = await services.remembered("Where does her boat lie?")
    assert texts_of(found)[0] == "her boat lies in the harbour"
    assert found.entries[0].score > 0
    assert found.entries[0].highlights
    assert texts_of(await services.remembered("?!")) == []


async def test_semantic_is_top_5_by_default_with_an_optional_floor() -> None:
    services = await remembering(*[f"a car {number}" for number in range(8)], "a ship", embedder=Meanings())
    found = await services.remembered("automobile", SearchMode.SEMANTIC)
    assert len(found.entries) == 5
    assert all(each.score > 0.9 for each in found.entries)
    assert len((await services.remembered("automobile", SearchMode.SEMANTIC, top_k=20)).entries) == 9
    assert len((await services.remembered("automobile", SearchMode.SEMANTIC, top_k=20, min_score=0.5)).entries) == 8
    for wrong in (-1.01, 1.01, float("nan")):
        with pytest.raises(errors.InvalidField, match="min_score"):
            await services.remembered("automobile", SearchMode.SEMANTIC, min_score=wrong)


async def test_top_k_is_10_otherwise_coerced_and_not_negative() -> None:
    services = await remembering(*[f"tea {number}" for number in range(15)])
    assert len((await services.remembered("tea")).entries) == 10
    assert len((await services.remembered("tea", top_k=1_000_000)).entries) == 15
    with pytest.raises(errors.InvalidField, match="top_k"):
        await services.remembered("tea", top_k=-1)


async def test_hybrid_finds_words_and_meanings() -> None:
    services = await remembering("my automobile", "the word car", "an infusion", embedder=Meanings())
    found = await services.remembered("car")
    assert texts_of(found)[:2] == ["the word car", "my automobile"]


async def test_an_embedder_that_is_down_leaves_ranked_and_fails_semantic() -> None:
    embedder = Meanings()
    services = await remembering("a car", embedder=embedder)
    embedder.fails = EmbedFailed("no answer", retry=True)
    found = await services.remembered("car")
    assert (texts_of(found), found.mode) == (["a car"], SearchMode.RANKED)
    with pytest.raises(errors.EmbedderFailed, match="no answer"):
        await services.remembered("car", SearchMode.SEMANTIC)
    with pytest.raises(errors.EmbedderNotConfigured):
        await (await remembering("a car")).remembered("car", SearchMode.HYBRID)


async def test_the_lag_counts_entries_waiting_for_an_embedding() -> None:
    services = await remembering("my automobile", embedder=Meanings())
    await services.memory.add(ANYONE, SCOPE, [entry("another vehicle")])
    await services.session("s1", "events wait too", "and are another matter")
    found = await services.remembered("car", SearchMode.SEMANTIC)
    assert (texts_of(found), found.semantic_lag) == (["my automobile"], 1)
    await services.embed_all()
    services.clock.advance(1)  # it is counted once a second
    found = await services.remembered("car", SearchMode.SEMANTIC)
    assert (len(found.entries), found.semantic_lag) == (2, 0)


async def test_deleted_events_are_not_found_afterwards_in_any_mode() -> None:
    services = await remembering("a car", "my automobile", embedder=Meanings())
    assert len((await services.remembered("car", SearchMode.SEMANTIC)).entries) == 2
    receipt = await services.memory.forget(ANYONE, SCOPE, Forget())
    assert (receipt.deleted, receipt.embeddings) == (2, 2)
    for mode in SearchMode:
        assert texts_of(await services.remembered("car", mode)) == []


async def test_recency_lifts_newer_entries() -> None:
    services = SearchServices()
    now, day = services.clock.now, 86_400 * SECOND_NS
    old, new = entry("tea", event_time=now - 300 * day), entry("tea, in a much longer text", event_time=now)
    await services.memory.add(ANYONE, SCOPE, [old, new])
    assert texts_of(await services.remembered("tea"))[0] == "tea"
    assert texts_of(await services.remembered("tea", recency=Recency(day, 9.0)))[0] == "tea, in a much longer text"
    with pytest.raises(errors.InvalidField, match="recency"):
        await services.remembered("tea", SearchMode.SUBSTRING, recency=Recency(day))


async def test_filters_hold_in_every_mode() -> None:
    services = SearchServices(Meanings())
    await services.memory.add(
        ANYONE, SCOPE, [entry("a car", author="alice"), entry("the car", author="bob", metadata_json=json.dumps({"n": 1}))]
    )
    await services.embed_all()
    for mode in SearchMode:
        assert texts_of(await services.remembered("car", mode, filter=MemoryFilter(authors=frozenset({"bob"})))) == ["the car"]
        assert texts_of(await services.remembered("car", mode, filter=MemoryFilter(metadata={"n": "1"}))) == ["the car"]


async def test_responses_stay_within_their_bytes_but_have_at_least_one_entry() -> None:
    services = await remembering(*[f"tea {number} " + "x" * 500 for number in range(6)], limits=Limits(max_response_bytes=1200))
    for found in (await services.remembered("tea"), await services.remembered("tea", SearchMode.SUBSTRING)):
        assert len(found.entries) == 2
    texts: list[str] = []
    cursor = None
    while True:
        page = await services.memory.list(ANYONE, SCOPE, MemoryFilter(), 100, cursor)
        assert 1 <= len(page.memories) <= 2
        texts += [memory.draft.text for memory in page.memories]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(texts) == len(set(texts)) == 6
    tiny = await remembering("tea " + "x" * 500, "tea", limits=Limits(max_response_bytes=10))
    assert len((await tiny.remembered("tea")).entries) == 1


@pytest.mark.parametrize("embedder", [None, Meanings()])
async def test_an_unrelated_question_finds_nothing_unless_the_floor_is_off(embedder: Meanings | None) -> None:
    services = await remembering("likes green tea", "has a kitten", "drives a car", embedder=embedder)
    unrelated = "What did Napoleon say to Josephine about submarines, cats and dogs in the year of the great flood?"
    assert texts_of(await services.remembered("quantum entanglement")) == []
    assert texts_of(await services.remembered(unrelated)) == []
    if embedder is not None:
        assert len((await services.remembered("quantum entanglement", min_score=0.0)).entries) == 3


async def test_a_paraphrase_is_found_by_meaning_and_other_texts_are_not() -> None:
    services = await remembering("drives an automobile", "has a kitten", "likes tea", embedder=Meanings())
    found = await services.remembered("vehicle")
    assert (texts_of(found), found.mode) == (["drives an automobile"], SearchMode.HYBRID)
    assert 0.1 <= found.entries[0].score <= 1


@pytest.mark.parametrize("mode", [SearchMode.RANKED, SearchMode.HYBRID, SearchMode.AUTO])
async def test_a_returned_score_is_a_valid_floor(mode: SearchMode) -> None:
    services = await remembering("green tea with milk", "green tea", "a green car", "rum", embedder=Meanings())
    every = (await services.remembered("green tea milk", mode, min_score=0.0)).entries
    assert len({each.score for each in every}) >= 3
    for floor in {each.score for each in every}:
        found = (await services.remembered("green tea milk", mode, min_score=floor)).entries
        assert [each.memory.key for each in found] == [each.memory.key for each in every if each.score >= floor]
    for wrong in (-0.01, 1.01, float("nan")):
        with pytest.raises(errors.InvalidField, match="min_score must be between 0 and 1"):
            await services.remembered("tea", mode, min_score=wrong)


async def test_substring_takes_a_floor_and_scores_1() -> None:
    services = await remembering("likes tea")
    found = await services.remembered('"kes te"', min_score=1.0)
    assert (texts_of(found), found.mode, found.entries[0].score) == (["likes tea"], SearchMode.SUBSTRING, 1.0)


async def test_auto_with_recency_ranks_what_is_in_quotes() -> None:
    services = await remembering("likes tea")
    assert (await services.remembered('"tea"', recency=Recency(1))).mode is SearchMode.RANKED
    assert (await services.remembered('"tea"', reference_time=1)).mode is SearchMode.RANKED
