"""Long-term memory in the SDK with a server: adding, searching, listing, deleting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from threadkeep import (
    Client,
    MemoryEntry,
    SearchMode,
    SessionRef,
    UserMemory,
    assistant,
    compaction,
    errors,
    event,
    memory_entry,
    reasoning,
    tool_call,
    tool_result,
    user,
)
from threadkeep_server.app.server import Running

from ..bad_input.requests import eventually
from ..conftest import ServerFactory
from .searching import ENGINES, MONDAY, connected, embedded, serving

_numbers = count(1)


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(request.param, request, tmp_path_factory.mktemp("data"), embedder="hashing", http_address="") as opened:
        yield opened


@pytest.fixture
def client(server: Running) -> Iterator[Client]:
    """A client with its own user."""
    with connected(server, user_id=f"user-{next(_numbers)}") as opened:
        yield opened


@pytest.fixture
def memory(client: Client) -> UserMemory:
    return client.memory()


def said(entry: MemoryEntry) -> str:
    return "\n".join(part.text for part in entry.content.parts)


def listed(memory: UserMemory, **wanted: Any) -> list[str]:
    return [said(entry) for entry in memory.list(**wanted)]


def test_a_session_ingested_repeatedly_is_stored_once(client: Client, memory: UserMemory) -> None:
    client.append(
        "s1", user("I like tea.", author="me", event_time=MONDAY), assistant("Noted."), user(" "), create_if_missing=True
    )
    done = memory.add_session("s1", metadata={"kind": "taste"})
    assert (done.added, done.existing, done.skipped, done.deleted) == (2, 0, 1, 0)
    client.append("s1", user("I hate fog."))
    done = memory.add_session("s1")
    assert (done.added, done.existing, done.skipped, done.deleted) == (1, 2, 1, 0)
    assert listed(memory) == ["I hate fog.", "Noted.", "I like tea."], "the last added first"
    first = list(memory.list())[-1]
    assert (first.author, first.session_id, first.metadata_json) == ("me", "s1", '{"kind":"taste"}')
    assert (first.scope.app, first.scope.user_id) == ("shop", client.user_id)
    assert first.event_time.seconds == int(MONDAY.timestamp())
    assert first.event_id == next(iter(client.events("s1"))).event_id
    assert first.record_time.seconds > first.event_time.seconds


def test_ingesting_a_part_and_then_the_whole_stores_everything(client: Client, memory: UserMemory) -> None:
    client.append("s1", *(user(f"fact {n}", event_id=f"e{n}") for n in range(5)), create_if_missing=True)
    assert memory.add_session("s1", event_ids=["e3"]).added == 1
    whole = memory.add_session("s1")
    assert (whole.added, whole.existing) == (4, 1)
    with pytest.raises(errors.EventNotFound):
        memory.add_session("s1", event_ids=["e1", "none"])


def test_an_event_is_stored_with_its_text_and_facts(client: Client, memory: UserMemory) -> None:
    call = tool_call("c1", "weather", {"city": "Lisbon"})
    client.append(
        "s1",
        event("assistant", [reasoning("They may want sun."), "Let me look.", call]),
        tool_result("c1", "21 degrees", name="weather"),
        assistant("Summary: it is warm.", synthetic=True),
        create_if_missing=True,
    )
    assert (memory.add_session("s1").added, listed(memory)) == (1, ["Let me look."])
    memory.delete(all=True)
    assert memory.add_session("s1").deleted == 1
    other = client.memory(app="other")
    client.append(
        SessionRef(app="other", user_id=client.user_id, session_id="s1"), *client.events("s1"), create_if_missing=True
    )
    done = other.add_session("s1", include_tools=True, include_reasoning=True, include_synthetic=True)
    assert done.added == 3
    assert [entry.content.parts[0].WhichOneof("content") for entry in other.list()] == ["text", "tool_result", "text"]
    for word, position in (("sun", 2), ("Lisbon", 2), ("21 degrees", 1), ("warm", 0)):
        for mode in ("ranked", "substring"):
            entries = other.search(word, mode=mode).entries
            assert [entry.id for entry in entries] == [list(other.list())[position].id], (word, mode)


def test_memories_are_added_with_their_own_ids(memory: UserMemory) -> None:
    entry = memory_entry("likes tea", id="m1", author="me", event_time=MONDAY, metadata={"n": 1})
    assert [(each.id, each.replayed) for each in memory.add(entry)] == [("m1", False)]
    again, _ = memory.add(entry, "hates fog")
    assert (again.id, again.replayed) == ("m1", True)
    for other in (memory_entry("likes coffee", id="m1"), memory_entry("likes tea", id="m1")):
        with pytest.raises(errors.MemoryIdConflict) as caught:
            memory.add("not stored", other)
        assert (caught.value.id, caught.value.field) == ("m1", "memories[1].id")
    assert listed(memory) == ["hates fog", "likes tea"]
    assert memory.delete(["m1"]).deleted == 1
    assert [each.replayed for each in memory.add(memory_entry("likes coffee", id="m1"))] == [False], "an id may come again"


@pytest.mark.parametrize("mode", ["substring", "ranked", "semantic", "hybrid"])
def test_memories_are_found_in_all_four_modes(client: Client, memory: UserMemory, mode: str) -> None:
    memory.add(
        memory_entry("Zoë is allergic to peanuts", event_time=MONDAY),
        memory_entry("Peanuts are sold out", event_time=MONDAY + timedelta(days=1)),
        "likes the window seat",
    )
    embedded(client)
    found = memory.search("peanuts", mode=mode, top_k=2)
    assert found.mode == SearchMode.Value(f"SEARCH_MODE_{mode.upper()}")
    assert {said(entry) for entry in found.entries} == {"Zoë is allergic to peanuts", "Peanuts are sold out"}
    scores = [entry.score for entry in found.entries]
    assert scores == sorted(scores, reverse=True)
    if mode == "substring":
        assert [said(entry) for entry in found.entries] == ["Peanuts are sold out", "Zoë is allergic to peanuts"], (
            "newest first"
        )
        assert scores == [1, 1]
    if mode != "semantic":
        (mark,) = found.entries[0].highlights
        assert said(found.entries[0])[mark.start : mark.end].casefold() == "peanuts"
    for nothing in ("", " \n"):
        assert not memory.search(nothing, mode=mode).entries


def test_the_default_mode_with_an_embedder_is_hybrid(client: Client, memory: UserMemory) -> None:
    memory.add(*(f"number {n}" for n in range(12)))
    embedded(client)
    found = memory.search("number")
    assert (found.mode, len(found.entries)) == (SearchMode.SEARCH_MODE_HYBRID, 10)
    assert len(memory.search("number", mode="semantic").entries) == 5
    assert len(memory.search("number", top_k=100).entries) == 12


def test_an_unrelated_question_finds_nothing(client: Client, memory: UserMemory) -> None:
    memory.add("I work as a nurse in Porto.", "I like green tea.", "My dog is called Pickle.")
    embedded(client)
    for unrelated in ("What is the capital of Mongolia?", "xylophone lawnmower", "Write a haiku about volcanoes."):
        found = memory.search(unrelated)
        assert (found.mode, list(found.entries)) == (SearchMode.SEARCH_MODE_HYBRID, []), unrelated
    assert len(memory.search("What is the capital of Mongolia?", min_score=0).entries) == 3
    assert [said(each) for each in memory.search("What is my dog called?").entries] == ["My dog is called Pickle."]
    answer = client.call_tool("load_memory", {"query": "What is the capital of Mongolia?"})
    assert json.loads(answer.result_json) == {"memories": []}


def test_min_score_and_recency_change_the_result(client: Client, memory: UserMemory) -> None:
    memory.add(memory_entry("blue door", event_time=MONDAY), memory_entry("blue roof", event_time=MONDAY + timedelta(days=9)))
    embedded(client)
    best = memory.search("blue door", mode="semantic").entries[0].score
    assert [said(each) for each in memory.search("blue door", mode="semantic", min_score=best - 1e-6).entries] == ["blue door"]
    now = MONDAY + timedelta(days=9)
    lifted = memory.search("blue", mode="ranked", recency=timedelta(days=1), reference_time=now)
    assert [said(entry) for entry in lifted.entries] == ["blue roof", "blue door"]


def test_memory_filters_select_memories(memory: UserMemory) -> None:
    memory.add(
        memory_entry("a tea", author="me", session_id="s1", event_time=MONDAY, metadata={"kind": "x", "n": 1, "yes": True}),
        memory_entry("b tea", author="you", session_id="s2", event_time=MONDAY + timedelta(days=1), metadata={"n": 2.5}),
        memory_entry("c tea"),
    )
    for wanted, found in (
        ({"session_ids": ["s1", "s2"]}, ["b tea", "a tea"]),
        ({"authors": ["you"]}, ["b tea"]),
        ({"from_time": MONDAY + timedelta(hours=1)}, ["c tea", "b tea"]),
        ({"to_time": MONDAY}, ["a tea"]),
        ({"metadata": {"kind": "x"}}, ["a tea"]),
        ({"metadata": {"n": "1", "yes": "true"}}, ["a tea"]),
        ({"metadata": {"n": "2.5"}}, ["b tea"]),
        ({"metadata": {"n": "1", "kind": "y"}}, []),
    ):
        assert listed(memory, **wanted) == found, wanted
        for mode in ("ranked", "substring"):
            assert sorted(said(each) for each in memory.search("tea", mode=mode, **wanted).entries) == sorted(found), (
                mode,
                wanted,
            )


def test_memories_are_listed_in_pages(memory: UserMemory) -> None:
    memory.add(*(f"entry {n}" for n in range(7)))
    assert listed(memory, page_size=2) == [f"entry {n}" for n in reversed(range(7))]


def test_deletion_returns_a_receipt_and_is_permanent(client: Client, memory: UserMemory) -> None:
    client.append("s1", user("tea one"), user("tea two"), create_if_missing=True)
    client.append("s2", user("tea three"), create_if_missing=True)
    memory.add_session("s1")
    memory.add_session("s2")
    memory.add(memory_entry("tea four", id="m4"))
    embedded(client)
    by_id = memory.delete(["m4", "none"])
    assert (by_id.deleted, by_id.embeddings_deleted, by_id.not_found) == (1, 1, 1)
    assert by_id.delete_time.seconds > 0
    client.delete_session("s1")
    assert sorted(listed(memory)) == ["tea one", "tea three", "tea two"], "memories do not go with their session"
    of_session = memory.delete(session_id="s1")
    assert (of_session.deleted, of_session.embeddings_deleted) == (2, 2)
    for mode in ("substring", "ranked", "semantic", "hybrid"):
        assert [said(entry) for entry in memory.search("tea", mode=mode).entries] == ["tea three"]
    assert memory.delete(all=True).deleted == 1
    assert memory.delete(all=True).deleted == 0
    done = memory.add_session("s2")
    assert (done.added, done.deleted) == (0, 1), "what was deleted stays deleted"
    assert listed(memory) == []


def test_other_apps_and_users_are_not_searched(server: Running, client: Client, memory: UserMemory) -> None:
    memory.add(memory_entry("swordfish", id="mine"))
    others = [client.memory(app=""), client.memory(app="other"), client.memory(user_id="somebody")]
    for other in others:
        assert listed(other) == []
        for mode in ("substring", "ranked", "semantic", "hybrid"):
            assert not other.search("swordfish", mode=mode).entries
        receipt = other.delete(["mine"])
        assert (receipt.deleted, receipt.not_found, other.delete(all=True).deleted) == (0, 1, 0)
        assert [each.replayed for each in other.add(memory_entry("tuna", id="mine"))] == [False]
    assert listed(memory) == ["swordfish"]


def test_a_server_without_memory_rejects_calls(start_server: ServerFactory) -> None:
    with connected(start_server(memory=False)) as client:
        client.append("s1", user("tea"), create_if_missing=True)
        memory = client.memory()
        for call in (
            lambda: memory.add_session("s1"),
            lambda: memory.add("tea"),
            lambda: memory.search("tea"),
            lambda: memory.list_page(),
            lambda: memory.delete(all=True),
        ):
            with pytest.raises(errors.MemoryNotConfigured):
                call()
        assert "memory" not in client.info().capabilities


def test_the_default_mode_without_an_embedder_is_ranked(start_server: ServerFactory) -> None:
    with connected(start_server()) as client:
        memory = client.memory()
        memory.add("likes tea")
        found = memory.search("tea")
        assert ([said(entry) for entry in found.entries], found.mode) == (["likes tea"], SearchMode.SEARCH_MODE_RANKED)
        with pytest.raises(errors.EmbedderNotConfigured):
            memory.search("tea", mode="semantic")


def test_expiring_sessions_are_ingested_automatically(start_server: ServerFactory) -> None:
    server = start_server(memory_ingest="on_expiry", sweep_interval="1s")
    with connected(server) as client:
        client.append("brief", user("my shoe size is 43"), create_if_missing=True)
        client.update_session("brief", ttl=timedelta(seconds=1))  # after the append, which may take longer
        eventually(lambda: listed(client.memory()) == ["my shoe size is 43"])
        eventually(lambda: not list(client.sessions()))
        assert listed(client.memory()) == ["my shoe size is 43"]


def test_idle_sessions_are_ingested_automatically(start_server: ServerFactory) -> None:
    server = start_server(memory_ingest="on_idle", memory_idle="1s")
    with connected(server) as client:
        client.append("s1", user("my shoe size is 43"), create_if_missing=True)
        eventually(lambda: listed(client.memory()) == ["my shoe size is 43"])


def test_compacted_sessions_are_ingested_automatically(start_server: ServerFactory) -> None:
    server = start_server(memory_ingest="on_compaction")
    with connected(server) as client:
        client.append("s1", user("my shoe size is 43"), assistant("Noted."), user("Thanks."), create_if_missing=True)
        client.compact("s1", compaction.turn_window(1))
        eventually(lambda: "my shoe size is 43" in listed(client.memory()))


def test_memory_is_served_over_http(server: Running) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        check = health_pb2_grpc.HealthStub(channel).Check
        for name in ("threadkeep.v1.MemoryService", "threadkeep.v1.ToolService"):
            answer = check(health_pb2.HealthCheckRequest(service=name), timeout=30)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
