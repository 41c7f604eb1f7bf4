"""The recall tools: their declarations, their arguments and their results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.sessions import ref
from tests.unit.service.memory.memories import entry
from tests.unit.service.search.searching import ANYONE, SCOPE, Meanings, SearchServices
from threadkeep_server.domain import errors
from threadkeep_server.domain.model import Role, SessionRef
from threadkeep_server.providers.embedders.base import EmbedFailed
from threadkeep_server.service.tools.tools import MOST_TEXT

NAMES = ["load_memory", "preload_memory", "conversation_search", "cross_session_search"]


async def result(services: SearchServices, name: str, to: SessionRef | None = None, **arguments: Any) -> dict[str, Any]:
    found = await services.tools.call(ANYONE, to or ref(), name, json.dumps(arguments))
    assert not found.is_error, found.result_json
    parsed = json.loads(found.result_json)
    assert isinstance(parsed, dict)
    return parsed


async def wrong(services: SearchServices, name: str, arguments: str) -> str:
    found = await services.tools.call(ANYONE, ref(), name, arguments)
    assert found.is_error
    parsed = json.loads(found.result_json)
    assert list(parsed) == ["error"]
    return str(parsed["error"])


# --- definitions


@pytest.mark.parametrize("embedder", [None, Meanings()])
def test_schemas_are_strict_and_described(embedder: Meanings | None) -> None:
    tools = SearchServices(embedder).tools.definitions()
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        schema = json.loads(tool.parameters_json_schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert len(tool.description) > 40
        for name, about in schema["properties"].items():
            assert about["description"], name
            assert about["type"] in ("string", "integer", "boolean")
            assert (name in schema["required"]) != ("default" in about) or (tool.name, name) == ("preload_memory", "text")


def test_load_memory_has_one_required_string_and_preload_memory_is_never_declared() -> None:
    tools = {tool.name: tool for tool in SearchServices().tools.definitions()}
    schema = json.loads(tools["load_memory"].parameters_json_schema)
    assert list(schema["properties"]) == ["query"]
    assert (schema["properties"]["query"]["type"], schema["required"]) == ("string", ["query"])
    assert [name for name, tool in tools.items() if not tool.declared] == ["preload_memory"]


@pytest.mark.parametrize(
    ("embedder", "modes"), [(None, ["ranked", "substring"]), (Meanings(), ["ranked", "substring", "hybrid"])]
)
def test_modes_that_are_offered_are_those_that_work(embedder: Meanings | None, modes: list[str]) -> None:
    tools = {tool.name: tool for tool in SearchServices(embedder).tools.definitions()}
    mode = json.loads(tools["conversation_search"].parameters_json_schema)["properties"]["mode"]
    assert (mode["enum"], mode["default"]) == (modes, "ranked" if embedder is None else "hybrid")


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("load_memory", "{", "arguments must be JSON"),
        ("load_memory", "[1]", "arguments must be a JSON object"),
        ("load_memory", "[" * 100_000, "arguments must be JSON"),
        ("load_memory", "", "query is required"),
        ("load_memory", '{"query": null}', "query is required"),
        ("load_memory", '{"query": 5}', "query must be a string"),
        ("load_memory", '{"query": "a", "limit": 3}', "there is no argument 'limit'; there are query"),
        ("load_memory", json.dumps({"query": "a" * 1025}), "query must have at most 1024 characters"),
        ("load_memory", json.dumps({"query": "é" * 200_000}), "arguments must have at most 262144 bytes"),
        ("load_memory", json.dumps({"x" * 200_000: "a"}), "there is no argument '" + "x" * 100 + "'; there are query"),
        ("load_memory", '{"query": "\\ud800"}', "query must be text that has a UTF-8 form"),
        ("preload_memory", '{"text": "tea \\udc00"}', "text must be text that has a UTF-8 form"),
        ("conversation_search", '{"query": "\\ud83d", "mode": "substring"}', "query must be text that has a UTF-8 form"),
        ("cross_session_search", '{"query": "tea,\\ud83d", "all": true}', "query must be text that has a UTF-8 form"),
        ("preload_memory", '{"max_entries": 0}', "max_entries must be an integer from 1 to 50"),
        ("preload_memory", '{"max_entries": true}', "max_entries must be an integer from 1 to 50"),
        ("preload_memory", '{"max_entries": 1.5}', "max_entries must be an integer from 1 to 50"),
        ("preload_memory", '{"text": []}', "text must be a string"),
        ("conversation_search", '{"query": " "}', "query must not be blank"),
        ("conversation_search", '{"query": "a", "mode": "fuzzy"}', "mode must be one of ranked, substring"),
        ("conversation_search", '{"query": "a", "page": "1"}', "page must be an integer from 0 on"),
        ("conversation_search", '{"query": "a", "page_size": 21}', "page_size must be an integer from 1 to 20"),
        ("cross_session_search", '{"query": "a", "limit": 21}', "limit must be an integer from 1 to 20"),
        ("cross_session_search", '{"query": "a", "all": "yes"}', "all must be true or false"),
        ("cross_session_search", '{"query": " , ,", "all": true}', "query must hold words or phrases, with commas between"),
        ("cross_session_search", json.dumps({"query": "a," * 21, "all": True}), "query must hold at most 20 words or phrases"),
    ],
)
async def test_wrong_arguments_are_reported_by_name(name: str, arguments: str, problem: str) -> None:
    services = SearchServices()
    await services.session("s1", "tea")
    assert (await wrong(services, name, arguments)).startswith(problem)


async def test_an_unknown_tool_is_an_agent_error() -> None:
    with pytest.raises(errors.InvalidField, match="name must be one of load_memory"):
        await SearchServices().tools.call(ANYONE, ref(), "load", "{}")


async def test_whole_numbers_may_be_written_as_floats_and_null_is_a_default() -> None:
    services = SearchServices()
    await services.session("s1", "tea", "more tea")
    found = await result(services, "conversation_search", query="tea", page_size=1.0, page=None, mode=None)
    assert len(found["results"]) == 1


# --- memory


async def test_load_memory_returns_memories_of_the_user_in_the_app() -> None:
    services = SearchServices()
    await services.memory.add(
        ANYONE,
        SCOPE,
        [
            entry("likes green tea", "m1", author="alice", event_time=NOW, session_id="s0", metadata_json='{"topic": "tea"}'),
            entry("has a cat", "m2"),
        ],
    )
    await services.memory.add(ANYONE, SCOPE._replace(user_id="bob"), [entry("bob likes tea")])
    await services.memory.add(ANYONE, SCOPE._replace(app="bank"), [entry("tea at the bank")])
    found = await result(services, "load_memory", query="What tea?")
    [reported] = found["memories"]
    assert reported.pop("score") > 0
    assert reported == {
        "id": "m1",
        "author": "alice",
        "time": "2025-06-15T15:06:40.000Z",
        "text": "likes green tea",
        "session_id": "s0",
        "metadata": {"topic": "tea"},
    }
    assert await result(services, "load_memory", query=" ") == {"memories": []}


async def test_unreadable_metadata_is_returned_as_valid_json() -> None:
    services = SearchServices()
    metadata = '{"half": "a \\ud800", "large": 1e400, "pair": "\\ud83d\\ude00"}'
    await services.memory.add(ANYONE, SCOPE, [entry("likes tea", metadata_json=metadata)])
    found = await services.tools.call(ANYONE, ref(), "load_memory", '{"query": "tea"}')
    assert found.result_json.encode()
    [reported] = json.loads(found.result_json, parse_constant=pytest.fail)["memories"]
    assert reported["metadata"] == {"half": "a ?", "large": "1e400", "pair": "\U0001f600"}


async def test_load_memory_is_a_configuration_error_where_there_is_no_memory() -> None:
    with pytest.raises(errors.MemoryNotConfigured):
        await SearchServices(memory=False).tools.call(ANYONE, ref(), "load_memory", '{"query": "tea"}')


async def test_tools_of_memory_need_a_user_but_no_session() -> None:
    services = SearchServices()
    await services.memory.add(ANYONE, SCOPE, [entry("likes tea")])
    nowhere = SessionRef("shop", "alice", "")
    assert len((await result(services, "load_memory", nowhere, query="tea"))["memories"]) == 1
    assert (await result(services, "preload_memory", nowhere, text="tea"))["memories"] == 1
    assert await result(services, "cross_session_search", nowhere, query="tea") == {"results": [], "has_more": False}
    for name in ("load_memory", "cross_session_search", "preload_memory"):
        with pytest.raises(errors.InvalidField, match=r"session\.user_id is required"):
            await services.tools.call(
                ANYONE, SessionRef("shop", "", ""), name, '{"query": "tea"}' if "pre" not in name else "{}"
            )


async def test_a_bare_session_id_selects_the_memory_of_its_user() -> None:
    services = SearchServices()
    await services.session("s1", "tea?")
    await services.memory.add(ANYONE, SCOPE, [entry("likes tea")])
    bare = SessionRef("", "", "s1")
    assert len((await result(services, "load_memory", bare, query="tea"))["memories"]) == 1
    assert (await result(services, "preload_memory", bare))["memories"] == 1
    with pytest.raises(errors.SessionNotFound):
        await services.tools.call(ANYONE, SessionRef("", "", "s2"), "load_memory", '{"query": "tea"}')


async def test_preload_memory_appends_a_bullet_list_of_at_most_max_entries() -> None:
    services = SearchServices()
    await services.memory.add(ANYONE, SCOPE, [entry(f"likes tea\n number {number}") for number in range(8)])
    found = await result(services, "preload_memory", text="tea", max_entries=2)
    assert found["memories"] == 2
    lead, *bullets = found["text"].split("\n")
    assert lead == "Relevant prior context:"
    assert len(bullets) == 2
    assert all(bullet.startswith("- likes tea number ") for bullet in bullets)
    assert (await result(services, "preload_memory", text="tea"))["memories"] == 5


async def test_preload_memory_searches_with_the_users_last_text() -> None:
    services = SearchServices()
    await services.session("s1", "I have a cat", "Good.", "Now about tea", "Well, the cat ...")
    await services.memory.add(ANYONE, SCOPE, [entry("likes green tea"), entry("the cat is called Tom")])
    assert (await result(services, "preload_memory"))["text"] == "Relevant prior context:\n- likes green tea"


async def test_preload_memory_is_silent_without_service_text_or_hit() -> None:
    silent = {"text": ""}
    off = SearchServices(memory=False)
    assert await result(off, "preload_memory", text="tea") == silent
    services = SearchServices()
    await services.memory.add(ANYONE, SCOPE, [entry("likes tea")])
    assert await result(services, "preload_memory") == silent  # no session
    assert await result(services, "preload_memory", SessionRef("", "", "s9")) == silent
    await services.session("s1", draft("tea", role=Role.ASSISTANT))
    assert await result(services, "preload_memory") == silent  # the user has said nothing
    assert await result(services, "preload_memory", text="  ") == silent
    assert await result(services, "preload_memory", text="rum") == silent


async def test_preload_memory_searches_for_the_beginning_of_a_long_text() -> None:
    services = SearchServices()
    await services.memory.add(ANYONE, SCOPE, [entry("likes tea")])
    assert (await result(services, "preload_memory", text="tea " + "x" * 100_000))["memories"] == 1


async def test_texts_are_cut_so_that_results_fit_a_models_context() -> None:
    services = SearchServices()
    await services.session("s1", "before " + "b" * 5000, "tea " + "x" * 5000)
    await services.memory.add_session(ANYONE, ref())
    [memory] = (await result(services, "load_memory", query="tea"))["memories"]
    assert (len(memory["text"]), memory["text"][-2:]) == (MOST_TEXT, "x…")
    preloaded = await result(services, "preload_memory", text="tea")
    assert len(preloaded["text"]) < MOST_TEXT + 50
    [hit] = (await result(services, "conversation_search", query="tea"))["results"]
    assert (len(hit["text"]), len(hit["before"][0]["text"])) == (MOST_TEXT, 500)


async def test_an_embedder_outage_is_no_tool_error() -> None:
    embedder = Meanings()
    services = SearchServices(embedder)
    await services.session("s1", "tea")
    await services.memory.add(ANYONE, SCOPE, [entry("likes tea")])
    embedder.fails = EmbedFailed("no answer", retry=True)
    assert len((await result(services, "load_memory", query="tea"))["memories"]) == 1
    assert len((await result(services, "conversation_search", query="tea", mode="hybrid"))["results"]) == 1
