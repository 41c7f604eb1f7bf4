"""G9 for search and memory: a bound caller finds, lists and deletes only data of its user; tenants are isolated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from threadkeep import user
from threadkeep.v1 import search_pb2, session_pb2

from ..bad_input.requests import Wire, eventually, wire_on
from ..bad_input.test_isolation import ACME, ALICE, BOB, OTHER, TOKENS, check_page_tokens, ref

MODES = [mode for mode in search_pb2.SearchMode.values() if mode]
BOBS = {"app": "app", "user_id": "bob"}
ALICES = {"app": "app", "user_id": "alice"}
TOOLS = ["load_memory", "preload_memory", "conversation_search", "cross_session_search"]


def memory(text: str, id: str) -> dict[str, Any]:  # noqa: A002
    return {"id": id, "content": {"role": 1, "parts": [{"text": text}]}, "session_id": "secret"}


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    data = tmp_path_factory.mktemp("data")
    with wire_on(request.param, request, data, auth_tokens=TOKENS, embedder="hashing") as opened:
        opened.call("CreateSession", session=ref("bob", "secret"), token=BOB)
        opened.call("AppendEvents", session=ref("bob", "secret"), events=[user("bob said swordfish")], token=BOB)
        opened.call("CreateSession", session=ref("alice", "own"), token=ALICE)
        opened.call("AppendEvents", session=ref("alice", "own"), events=[user("alice said tuna")], token=ALICE)
        opened.call("AddMemories", scope=BOBS, memories=[memory("bob likes swordfish", "bobs")], token=BOB)
        opened.call("AddMemories", scope=ALICES, memories=[memory("alice likes tuna", "alices")], token=ALICE)
        eventually(lambda: _is_embedded(opened))
        yield opened


def _is_embedded(wire: Wire) -> bool:
    info = wire.call("GetServerInfo", token=ACME)
    return bool(info.search_index.lag_batches == info.embeddings.waiting == 0)


def denied(wire: Wire, method: str, *, field: str, **fields: Any) -> None:
    """The response equals the one for a user that does not exist."""
    refusal = wire.refused(method, token=ALICE, **fields)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED")
    assert refusal.metadata == {"field": field}


@pytest.mark.parametrize("mode", MODES)
def test_searches_return_only_accessible_events(wire: Wire, mode: int) -> None:
    for scope in ({"user_id": "alice"}, {}, {"app": "app"}):
        hits = wire.call("SearchEvents", user=scope, query="said", mode=mode, token=ALICE).hits
        assert {hit.session.user_id for hit in hits} == {"alice"}
    for user_id in ("bob", "nobody-there"):
        denied(wire, "SearchEvents", field="user.user_id", user={"user_id": user_id}, query="swordfish", mode=mode)
        session = ref(user_id, "secret")
        denied(wire, "SearchEvents", field="session.user_id", session=session, query="swordfish", mode=mode, neighbors=3)
    for app in ("app", "", "no-such-app"):
        denied(wire, "SearchEvents", field="app", app={"app": app}, query="swordfish", mode=mode)
    everybodys = wire.call("SearchEvents", app={"app": "app"}, query="said", mode=mode, token=ACME).hits
    assert {hit.session.user_id for hit in everybodys} == {"alice", "bob"}
    for scope_of_another in ({"app": {"app": "app"}}, {"user": {"user_id": "bob"}}):
        assert not wire.call("SearchEvents", query="said", mode=mode, token=OTHER, **scope_of_another).hits


@pytest.mark.parametrize("user_id", ["bob", "nobody-there"])
def test_another_users_memories_are_inaccessible(wire: Wire, user_id: str) -> None:
    scope = {"app": "app", "user_id": user_id}
    for mode in (0, *MODES):
        denied(wire, "SearchMemory", field="scope.user_id", scope=scope, query="swordfish", mode=mode)
    denied(wire, "ListMemories", field="scope.user_id", scope=scope)
    denied(wire, "AddMemories", field="scope.user_id", scope=scope, memories=[memory("planted", "planted")])
    denied(wire, "UpsertMemories", field="scope.user_id", scope=scope, writes=[{"memory": memory("planted", "bobs")}])
    denied(wire, "GetMemories", field="scope.user_id", scope=scope, names=[{"id": "bobs"}], refresh_ttl=True)
    denied(wire, "ListMemoryNamespaces", field="scope.user_id", scope=scope)
    denied(wire, "DeleteMemories", field="scope.user_id", scope=scope, names={"names": [{"id": "bobs"}]})
    denied(wire, "DeleteMemories", field="scope.user_id", scope=scope, namespace={"labels": ["a"]})
    denied(wire, "DeleteMemories", field="scope.user_id", scope=scope, all=True)
    denied(wire, "DeleteMemories", field="scope.user_id", scope=scope, ids={"ids": ["bobs"]})
    denied(wire, "DeleteMemories", field="scope.user_id", scope=scope, session_id="secret")
    denied(wire, "AddSessionToMemory", field="session.user_id", session=ref(user_id, "secret"))
    _untouched(wire)


def test_an_omitted_user_is_the_bound_user(wire: Wire) -> None:
    for scope in ({"app": "app"}, ALICES):
        for mode in (0, *MODES):
            entries = wire.call("SearchMemory", scope=scope, query="likes", mode=mode, token=ALICE).entries
            assert [entry.id for entry in entries] == ["alices"]
            theirs = wire.call("SearchMemory", scope=scope, query="swordfish", mode=mode, token=ALICE).entries
            assert {entry.id for entry in theirs} <= {"alices"}
        assert [entry.id for entry in wire.call("ListMemories", scope=scope, token=ALICE).entries] == ["alices"]
        assert wire.call("DeleteMemories", scope=scope, ids={"ids": ["bobs"]}, token=ALICE).not_found == 1
    assert wire.call("DeleteMemories", scope={"app": "app"}, session_id="secret", token=ALICE).deleted == 1
    wire.call("AddMemories", scope={"app": "app"}, memories=[memory("alice likes tuna", "alices")], token=ALICE)
    assert not wire.call("ListMemories", scope={}, token=ALICE).entries, "without an app there are none, and not all"
    _untouched(wire)


def test_a_page_token_grants_no_access(wire: Wire) -> None:
    for token, name in ((ALICE, "a"), (BOB, "b")):
        entries = [memory(f"{name}{n}", f"{name}{n}") for n in range(4)]
        wire.call("AddMemories", scope={"app": "paged"}, memories=entries, token=token)
    check_page_tokens(wire, "ListMemories", {"scope": {"app": "paged"}})
    for token, name in ((ALICE, "alice"), (BOB, "bob")):
        wire.call("AppendEvents", session=ref(name, "more"), events=[user("said more")] * 2, create_if_missing={}, token=token)
    check_page_tokens(wire, "SearchEvents", {"user": {}, "query": "said", "mode": "SEARCH_MODE_RANKED"})


def test_a_page_token_of_another_tenants_memories_is_rejected(wire: Wire) -> None:
    """Equal bytes of two callers request their own data."""
    fields = {"scope": {"app": "paged", "user_id": "both"}}
    for token in (ACME, OTHER):
        entries = [memory(f"fact {n}", f"{n}") for n in range(3)]
        wire.call("AddMemories", **fields, memories=entries, token=token)
    tokens = {token: wire.call("ListMemories", **fields, page_size=1, token=token).next_page_token for token in (ACME, OTHER)}
    assert len(set(tokens.values())) == 2
    for token, other in ((ACME, OTHER), (OTHER, ACME)):
        refusal = wire.refused("ListMemories", **fields, page_token=tokens[other], token=token)
        assert (refusal.reason, refusal.violations) == ("INVALID_PAGE_TOKEN", ["page_token"])
        rest = wire.call("ListMemories", **fields, page_token=tokens[token], token=token).entries
        assert [entry.id for entry in rest] == ["1", "0"]


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_return_only_accessible_data(wire: Wire, tool: str) -> None:
    arguments = json.dumps({"text" if tool == "preload_memory" else "query": "swordfish"})
    for session in (ref("bob", "secret"), ref("nobody-there", "secret"), session_pb2.SessionRef(app="app", user_id="bob")):
        refusal = wire.refused("CallTool", session=session, name=tool, arguments_json=arguments, token=ALICE)
        assert (refusal.reason, refusal.metadata) == ("PERMISSION_DENIED", {"field": "session.user_id"})
    own = wire.call("CallTool", session=ref("", "own"), name=tool, arguments_json=arguments, token=ALICE)
    assert "bob" not in own.result_json
    for result in (wire.call("ListTools", token=ALICE), wire.call("ListTools", token=OTHER)):
        assert [each.name for each in result.tools] == TOOLS


def test_tenants_are_isolated(wire: Wire) -> None:
    assert not wire.call("ListMemories", scope=BOBS, token=OTHER).entries
    assert not wire.call("SearchMemory", scope=BOBS, query="swordfish", token=OTHER).entries
    assert wire.call("DeleteMemories", scope=BOBS, all=True, token=OTHER).deleted == 0
    assert wire.refused("AddSessionToMemory", session=ref("bob", "secret"), token=OTHER).reason == "SESSION_NOT_FOUND"
    added = wire.call("AddMemories", scope=BOBS, memories=[memory("theirs", "bobs")], token=OTHER).memories
    assert [each.replayed for each in added] == [False]
    assert [entry.id for entry in wire.call("ListMemories", scope=BOBS, token=ACME).entries] == ["bobs"]
    _untouched(wire)


NOBODY_ANSWERS = {"embedder": "openai", "embedder_base_url": "http://127.0.0.1:9/v1", "embedder_model": "m"}


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_the_embedding_backlog_counts_only_accessible_data(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with wire_on(engine, request, tmp_path, auth_tokens=TOKENS, **NOBODY_ANSWERS) as wire:
        said = [user("one"), user("two")]
        wire.call("AppendEvents", session=ref("bob", "s"), events=said, create_if_missing={}, token=BOB)
        wire.call("AppendEvents", session=ref("alice", "s"), events=said[:1], create_if_missing={}, token=ALICE)
        wire.call("AddMemories", scope=BOBS, memories=[memory("a fact", "m")], token=BOB)
        eventually(lambda: not wire.call("GetServerInfo", token=ACME).search_index.lag_batches)
        waits = {token: wire.call("GetServerInfo", token=token).embeddings.waiting for token in (ACME, BOB, ALICE, OTHER)}
        assert waits == {ACME: 4, BOB: 3, ALICE: 1, OTHER: 0}
        wire.call("AddMemories", scope=BOBS, memories=[memory("theirs", "m")], token=OTHER)
        again = {token: wire.call("GetServerInfo", token=token).embeddings.waiting for token in waits}
        assert again == waits | {OTHER: 1}


def _untouched(wire: Wire) -> None:
    entries = wire.call("ListMemories", scope=BOBS, token=BOB).entries
    assert [(entry.id, entry.content.parts[0].text) for entry in entries] == [("bobs", "bob likes swordfish")]


def test_a_bound_credential_loads_memories_without_a_session(wire: Wire) -> None:
    wire.call("AddMemories", scope={}, memories=[memory("alice likes halibut", "no-app")], token=ALICE)
    answer = wire.call("CallTool", name="load_memory", arguments_json='{"query": "halibut"}', token=ALICE)
    assert [each["id"] for each in json.loads(answer.result_json)["memories"]] == ["no-app"]
    wire.invalid("session.session_id", "CallTool", name="conversation_search", arguments_json='{"query": "x"}', token=ALICE)
    wire.invalid("session.user_id", "CallTool", name="load_memory", arguments_json='{"query": "x"}', token=ACME)
