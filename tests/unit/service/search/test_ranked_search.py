"""SearchEvents by RANKED, SEMANTIC and HYBRID: what is found where, in which order, page by page."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from tests.support.codec import call, draft, parse
from tests.support.sessions import ref
from tests.unit.service.search.searching import ALICE, ANYONE, Meanings, SearchServices, said
from threadkeep_server.domain.errors import (
    EmbedderFailed,
    EmbedderNotConfigured,
    InvalidField,
    PermissionDenied,
    SessionNotFound,
)
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import SECOND_NS, Role
from threadkeep_server.domain.scopes import AppScope, UserScope
from threadkeep_server.domain.search import Candidates, Field, Scored, SearchMode, Span
from threadkeep_server.domain.validation import Limits
from threadkeep_server.providers.embedders.base import EmbedFailed
from threadkeep_server.search.query import Query
from threadkeep_server.search.ranking.scoring import rank
from threadkeep_server.service.search import search_pipeline
from threadkeep_server.service.search.ranked_search import Grouping
from threadkeep_server.service.search.search_pipeline import Recency
from threadkeep_server.store.contract.search import SearchQuery
from threadkeep_server.transport.wire.codec import message_text

ALICES = UserScope("alice")
HARBOUR = (
    "Where did we leave the boat?",
    "The boat lies in the old harbour, behind the fish market.",
    "And what does the harbour cost a night?",
    "Twelve euros a night, water included.",
)


async def test_natural_questions_are_answered_by_any_of_their_words_best_first() -> None:
    services = SearchServices()
    await services.session("s1", *HARBOUR)
    page = await services.find("In which harbour did the boat lie?")
    assert said(page)[0] == HARBOUR[1]
    assert page.mode is SearchMode.RANKED
    assert page.semantic_lag == 0
    scores = [hit.score for hit in page.hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


async def test_a_question_without_a_word_finds_nothing() -> None:
    services = SearchServices()
    await services.session("s1", *HARBOUR)
    page = await services.find("?!")
    assert (page.hits, page.next_offset, page.truncated) == ([], None, False)


@pytest.mark.parametrize("mode", [SearchMode.RANKED, SearchMode.SEMANTIC, SearchMode.HYBRID])
async def test_a_blank_query_is_refused(mode: SearchMode) -> None:
    with pytest.raises(InvalidField, match="query must not be blank"):
        await SearchServices(Meanings()).find("  \n", mode=mode)


@pytest.mark.parametrize("mode", [SearchMode.RANKED, SearchMode.SEMANTIC, SearchMode.HYBRID])
async def test_scopes_are_one_session_one_user_or_one_app(mode: SearchMode) -> None:
    services = SearchServices(Meanings())
    for number, (user, app) in enumerate([("alice", "shop"), ("alice", "bank"), ("bob", "shop")]):
        await services.session(f"s{number}", f"the boat of {user} at the {app}", user=user, app=app)
    await services.embed_all()

    async def found(scope: object) -> set[str]:
        return set(said(await services.find("boat", scope, mode)))

    assert await found(ref("s0")) == {"the boat of alice at the shop"}
    assert await found(ALICES) == {"the boat of alice at the shop", "the boat of alice at the bank"}
    assert await found(UserScope("alice", "bank")) == {"the boat of alice at the bank"}
    assert await found(AppScope("shop")) == {"the boat of alice at the shop", "the boat of bob at the shop"}


async def test_a_caller_bound_to_a_user_reaches_that_user_only() -> None:
    services = SearchServices()
    await services.session("s1", "the boat", user="bob")
    with pytest.raises(PermissionDenied, match="app"):
        await services.find("boat", AppScope("shop"), caller=ALICE)
    with pytest.raises(PermissionDenied):
        await services.find("boat", UserScope("bob"), caller=ALICE)
    with pytest.raises(PermissionDenied):
        await services.find("boat", ref(user="bob"), caller=ALICE)
    assert said(await services.find("boat", UserScope(""), caller=ALICE)) == []


async def test_an_unknown_session_and_a_missing_user_are_reported() -> None:
    services = SearchServices(Meanings())
    for mode in (SearchMode.RANKED, SearchMode.SEMANTIC):
        with pytest.raises(SessionNotFound):
            await services.find("boat", ref("nowhere"), mode)
    with pytest.raises(InvalidField, match=r"user\.user_id is required"):
        await services.find("boat", UserScope(""))


async def test_synthetic_events_are_omitted_by_default() -> None:
    services = SearchServices()
    await services.session("s1", "the boat", draft("summary: the boat", synthetic=True))
    assert said(await services.find("boat")) == ["the boat"]
    assert set(said(await services.find("boat", include_synthetic=True))) == {"the boat", "summary: the boat"}


async def test_tool_arguments_are_searchable_and_a_field_mask_chooses() -> None:
    services = SearchServices()
    await services.session("s1", call("c1", event_id="calls"), "f is a letter")
    assert [parse(hit.found.event).event_id for hit in (await services.find("f", fields=Field.TOOL_CALLS)).hits] == ["calls"]
    assert said(await services.find("f", fields=Field.TEXT)) == ["f is a letter"]


async def test_the_filter_applies_together_with_the_question() -> None:
    services = SearchServices(Meanings())
    await services.session("s1", "a boat", "the boat", "boat ahoy")
    await services.embed_all()
    for mode in (SearchMode.RANKED, SearchMode.SEMANTIC, SearchMode.HYBRID):
        page = await services.find("boat", mode=mode, filter=EventFilter(roles=frozenset({Role.ASSISTANT})))
        assert said(page) == ["the boat"]
        page = await services.find("boat", mode=mode, filter=EventFilter(keyword="AHOY"))
        assert said(page) == ["boat ahoy"]


async def test_neighbors_of_each_hit_have_the_order_of_its_session() -> None:
    services = SearchServices()
    await services.session("s1", "one", "two", "the boat", "three", "four")
    [hit] = (await services.find("boat", neighbors=1)).hits
    assert [message_text(parse(each).message) for each in (*hit.found.before, *hit.found.after)] == ["two", "three"]
    [hit] = (await services.find("boat", neighbors=10)).hits
    assert (len(hit.found.before), len(hit.found.after)) == (2, 2)


async def test_substring_search_has_neighbors_and_highlights_too() -> None:
    services = SearchServices()
    session = await services.session("s1", "one", "two", "Boat, boat", "three")
    page = await services.literal.search(ANYONE, SearchQuery(session, EventFilter(keyword="BOAT")), neighbors=2)
    [hit] = page.hits
    assert [message_text(parse(each).message) for each in (*hit.before, *hit.after)] == ["one", "two", "three"]
    assert hit.highlights == [(Field.TEXT, Span(0, 4)), (Field.TEXT, Span(6, 10))]


async def test_neighbors_of_substring_search_stay_within_the_bytes_of_a_response() -> None:
    services = SearchServices(limits=Limits(max_response_bytes=3000))
    session = await services.session(
        "s1", *[f"{letter * 1000}" for letter in "ab"], "boat", *[f"{letter * 1000}" for letter in "cd"]
    )
    page = await services.literal.search(ANYONE, SearchQuery(session, EventFilter(keyword="boat")), neighbors=2)
    [hit] = page.hits
    near = [message_text(parse(each).message)[0] for each in (*hit.before, *hit.after)]
    assert near == ["b", "c"]
    assert sum(len(each.body) for each in (hit.event, *hit.before, *hit.after)) <= 3000
    with pytest.raises(InvalidField, match="neighbors"):
        await services.literal.search(ANYONE, SearchQuery(session, EventFilter(keyword="boat")), neighbors=-1)


async def test_substring_search_reaches_an_app_for_callers_that_are_not_bound() -> None:
    services = SearchServices()
    await services.session("s1", "a boat")
    await services.session("s2", "the boat", user="bob")
    query = SearchQuery(AppScope("shop"), EventFilter(keyword="boat"))
    assert len((await services.literal.search(ANYONE, query)).hits) == 2
    with pytest.raises(PermissionDenied, match="app"):
        await services.literal.search(ALICE, query)


async def test_hits_can_be_grouped_by_turn() -> None:
    services = SearchServices()
    await services.session("s1", "the boat?", "the boat is red, a red boat", "another boat?", "no boat")
    page = await services.find("red boat", grouping=Grouping.TURN)
    assert said(page)[0] == "the boat is red, a red boat"
    assert [hit.group_hits for hit in page.hits] == [2, 2]
    assert all(hit.group_hits == 0 for hit in (await services.find("red boat")).hits)


async def test_hits_can_be_grouped_by_session() -> None:
    services = SearchServices()
    await services.session("s1", "the boat", "a boat again", "boat")
    await services.session("s2", "one boat")
    page = await services.find("boat", ALICES, grouping=Grouping.SESSION)
    assert {hit.found.ref.session_id: hit.group_hits for hit in page.hits} == {"s1": 3, "s2": 1}


async def test_recency_lifts_what_is_newer() -> None:
    services = SearchServices()
    now = services.clock.now
    day = 86_400 * SECOND_NS
    await services.session("s1", draft("the boat", time=now - 300 * day), draft("boat, and much else in a long text", time=now))
    assert said(await services.find("boat"))[0] == "the boat"
    lifted = await services.find("boat", recency=Recency(7 * day, 5.0))
    assert said(lifted)[0] == "boat, and much else in a long text"
    # Counted from the reference time, both are of the future, and nothing is lifted more than the other.
    assert said(await services.find("boat", recency=Recency(7 * day, 5.0), reference_time=now - 400 * day))[0] == "the boat"


@pytest.mark.parametrize(("half_life", "weight"), [(0, 1.0), (-1, 1.0), (1, -0.1), (1, 101.0), (1, float("nan"))])
def test_recency_has_bounds(half_life: int, weight: float) -> None:
    with pytest.raises(InvalidField, match="recency"):
        Recency(half_life, weight)


async def test_pages_are_without_gaps_or_repetitions() -> None:
    services = SearchServices()
    await services.session("s1", *[f"boat number {number} " + "and so on " * number for number in range(25)])
    whole = said(await services.find("boat", limit=100))
    assert len(whole) == 25
    pages: list[list[str]] = []
    offset: int | None = 0
    while offset is not None:
        page = await services.find("boat", limit=10, offset=offset)
        pages.append(said(page))
        offset = page.next_offset
    assert [len(texts) for texts in pages] == [10, 10, 5]
    assert [text for texts in pages for text in texts] == whole


async def test_more_candidates_than_ranked_are_reported_as_truncated() -> None:
    services = SearchServices()
    await services.session("s1", *["boat"] * 300)
    page = await services.find("boat")
    assert page.truncated
    deep = await services.find("boat", limit=10, offset=290)
    assert (len(deep.hits), deep.truncated, deep.next_offset) == (10, False, None)


async def test_pages_end_before_their_bytes_exceed_the_limit_but_hold_one_hit() -> None:
    services = SearchServices(limits=Limits(max_response_bytes=3000))
    await services.session("s1", *[f"boat {number} " + "x" * 1000 for number in range(5)], "y" * 5000, "boat", "z" * 5000)
    page = await services.find("boat", limit=100)
    assert 1 < len(page.hits) < 6
    assert sum(len(hit.found.event.body) for hit in page.hits) <= 3000
    seen, offset = list(said(page)), page.next_offset
    while offset is not None:
        page = await services.find("boat", limit=100, offset=offset)
        assert page.hits
        seen += said(page)
        offset = page.next_offset
    assert len(seen) == len(set(seen)) == 6
    # The first hit of a page is returned without neighbors if they do not fit.
    page = await services.find("boat", limit=1, neighbors=1)
    assert len(page.hits) == 1
    assert not page.hits[0].found.before


async def test_highlights_have_the_spans_of_the_words_by_field() -> None:
    services = SearchServices()
    await services.session("s1", "Both boats: a boat and another BOAT")
    [hit] = (await services.find("which boat?")).hits
    assert hit.highlights == [(Field.TEXT, Span(5, 10)), (Field.TEXT, Span(14, 18)), (Field.TEXT, Span(31, 35))]
    await services.session("s2", "boat " * 200)
    [hit] = (await services.find("boat", ref("s2"))).hits
    assert len(hit.highlights) == 64


async def test_highlights_of_long_texts_are_found_outside_the_event_loop() -> None:
    services = SearchServices()
    await services.session("s1", "and so on " * 5000 + "the boat", "a boat")
    found = {len(hit.found.event.body) > 1000: hit.highlights for hit in (await services.find("boat")).hits}
    assert found == {True: [(Field.TEXT, Span(50_004, 50_008))], False: [(Field.TEXT, Span(2, 6))]}


@pytest.mark.parametrize(("words", "in_thread"), [(10, False), (20_000, True)])
async def test_long_candidates_are_ranked_outside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, words: int, in_thread: bool
) -> None:
    threads: list[int] = []

    def watched(question: Query, candidates: Candidates, *others: Any) -> list[Scored]:
        threads.append(threading.get_ident())
        return rank(question, candidates, *others)

    monkeypatch.setattr(search_pipeline, "rank", watched)
    services = SearchServices()
    await services.session("s1", *["boat " * words] * 6)
    assert len((await services.find("boat")).hits) == 6
    assert [thread != threading.get_ident() for thread in threads] == [in_thread]


# --- with an embedder


async def test_semantic_finds_by_meaning_scored_by_the_cosine_without_highlights() -> None:
    services = SearchServices(Meanings())
    await services.session("s1", "my automobile", "my kitten", "my vessel")
    await services.embed_all()
    page = await services.find("car", mode=SearchMode.SEMANTIC)
    assert said(page)[0] == "my automobile"
    assert page.mode is SearchMode.SEMANTIC
    assert page.hits[0].score == pytest.approx(0.995, abs=0.001)
    assert [hit.highlights for hit in page.hits] == [[], [], []]
    assert said(await services.find("automobile", mode=SearchMode.RANKED)) == ["my automobile"]
    assert said(await services.find("car", mode=SearchMode.RANKED)) == []


async def test_semantic_has_an_optional_floor_in_minus_one_to_one() -> None:
    services = SearchServices(Meanings())
    await services.session("s1", "my automobile", "my kitten")
    await services.embed_all()
    assert said(await services.find("car", mode=SearchMode.SEMANTIC, min_score=0.5)) == ["my automobile"]
    assert len((await services.find("car", mode=SearchMode.SEMANTIC, min_score=-1.0)).hits) == 2
    for wrong in (1.1, -1.1, float("nan")):
        with pytest.raises(InvalidField, match="min_score"):
            await services.find("car", mode=SearchMode.SEMANTIC, min_score=wrong)
    with pytest.raises(InvalidField, match="min_score must be between 0 and 1"):
        await services.find("car", mode=SearchMode.HYBRID, min_score=-0.5)


async def test_hybrid_adds_words_and_meaning() -> None:
    services = SearchServices(Meanings())
    await services.session("s1", "my automobile", "the word car", "an infusion", "the harbour")
    await services.embed_all()
    page = await services.find("car", mode=SearchMode.HYBRID)
    assert page.mode is SearchMode.HYBRID
    assert said(page)[:2] == ["the word car", "my automobile"]
    assert page.hits[0].score == pytest.approx(1.0)  # every word of the question
    assert page.hits[0].highlights


async def test_the_embedding_backlog_is_reported_as_lag() -> None:
    services = SearchServices(Meanings())
    await services.session("s1", "my automobile")
    await services.embed_all()
    await services.say(ref(), "a second car")
    await services.memory.add_session(ANYONE, ref())  # memories wait too, and are another matter
    page = await services.find("car", mode=SearchMode.SEMANTIC)
    assert (said(page), page.semantic_lag) == (["my automobile"], 1)
    page = await services.find("car", mode=SearchMode.HYBRID)
    assert page.semantic_lag == 1
    assert "a second car" in said(page)


async def test_without_an_embedder_semantic_and_hybrid_are_refused() -> None:
    services = SearchServices()
    await services.session("s1", "my automobile")
    for mode in (SearchMode.SEMANTIC, SearchMode.HYBRID):
        with pytest.raises(EmbedderNotConfigured):
            await services.find("car", mode=mode)


async def test_an_embedder_that_is_down_turns_hybrid_into_ranked_and_fails_semantic(caplog: pytest.LogCaptureFixture) -> None:
    embedder = Meanings()
    services = SearchServices(embedder)
    await services.session("s1", "my car")
    await services.embed_all()
    embedder.fails = EmbedFailed("the endpoint does not answer", retry=True)
    with caplog.at_level(logging.WARNING):
        page = await services.find("car", mode=SearchMode.HYBRID)
    assert (said(page), page.mode, page.semantic_lag) == (["my car"], SearchMode.RANKED, 0)
    assert "the endpoint does not answer" in caplog.text
    with pytest.raises(EmbedderFailed, match="the endpoint does not answer"):
        await services.find("car", mode=SearchMode.SEMANTIC)


async def test_windows_and_substring_are_not_for_searches_that_rank() -> None:
    services = SearchServices()
    with pytest.raises(InvalidField, match="filter"):
        await services.find("boat", filter=EventFilter(last_n=3))
    with pytest.raises(InvalidField, match="mode"):
        await services.find("boat", mode=SearchMode.SUBSTRING)
    with pytest.raises(InvalidField, match="neighbors"):
        await services.find("boat", neighbors=11)
