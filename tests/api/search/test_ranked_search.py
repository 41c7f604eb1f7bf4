"""SearchEvents with ranked and semantic modes on both engines."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.server_process import free_port, not_behind_envoy
from threadkeep import Client, SearchMode, errors, event_filter, recency, text_of, user
from threadkeep.v1.filter_pb2 import EventFilter, NumberedPage
from threadkeep_server.app.server import Running
from threadkeep_server.config.settings import ConfigError

from ..bad_input.requests import eventually
from ..conftest import running
from .searching import ENGINES, MONDAY, add_conversation, connected, embedded, marked, serving, texts

WORDS = ("amber", "basil", "cedar", "dahlia", "ember", "fennel", "garnet", "hazel", "indigo", "juniper", "lotus")
RANKING = ["ranked", "semantic", "hybrid"]


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(request.param, request, tmp_path_factory.mktemp("data"), embedder="hashing") as opened:
        with connected(opened) as client:
            add_conversation(client)
        with connected(opened, user_id="bob") as client:
            client.append("trip", user("Lisbon is too far from here.", author="bob", event_time=MONDAY), create_if_missing=True)
        yield opened


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[Client]:
    with connected(server) as opened:
        embedded(opened)
        yield opened


def test_a_question_finds_its_answer_first(client: Client) -> None:
    page = client.search_page("Which holiday was it that I planned, in Lisbon?", mode="ranked")
    first = page.hits[0]
    assert text_of(first.event) == "I am planning a holiday in Lisbon."
    assert (first.session.session_id, page.mode, page.semantic_lag) == ("trip", SearchMode.SEARCH_MODE_RANKED, 0)
    assert {"planning", "holiday", "Lisbon"} <= set(marked(first)), "endings do not matter"
    assert first.score == max(hit.score for hit in page.hits) == 1
    assert not client.search_page("submarines", mode="ranked").hits


def test_words_of_any_script_are_found(client: Client) -> None:
    assert texts(client.search_page("京都", mode="ranked").hits) == ["京都に行きたい"]
    assert texts(client.search_page("zoe", mode="ranked").hits) == ["My daughter Zoë is allergic to peanuts."]


def test_substring_hits_have_highlights(client: Client) -> None:
    page = client.search_page("LISBON", mode="substring", neighbors=1)
    (hit,) = page.hits
    assert (hit.score, page.mode, marked(hit)) == (1, SearchMode.SEARCH_MODE_SUBSTRING, ["Lisbon"])
    assert [text_of(event) for event in hit.before] == ["You are a travel agent."]
    assert [text_of(event) for event in hit.after] == ["Which month suits you?"]
    assert client.search_page("LISBON", mode="substring").hits[0].before == []


@pytest.mark.parametrize("mode", RANKING)
def test_neighbors_have_the_order_of_the_session(client: Client, mode: str) -> None:
    hit = client.search_page("planning a holiday in Lisbon", mode=mode, neighbors=2).hits[0]
    assert ([event.seq for event in hit.before], hit.event.seq, [event.seq for event in hit.after]) == ([1], 2, [3, 4])


def test_fields_limit_the_search(client: Client) -> None:
    def found(word: str, **options: Any) -> list[int]:
        return [hit.event.seq for hit in client.search_page(word, mode="ranked", session="trip", **options).hits]

    assert sorted(found("flights Lisbon")) == [2, 5, 6]
    assert found("Lisbon", fields=["tool_calls"]) == [5]
    assert found("EW8600", fields=["tool_results"]) == [6]
    assert found("boardingpass", fields=["media"]) == [7]
    assert found("EW8600", fields=["text", "media"]) == []
    call = client.search_page("Berlin", mode="ranked", session="trip").hits[0]
    assert [(each.field, each.start) for each in call.highlights] == [(2, len('flights\n{"from":"'))]


def test_grouping_returns_one_hit_per_group(client: Client) -> None:
    by_session = client.search_page("Lisbon allergic", mode="ranked", grouping="session").hits
    assert sorted(hit.session.session_id for hit in by_session) == ["food", "trip"]
    assert {hit.session.session_id: hit.group_hits for hit in by_session}["trip"] >= 2
    by_turn = client.search_page("Lisbon flights", mode="ranked", grouping="turn", session="trip").hits
    assert len(by_turn) == len({(hit.event.seq >= 4) for hit in by_turn}) == 2


def test_summaries_are_left_out_by_default(client: Client) -> None:
    assert not client.search_page("Kyoto", mode="ranked").hits
    assert texts(client.search_page("Kyoto", mode="ranked", include_synthetic=True).hits) == ["The user wants to see Kyoto."]


def test_scopes_limit_the_search(server: Running, client: Client) -> None:
    assert {hit.session.user_id for hit in client.search("Lisbon", mode="ranked")} == {"alice"}
    for mode in (*RANKING, "substring"):
        users = {hit.session.user_id for hit in client.search_page("Lisbon", mode=mode, any_user=True).hits}
        assert users == {"alice", "bob"}
        assert not client.search_page("Lisbon", mode=mode, any_user=True, app="other").hits
    assert texts(client.search("Lisbon", mode="ranked", user_id="bob")) == ["Lisbon is too far from here."]


def test_filters_limit_the_search(client: Client) -> None:
    alices = event_filter(roles=["user"], to_time=MONDAY)
    assert texts(client.search("Lisbon holiday May", mode="ranked", filter=alices)) == ["I am planning a holiday in Lisbon."]
    both = event_filter(keyword="may")
    assert len(list(client.search("Lisbon May", mode="hybrid", filter=both, min_score=0))) == 1


@pytest.mark.parametrize("mode", RANKING)
def test_pages_together_equal_one_page(client: Client, mode: str) -> None:
    question = "what about Lisbon, flights and the allergy"
    whole = client.search_page(question, mode=mode, page_size=100)
    assert len(whole.hits) >= 4
    assert not whole.next_page_token
    paged = [(hit.session.session_id, hit.event.seq) for hit in client.search(question, mode=mode, page_size=1)]
    assert paged == [(hit.session.session_id, hit.event.seq) for hit in whole.hits]


def test_recency_ranks_newer_events_higher(client: Client) -> None:
    client.append(
        "lift",
        user("blue door", event_time=MONDAY),
        user("blue roof", event_time=MONDAY + timedelta(days=30)),
        create_if_missing=True,
    )
    at: dict[str, Any] = {"session": "lift", "mode": "ranked", "reference_time": MONDAY + timedelta(days=30)}
    plain = [(hit.event.seq, hit.score) for hit in client.search_page("blue door", **at).hits]
    lifted = client.search_page("blue door", recency=recency(timedelta(days=1), 9), **at).hits
    assert [seq for seq, _ in plain] == [1, 2]
    assert [(hit.event.seq, hit.score) for hit in lifted] == plain[::-1], "scores stay as they are"


@pytest.mark.parametrize("mode", ["auto", "ranked", "hybrid"])
def test_an_unrelated_question_finds_nothing_unless_the_floor_is_off(client: Client, mode: str) -> None:
    embedded(client)
    unrelated = "What is the capital of Mongolia?"
    assert not client.search_page(unrelated, mode=mode).hits
    assert bool(client.search_page(unrelated, mode=mode, min_score=0).hits) is (mode != "ranked"), "what shares no word"
    related = client.search_page("Is anybody allergic to peanuts?", mode=mode).hits
    assert text_of(related[0].event) == "My daughter Zoë is allergic to peanuts."
    assert all(0 <= hit.score <= 1 for hit in related)


def test_hybrid_finds_misspelled_words(client: Client) -> None:
    embedded(client)
    assert not client.search_page("alergic to peenuts", mode="ranked").hits
    assert text_of(client.search_page("alergic to peenuts").hits[0].event) == "My daughter Zoë is allergic to peanuts."


@pytest.mark.parametrize("mode", ["ranked", "hybrid", "semantic"])
def test_a_score_as_minimum_returns_consistent_pages(client: Client, mode: str) -> None:
    embedded(client)
    question = "planning a holiday in Lisbon in May"
    every = list(client.search(question, mode=mode, min_score=-1 if mode == "semantic" else 0))
    floor = sorted(hit.score for hit in every)[len(every) // 2]
    wanted = [hit.event.event_id for hit in every if hit.score >= floor]
    assert 0 < len(wanted) < len(every)
    assert [hit.event.event_id for hit in client.search(question, mode=mode, min_score=floor)] == wanted
    assert [hit.event.event_id for hit in client.search(question, mode=mode, min_score=floor, page_size=1)] == wanted


def test_the_default_mode_is_chosen_by_the_server(client: Client) -> None:
    embedded(client)
    requested = client.search_page("Where do I want to fly?")
    assert requested.mode == SearchMode.SEARCH_MODE_HYBRID
    for literal, found in {'"rather FLY"': 1, '"fly rather"': 0, "->": 0}.items():
        page = client.search_page(literal)
        assert (page.mode, len(page.hits)) == (SearchMode.SEARCH_MODE_SUBSTRING, found), literal
    by_number = client.search_page("holiday in", filter=EventFilter(page=NumberedPage(page=0, page_size=5)))
    assert (by_number.mode, len(by_number.hits)) == (SearchMode.SEARCH_MODE_SUBSTRING, 1)
    assert client.search_page('"rather fly"', grouping="turn").mode == SearchMode.SEARCH_MODE_HYBRID


def test_yesterday_refers_to_the_reference_time(client: Client) -> None:
    on_saturday = MONDAY + timedelta(days=5)
    hits = client.search_page("what did I say yesterday?", mode="ranked", reference_time=on_saturday).hits
    assert hits
    assert hits[0].session.session_id == "food"


def test_semantic_search_tolerates_typos_and_scores_by_cosine(client: Client) -> None:
    embedded(client)
    page = client.search_page("alergic to peenuts", mode="semantic")
    assert text_of(page.hits[0].event) == "My daughter Zoë is allergic to peanuts."
    assert (page.mode, page.semantic_lag, page.hits[0].highlights) == (SearchMode.SEARCH_MODE_SEMANTIC, 0, [])
    assert all(-1 <= hit.score <= 1 for hit in page.hits)
    floor = page.hits[0].score - 1e-9
    assert len(client.search_page("alergic to peenuts", mode="semantic", min_score=floor).hits) == 1
    hybrid = client.search_page("alergic peanuts", mode="hybrid")
    assert (text_of(hybrid.hits[0].event), hybrid.mode) == (
        "My daughter Zoë is allergic to peanuts.",
        SearchMode.SEARCH_MODE_HYBRID,
    )


def test_new_events_are_found_by_words_at_once(client: Client) -> None:
    for n in range(len(WORDS)):
        client.append("fresh", user(f"the word is {WORDS[n]}"), create_if_missing=True)
        assert [hit.event.seq for hit in client.search_page(WORDS[n], mode="ranked", session="fresh").hits] == [n + 1]


def test_ranked_search_works_over_http(server: Running) -> None:
    requested = {"user": {"userId": "alice"}, "query": "holiday", "mode": "SEARCH_MODE_RANKED", "neighbors": 1}
    url = f"http://127.0.0.1:{server.http_port}/threadkeep.v1.SearchService/SearchEvents"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(requested).encode()), timeout=10) as answer:
        found = json.load(answer)
    (hit,) = found["hits"]
    assert hit["highlights"] == [{"field": "SEARCH_FIELD_TEXT", "start": 16, "end": 23}]
    assert (hit["event"]["seq"], len(hit["before"]), len(hit["after"])) == ("2", 1, 1)
    assert found["mode"] == "SEARCH_MODE_RANKED"


def test_the_server_reports_its_capabilities(server: Running, client: Client) -> None:
    info = client.info()
    assert {"ranked-search", "semantic-search", "memory", "tools"} <= set(info.capabilities)
    assert info.embedder_model.startswith("hashing")
    assert info.embeddings.enabled
    with urllib.request.urlopen(f"http://127.0.0.1:{server.http_port}/metrics", timeout=10) as page:
        result = page.read().decode()
    assert "\nthreadkeep_embedding_waiting " in result
    assert "threadkeep_embedding_failures_total 0.0" in result


@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_without_an_embedder_rejects_semantic_search(
    engine: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with serving(engine, request, tmp_path_factory.mktemp("plain"), http_address="") as opened, connected(opened) as client:
        client.append("s", user("I like tea"), create_if_missing=True)
        for mode in ("semantic", "hybrid"):
            with pytest.raises(errors.EmbedderNotConfigured) as caught:
                client.search_page("tea", mode=mode)
            assert caught.value.field == "mode"
        assert len(client.search_page("tea", mode="ranked").hits) == 1
        info = client.info()
        assert (info.embedder_model, info.embeddings.enabled, info.embeddings.waiting) == ("", False, 0)
        assert "semantic-search" not in info.capabilities


def test_a_server_that_embeds_no_events_rejects_semantic_search(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = {"embedder": "hashing", "embed_events": False, "http_address": ""}
    with serving("sqlite", request, tmp_path_factory.mktemp("memories"), **settings) as opened, connected(opened) as client:
        client.append("s", user("I like tea"), create_if_missing=True)
        with pytest.raises(errors.EmbedderNotConfigured):
            client.search_page("tea", mode="semantic")
        client.memory().add("likes tea")
        eventually(lambda: len(client.memory().search("tee", mode="semantic").entries) == 1)
        assert "semantic-search" not in client.info().capabilities


def test_an_embedder_outage_delays_embeddings_and_loses_none(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nobody = {"embedder": "openai", "embedder_model": "m", "embedder_base_url": f"http://127.0.0.1:{free_port()}/v1"}
    data = tmp_path_factory.mktemp("down")
    with serving("sqlite", request, data, **nobody) as opened, connected(opened, timeout=60) as client:
        client.append("s", user("I like tea"), create_if_missing=True)
        hybrid = client.search_page("tea", mode="hybrid")
        assert (texts(hybrid.hits), hybrid.mode) == (["I like tea"], SearchMode.SEARCH_MODE_RANKED)
        with pytest.raises(errors.EmbedderFailed):
            client.search_page("tea", mode="semantic", timeout=30)
        assert client.info().embeddings.enabled
    with serving("sqlite", request, data, embedder="hashing", http_address="") as opened, connected(opened) as client:
        embedded(client)
        assert texts(client.search_page("tea", mode="semantic").hits) == ["I like tea"]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"embedder": "openai"}, "embedder_model: .*name of a model"),
        pytest.param(
            {"embedder": "gemini", "embedder_model": "m"},
            "embedder: .*API key",
            marks=not_behind_envoy("the server's own process finds and logs it, as tests/api/cli/test_commands.py tests"),
        ),
    ],
)
def test_an_invalid_embedder_prevents_the_start(tmp_path: Path, wrong: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem), running(data_dir=tmp_path, **wrong):
        pass
