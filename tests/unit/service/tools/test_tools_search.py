"""The recall tools that search conversations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.sessions import ref
from tests.unit.service.memory.memories import entry
from tests.unit.service.search.searching import ALICE, ANYONE, SCOPE, SearchServices
from tests.unit.service.tools.test_tools import NAMES, result, wrong
from threadkeep_server.domain import errors
from threadkeep_server.domain.memories import Forget
from threadkeep_server.domain.model import SECOND_NS, Role, SessionRef
from threadkeep_server.service.tools.tools import rfc3339

# --- the log


async def test_conversation_search_returns_hits_with_their_neighbors() -> None:
    services = SearchServices()
    await services.session(
        "s1",
        draft("Hello", event_id="e1", author="alice", time=NOW),
        draft("What about TEA?", event_id="e2", role=Role.ASSISTANT, author="bot", time=NOW + SECOND_NS),
        draft("Green, please", event_id="e3", author="alice", time=NOW + 2 * SECOND_NS),
        draft("Fine", event_id="e4", role=Role.ASSISTANT, author="bot", time=NOW + 3 * SECOND_NS),
    )
    e1 = {"event_id": "e1", "seq": 1, "author": "alice", "role": "user", "time": "2025-06-15T15:06:40.000Z", "text": "Hello"}
    for mode in ("ranked", "substring"):
        found = await result(services, "conversation_search", query="tea", mode=mode)
        assert (found["page"], found["has_more"]) == (0, False)
        [hit] = found["results"]
        assert (hit["event_id"], hit["seq"], hit["role"], hit["text"]) == ("e2", 2, "assistant", "What about TEA?")
        assert hit["before"] == [e1]
        assert [each["event_id"] for each in hit["after"]] == ["e3"]
        assert (await result(services, "conversation_search", query="rum", mode=mode))["results"] == []


@pytest.mark.parametrize("mode", ["ranked", "substring"])
async def test_conversation_search_pages(mode: str) -> None:
    services = SearchServices()
    await services.session("s1", *[f"tea {number:02}" for number in range(20)])

    async def page(number: Any, size: int = 10) -> tuple[list[str], bool]:
        found = await result(services, "conversation_search", query="tea", mode=mode, page=number, page_size=size)
        return [hit["text"] for hit in found["results"]], found["has_more"]

    first, more = await page(0)
    second, last = await page(1)
    assert (len(first), more, len(second), last) == (10, True, 10, False)
    assert sorted(first + second) == [f"tea {number:02}" for number in range(20)]
    if mode == "substring":
        assert first + second == sorted(first + second)  # oldest first
    assert await page(2) == ([], False)
    assert await page(2**31 - 1) == await page(10**30) == ([], False)
    assert await page(None) == await page(-1) == (first, True)
    assert (await page(2, 8))[1] is False
    assert len((await page(2, 8))[0]) == 4


@pytest.mark.parametrize("mode", ["substring", "ranked"])
async def test_conversation_search_in_every_mode_finds_summaries(mode: str) -> None:
    services = SearchServices()
    await services.session("s1", "tea", draft("so far: tea", synthetic=True))
    assert len((await result(services, "conversation_search", query="tea", mode=mode))["results"]) == 2


@pytest.mark.parametrize("thought", ["he likes it", "", None, 7, "\ud83d", "x" * 100_000])
async def test_conversation_search_with_an_inner_thought_ignores_it(thought: Any) -> None:
    services = SearchServices()
    await services.session("s1", "tea")
    assert len((await result(services, "conversation_search", query="tea", innerThought=thought))["results"]) == 1


@pytest.mark.parametrize("mode", ["substring", "ranked"])
async def test_conversation_search_without_results_returns_the_documented_text(mode: str) -> None:
    services = SearchServices()
    await services.session("s1", "tea")
    found = await result(services, "conversation_search", query="rum", mode=mode)
    assert found == {"results": [], "page": 0, "has_more": False, "message": "No results found."}
    assert "message" not in await result(services, "conversation_search", query="tea", mode=mode)


async def test_conversation_search_needs_a_session_that_exists() -> None:
    services = SearchServices()
    with pytest.raises(errors.SessionNotFound):
        await services.tools.call(ANYONE, ref(), "conversation_search", '{"query": "tea"}')
    with pytest.raises(errors.InvalidField, match=r"session\.session_id"):
        await services.tools.call(ANYONE, SessionRef("shop", "alice", ""), "conversation_search", '{"query": "tea"}')
    await services.session("s1", "tea")
    await services.session("s1", "tea", user="bob")
    with pytest.raises(errors.AmbiguousSession):
        await services.tools.call(ANYONE, SessionRef("", "", "s1"), "conversation_search", '{"query": "tea"}')


async def test_conversation_search_stays_within_its_session() -> None:
    services = SearchServices()
    await services.session("s1", "tea one")
    await services.session("s2", "tea two")
    for mode in ("ranked", "substring"):
        found = await result(services, "conversation_search", query="tea", mode=mode)
        assert [hit["text"] for hit in found["results"]] == ["tea one"]


async def test_cross_session_search_finds_in_all_sessions_of_the_user_in_the_app() -> None:
    services = SearchServices()
    assert (await result(services, "cross_session_search", query="tea"))["results"] == []
    await services.session("s1", "green tea", "rum")
    await services.session("s2", "black tea")
    await services.session("s3", "tea at the bank", app="bank")
    await services.session("s4", "bob's tea", user="bob")
    found = await result(services, "cross_session_search", query="tea")
    assert {(hit["session_id"], hit["text"]) for hit in found["results"]} == {("s1", "green tea"), ("s2", "black tea")}
    found = await result(services, "cross_session_search", query="tea", limit=1)
    assert (len(found["results"]), found["has_more"]) == (1, True)


async def test_cross_session_search_takes_any_word_or_all_of_them() -> None:
    services = SearchServices()
    await services.session("s1", "green tea", "green", "tea")
    any_ = await result(services, "cross_session_search", query="green, tea")
    assert len(any_["results"]) == 3
    every = await result(services, "cross_session_search", query="GREEN, tea", all=True)
    assert [hit["text"] for hit in every["results"]] == ["green tea"]
    assert await wrong(services, "cross_session_search", '{"query": " "}') == "query must not be blank"
    assert await wrong(services, "cross_session_search", '{"query": "a", "mode": "any"}')
    twenty = ",".join(["green"] * 20)
    assert len((await result(services, "cross_session_search", query=twenty, all=True))["results"]) == 2


async def test_a_caller_bound_to_a_user_calls_tools_for_that_user_only() -> None:
    services = SearchServices()
    await services.session("s1", "tea", user="bob")
    for name in NAMES:
        with pytest.raises(errors.PermissionDenied):
            await services.tools.call(ALICE, ref(user="bob"), name, '{"query": "tea"}')
    await services.session("s1", "tea")
    await services.memory.add(ANYONE, SCOPE, [entry("likes tea")])
    for name in NAMES:
        arguments = "{}" if name == "preload_memory" else '{"query": "tea"}'
        found = await services.tools.call(ALICE, SessionRef("shop", "", "s1"), name, arguments)
        assert "tea" in found.result_json


async def test_deleted_memories_are_returned_by_no_tool() -> None:
    services = SearchServices()
    await services.memory.add(ANYONE, SCOPE, [entry("likes tea")])
    await services.memory.forget(ANYONE, SCOPE, Forget())
    assert await result(services, "load_memory", query="tea") == {"memories": []}
    assert await result(services, "preload_memory", text="tea") == {"text": ""}


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (NOW + 999_999, "2025-06-15T15:06:40.000Z"),
        (NOW + 1_000_000, "2025-06-15T15:06:40.001Z"),
        (10**27, ""),
    ],
)
def test_times_are_printed_as_rfc_3339(time: int, text: str) -> None:
    assert rfc3339(time) == text
