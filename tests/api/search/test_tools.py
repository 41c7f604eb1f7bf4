"""The recall tools over ListTools and CallTool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from threadkeep import Client, SessionRef, assistant, errors, memory_entry, user
from threadkeep_server.app.server import Running

from ..conftest import ServerFactory
from .searching import ENGINES, add_conversation, connected, embedded, serving


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(request.param, request, tmp_path_factory.mktemp("data"), embedder="hashing", http_address="") as opened:
        yield opened


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[Client]:
    with connected(server) as opened:
        add_conversation(opened)
        opened.memory().add(memory_entry("Zoë is allergic to peanuts", id="m1", author="alice", metadata={"kind": "health"}))
        with connected(server, user_id="bob") as other:
            other.append("bobs", user("peanuts are for the birds"), create_if_missing=True)
            other.memory().add("Bob feeds peanuts to birds")
        embedded(opened)
        yield opened


def called(client: Client, name: str, arguments: Mapping[str, Any], session: str | None = None) -> dict[str, Any]:
    answer = client.call_tool(name, arguments, session=session)
    result = json.loads(answer.result_json)
    assert not answer.is_error, result
    return dict(result)


def test_every_tool_has_a_definition_for_models(client: Client) -> None:
    tools = {tool.name: tool for tool in client.tools()}
    assert list(tools) == ["load_memory", "preload_memory", "conversation_search", "cross_session_search"]
    assert [name for name, tool in tools.items() if not tool.declared] == ["preload_memory"]
    for tool in tools.values():
        assert len(tool.description) > 20
        schema = json.loads(tool.parameters_json_schema)
        assert schema["type"] == "object"
        assert all(isinstance(each["description"], str) for each in schema["properties"].values())
    load = json.loads(tools["load_memory"].parameters_json_schema)
    assert (load["required"], list(load["properties"]), load["properties"]["query"]["type"]) == (["query"], ["query"], "string")


def test_load_memory_returns_memories(client: Client) -> None:
    (found,) = called(client, "load_memory", {"query": "Who is allergic?"})["memories"]
    assert (found["id"], found["text"], found["author"]) == ("m1", "Zoë is allergic to peanuts", "alice")
    assert found["metadata"] == {"kind": "health"}
    assert called(client, "load_memory", {"query": " "})["memories"] == []


def test_preload_memory_returns_memories(client: Client) -> None:
    outcome = called(client, "preload_memory", {"text": "May I serve peanuts?", "max_entries": 1})["text"]
    assert outcome == "Relevant prior context:\n- Zoë is allergic to peanuts"
    client.append("question", user("Is anybody allergic to peanuts?"), assistant("Let me see."), create_if_missing=True)
    assert "Zoë" in called(client, "preload_memory", {}, session="question")["text"], "the last user message is the query"
    for silent in ({"text": ""}, {"text": " \n"}):
        assert called(client, "preload_memory", silent)["text"] == ""
    assert called(client, "preload_memory", {}, session="no-such-session")["text"] == ""


def test_conversation_search_returns_events(client: Client) -> None:
    results = called(client, "conversation_search", {"query": "when does the flight leave"}, session="trip")["results"]
    assert "flights\nEW8600 leaves at 14:05" in [each["text"] for each in results]
    (only,) = called(client, "conversation_search", {"query": "LISBON", "mode": "substring"}, session="trip")["results"]
    assert (only["seq"], only["role"], only["author"]) == (2, "user", "alice")
    assert [each["seq"] for each in (*only["before"], *only["after"])] == [1, 3]
    with pytest.raises(errors.SessionNotFound):
        client.call_tool("conversation_search", {"query": "x"}, session="nowhere")
    with pytest.raises(errors.InvalidField) as caught:
        client.call_tool("conversation_search", {"query": "x"})
    assert caught.value.field == "session.session_id"


def test_cross_session_search_returns_events_of_other_sessions(client: Client) -> None:
    results = called(client, "cross_session_search", {"query": "peanuts Lisbon", "limit": 10})["results"]
    assert {each["session_id"] for each in results} >= {"food", "trip"}
    assert not [each for each in results if "birds" in each["text"]], "another user's"
    assert called(client, "cross_session_search", {"query": "peanuts"}, session="need-not-exist")["results"]


def test_invalid_arguments_return_an_error_result(client: Client) -> None:
    for name, arguments in (
        ("load_memory", "not JSON"),
        ("load_memory", "{}"),
        ("load_memory", '{"query": 1}'),
        ("load_memory", '{"query": "x", "user_id": "bob"}'),
        ("preload_memory", '{"max_entries": 0}'),
        ("cross_session_search", '{"query": " "}'),
    ):
        answer = client.call_tool(name, arguments)
        assert answer.is_error, (name, arguments)
        assert len(json.loads(answer.result_json)["error"]) > 5
    with pytest.raises(errors.InvalidField) as caught:
        client.call_tool("drop_tables", {})
    assert caught.value.field == "name"


def test_a_server_without_memory_has_no_memory_tools(start_server: ServerFactory) -> None:
    with connected(start_server(memory=False)) as client:
        client.append("s1", user("tea"), create_if_missing=True)
        with pytest.raises(errors.MemoryNotConfigured):
            client.call_tool("load_memory", {"query": "tea"})
        assert called(client, "preload_memory", {"text": "tea"})["text"] == "", "silent"
        assert [tool.name for tool in client.tools()] == ["conversation_search", "cross_session_search"]
        assert called(client, "conversation_search", {"query": "tea"}, session="s1")["results"]


def test_a_bare_session_id_selects_the_user(server: Running, client: Client) -> None:
    with connected(server, app="", user_id="") as anonymous:
        answer = anonymous.call_tool("load_memory", {"query": "peanuts"}, session=SessionRef(session_id="food"))
        assert [each["id"] for each in json.loads(answer.result_json)["memories"]] == ["m1"]
