"""The limits of searches: what one reads of events that are not indexed, and how many run at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.server_process import not_behind_envoy
from threadkeep import Client, text_of, user
from threadkeep.errors import RateLimited
from threadkeep.v1 import session_pb2
from threadkeep_server.app.server import Running
from threadkeep_server.store.sql.search.store import SqlSearch

from ..bad_input.requests import Wire
from .searching import ENGINES, connected, serving

FILLER = " and so on" * 150
"""Longer than what a search reads."""
SAID = ["needle 1", "hay", "needle 2", "needle 3"]


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Nothing is indexed, and a search reads one event."""
    folder = tmp_path_factory.mktemp("data")
    with serving(request.param, request, folder, search_index=False, search_scan_bytes=1024) as opened:
        with connected(opened) as client:
            client.append("s", *(user(text + FILLER) for text in SAID), create_if_missing=True)
        yield opened


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[Client]:
    with connected(server) as opened:
        yield opened


def short(hits: Iterable[Any]) -> list[str]:
    return [text_of(hit.event).removesuffix(FILLER) for hit in hits]


def test_a_ranked_search_beyond_its_budget_searched_the_newest_and_says_so(client: Client) -> None:
    page = client.search_page("needle", mode="ranked")
    assert short(page.hits) == ["needle 3"]
    assert (page.incomplete, page.unsearched_events, page.next_page_token) == (True, 3, "")


@pytest.mark.parametrize("scope", [{"session": "s"}, {}], ids=["session", "user"])
def test_a_literal_search_beyond_its_budget_continues_with_the_next_page(client: Client, scope: dict[str, Any]) -> None:
    first = client.search_page("needle", mode="substring", **scope)
    assert (short(first.hits), first.incomplete, bool(first.next_page_token)) == (["needle 1"], True, True)
    assert first.unsearched_events == 0
    assert short(client.search("needle", mode="substring", **scope)) == ["needle 1", "needle 2", "needle 3"]


def test_a_tool_says_that_not_everything_was_searched(server: Running) -> None:
    wire = Wire(server.grpc_port)
    ref = session_pb2.SessionRef(app="shop", user_id="alice", session_id="s")
    for name, arguments in (
        ("conversation_search", '{"query": "needle"}'),
        ("conversation_search", '{"query": "needle", "mode": "substring"}'),
        ("cross_session_search", '{"query": "needle"}'),
    ):
        answer = wire.call("CallTool", session=ref, name=name, arguments_json=arguments)
        assert '"incomplete"' in answer.result_json, answer
    wire.close()


TOKENS = {letter * 32: {"tenant": "t", "user_id": user_id} for letter, user_id in (("a", "alice"), ("b", "bob"))}


@not_behind_envoy("the code of the server cannot be replaced from here")
def test_the_ninth_search_of_a_caller_is_rate_limited_and_another_caller_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    let, original = threading.Event(), SqlSearch.word_candidates
    waiting = threading.Semaphore(0)

    async def slow(self: SqlSearch, *args: Any, **kwargs: Any) -> Any:
        waiting.release()
        if args[2].terms == ("slow",):
            await asyncio.to_thread(let.wait, 60)
        return await original(self, *args, **kwargs)

    monkeypatch.setattr(SqlSearch, "word_candidates", slow)
    with serving("sqlite", request, tmp_path, max_searches_per_caller=8, auth_tokens=TOKENS) as server:
        alice, bob = (Client(f"127.0.0.1:{server.grpc_port}", app="shop", token=token) for token in TOKENS)
        with alice, bob, ThreadPoolExecutor(8) as pool:
            running = [pool.submit(alice.search_page, "slow", mode="ranked") for _ in range(8)]
            for _ in running:
                assert waiting.acquire(timeout=60)
            with pytest.raises(RateLimited) as refused:
                alice.search_page("needle", mode="ranked")
            assert refused.value.metadata["limit"] == "searches_per_caller"
            assert bob.search_page("needle", mode="ranked").hits == []
            let.set()
            assert all(each.result(60).hits == [] for each in running)
            assert alice.search_page("needle", mode="ranked").hits == []
