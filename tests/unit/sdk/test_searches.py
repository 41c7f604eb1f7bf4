"""What the client sends for searches, memories and tools, and what it refuses to send."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

import threadkeep
from threadkeep import HitGrouping, MemoryEntry, SearchField, SearchMode, SessionRef, errors
from threadkeep.v1 import memory_service_pb2 as ms
from threadkeep.v1 import search_service_pb2 as rs
from threadkeep.v1 import tool_service_pb2 as ts

from .fake import Fail, FakeServer

DOWN = Fail(grpc.StatusCode.UNAVAILABLE)
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


async def test_a_search_sends_its_options(client: Any, fake: FakeServer) -> None:
    await client.search_page(
        "where to?",
        session="s1",
        mode="ranked",
        fields=["text", SearchField.SEARCH_FIELD_MEDIA],
        neighbors=2,
        grouping="turn",
        recency=timedelta(days=2),
        reference_time=NOON,
        include_synthetic=True,
        distinct=True,
    )
    await client.search_page(
        "x", mode=SearchMode.SEARCH_MODE_SEMANTIC, min_score=0.0, recency=threadkeep.recency(timedelta(1), 3)
    )
    first, second = fake.requests("SearchEvents")
    assert (first.mode, list(first.fields)) == (SearchMode.SEARCH_MODE_RANKED, [1, 4])
    assert (first.neighbors, first.grouping, first.include_synthetic) == (2, HitGrouping.HIT_GROUPING_TURN, True)
    assert first.distinct
    assert (first.recency.half_life.ToTimedelta(), first.recency.weight) == (timedelta(days=2), 1)
    assert first.reference_time.ToDatetime(UTC) == NOON
    assert not first.HasField("min_score")
    assert (second.mode, second.HasField("min_score"), second.min_score) == (SearchMode.SEARCH_MODE_SEMANTIC, True, 0)
    assert (second.recency.weight, second.HasField("reference_time")) == (3, False)


async def test_a_search_without_options_sends_an_unchanged_request(client: Any, fake: FakeServer) -> None:
    await client.search_page("ba117")
    scope = rs.UserScope(app="shop", user_id="alice")
    assert fake.requests("SearchEvents") == [rs.SearchEventsRequest(user=scope, query="ba117")]


async def test_a_search_of_all_users_must_be_requested(connect: Callable[..., Any], fake: FakeServer) -> None:
    client = connect(app="shop", user_id="alice")
    await client.search_page("x", any_user=True)
    await client.search_page("x", any_user=True, app="")
    await client.search_page("x", any_app=True)
    scopes = [(request.WhichOneof("scope"), request.app.app) for request in fake.requests("SearchEvents")]
    assert scopes == [("app", "shop"), ("app", ""), ("user", "")]
    assert not fake.requests("SearchEvents")[-1].user.HasField("app")
    for wrong in ({"user_id": "bob"}, {"session": "s1"}, {"any_app": True}):
        with pytest.raises(ValueError, match="give either"):
            await client.search_page("x", any_user=True, **wrong)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"mode": "fuzzy"}, "mode must be one of"),
        ({"fields": ["body"]}, "fields must be one of"),
        ({"fields": "text"}, "fields must be several"),
        ({"grouping": "user"}, "grouping must be one of"),
        ({"recency": 3}, "recency must be Recency"),
        ({"neighbors": "2"}, "neighbors must be int"),
        ({"reference_time": datetime(2026, 5, 1)}, "reference_time must have a time zone"),  # noqa: DTZ001
        ({"neighbor": 2}, "no argument 'neighbor'; did you mean neighbors"),
    ],
)
async def test_options_that_no_request_could_hold(client: Any, fake: FakeServer, options: dict[str, Any], problem: str) -> None:
    with pytest.raises((TypeError, ValueError), match=problem):
        await client.search_page("x", **options)
    assert not fake.calls


async def test_a_search_continues_with_the_same_options(client: Any, fake: FakeServer) -> None:
    hit = rs.SearchHit(score=1.5)
    fake.answers["SearchEvents"] = [rs.SearchEventsResponse(hits=[hit], next_page_token="t"), rs.SearchEventsResponse()]
    assert [each.score async for each in client.search("x", mode="hybrid", neighbors=1)] == [1.5]
    first, second = fake.requests("SearchEvents")
    first.page_token = "t"
    assert first == second


async def test_memories_have_ids_that_retries_keep(client: Any, fake: FakeServer) -> None:
    answer = ms.AddMemoriesResponse(memories=[ms.AddedMemory(id="m", replayed=True)])
    fake.answers["AddMemories"] = [DOWN, answer]
    entry = threadkeep.memory_entry(
        "likes tea", author="alice", event_time=NOON, session_id="s1", event_id="e1", metadata={"kind": "taste"}
    )
    added = await client.memory().add("hates fog", entry, MemoryEntry(id="mine"))
    assert [(each.id, each.replayed) for each in added] == [("m", True)]
    first, second = fake.requests("AddMemories")
    assert first == second
    assert first.scope == threadkeep.MemoryScope(app="shop", user_id="alice")
    plain, reported, given = first.memories
    assert plain.content.parts[0].text == "hates fog"
    assert (len({plain.id, reported.id}), given.id, entry.id) == (2, "mine", "")
    assert (reported.author, reported.session_id, reported.event_id, reported.metadata_json) == (
        "alice",
        "s1",
        "e1",
        '{"kind":"taste"}',
    )
    assert reported.event_time.ToDatetime(UTC) == NOON


async def test_written_memories_have_ids_that_retries_keep_and_their_preconditions(client: Any, fake: FakeServer) -> None:
    fake.answers["UpsertMemories"] = [DOWN, ms.UpsertMemoriesResponse(memories=[ms.UpsertedMemory(etag="e2")])]
    entry = threadkeep.memory_entry("window", id="seat", namespace=["prefs", "travel"], ttl=timedelta(hours=1))
    done = await client.memory().upsert("plain", threadkeep.memory_write(entry, "e1"), if_exists="ignore")
    assert [each.etag for each in done] == ["e2"]
    first, second = fake.requests("UpsertMemories")
    assert first == second
    plain, written = first.writes
    assert (bool(plain.memory.id), plain.HasField("expected_etag"), first.if_exists) == (True, False, 2)
    assert (list(written.memory.namespace), written.memory.ttl.seconds) == (["prefs", "travel"], 3600)
    assert written.expected_etag == "e1"
    await client.memory().upsert(entry, expected_etag="")
    (only,) = fake.requests("UpsertMemories")[2].writes
    assert only.HasField("expected_etag")
    with pytest.raises(ValueError, match="expected_etag is of one entry"):
        await client.memory().upsert("a", "b", expected_etag="e1")
    with pytest.raises(TypeError, match="several labels"):
        threadkeep.memory_entry("a", namespace="prefs")


async def test_getting_memories_continues_after_those_that_did_not_fit(client: Any, fake: FakeServer) -> None:
    one, two = MemoryEntry(id="a"), MemoryEntry(id="c")
    fake.answers["GetMemories"] = [
        ms.GetMemoriesResponse(memories=[ms.MemoryLookup(entry=one), ms.MemoryLookup(), ms.MemoryLookup(omitted=True)]),
        ms.GetMemoriesResponse(memories=[ms.MemoryLookup(entry=two)]),
        ms.GetMemoriesResponse(memories=[ms.MemoryLookup()]),
    ]
    memory = client.memory()
    assert await memory.get_many(["a", "b", threadkeep.memory_name("c", ["n"])], refresh_ttl=True) == [one, None, two]
    first, second = fake.requests("GetMemories")
    assert ([each.id for each in first.names], list(second.names[0].namespace)) == (["a", "b", "c"], ["n"])
    assert (first.refresh_ttl, second.refresh_ttl) == (True, True)
    assert await memory.get("x") is None


async def test_namespaces_and_conditions_are_sent(client: Any, fake: FakeServer) -> None:
    label = threadkeep.v1.memory_pb2.MemoryNamespace(labels=["a", "b"])
    pages = [ms.ListMemoryNamespacesResponse(namespaces=[label], next_page_token="t"), ms.ListMemoryNamespacesResponse()]
    fake.answers["ListMemoryNamespaces"] = pages
    assert [each async for each in client.memory().namespaces(prefix=["a"], max_depth=2)] == [("a", "b")]
    assert [request.page_token for request in fake.requests("ListMemoryNamespaces")] == ["", "t"]
    chosen = [threadkeep.condition("age", "gte", 18), threadkeep.condition("kind", "in", ("x", "ä"))]
    await client.memory().search("q", conditions=chosen, namespace_prefix=["a"])
    (request,) = fake.requests("SearchMemory")
    sent = [(each.key, each.operator, each.value_json) for each in request.filter.conditions]
    assert sent == [("age", 4, "18"), ("kind", 7, '["x", "ä"]')]
    assert list(request.filter.namespace_prefix) == ["a"]
    for wrong in (lambda: threadkeep.condition("a", "$gt", 1), lambda: threadkeep.condition("a", "eq", float("nan"))):
        with pytest.raises(ValueError):
            wrong()


async def test_a_memory_is_of_one_user_and_app(client: Any, fake: FakeServer) -> None:
    memory = client.memory(user_id="bob", app="")
    await memory.add_session("s1", event_ids=["e1"], include_tools=True, metadata={"a": 1})
    await memory.add_session(SessionRef(session_id="bare"))
    sent, bare = fake.requests("AddSessionToMemory")
    assert sent.session == SessionRef(user_id="bob", session_id="s1")
    assert (list(sent.event_ids), sent.include_tools, sent.include_reasoning, sent.include_synthetic) == (
        ["e1"],
        True,
        False,
        False,
    )
    assert sent.metadata_json == '{"a":1}'
    assert bare.session == SessionRef(session_id="bare")
    for other in (SessionRef(app="shop", user_id="bob", session_id="s1"), SessionRef(user_id="alice", session_id="s1")):
        with pytest.raises(ValueError, match="the session is of app"):
            await memory.add_session(other)
    with pytest.raises(TypeError, match="several ids"):
        await memory.add_session("s1", event_ids="e1")


async def test_searching_memory(client: Any, fake: FakeServer) -> None:
    fake.answers["SearchMemory"] = [ms.SearchMemoryResponse(entries=[MemoryEntry(id="m1", score=0.5)], semantic_lag=2)]
    found = await client.memory().search(
        "tea?",
        mode="semantic",
        top_k=3,
        min_score=-1,
        recency=timedelta(hours=1),
        reference_time=NOON,
        session_ids=["s1"],
        authors=["alice"],
        from_time=NOON,
        metadata={"kind": "taste"},
    )
    assert ([each.id for each in found.entries], found.semantic_lag) == (["m1"], 2)
    (sent,) = fake.requests("SearchMemory")
    assert (sent.query, sent.mode, sent.top_k, sent.min_score) == ("tea?", SearchMode.SEARCH_MODE_SEMANTIC, 3, -1)
    assert (list(sent.filter.session_ids), list(sent.filter.authors)) == (["s1"], ["alice"])
    assert (dict(sent.filter.metadata), sent.filter.HasField("to_time")) == ({"kind": "taste"}, False)
    await client.memory().search("tea?")
    assert not fake.requests("SearchMemory")[1].HasField("filter")
    for wrong, problem in (
        ({"authors": "alice"}, "several"),
        ({"author": ["alice"]}, "no argument 'author'; did you mean authors"),
    ):
        with pytest.raises(TypeError, match=problem):
            await client.memory().search("x", **wrong)


async def test_listing_memory_follows_the_page_tokens(client: Any, fake: FakeServer) -> None:
    pages = [ms.ListMemoriesResponse(entries=[MemoryEntry(id="b")], next_page_token="t"), ms.ListMemoriesResponse()]
    fake.answers["ListMemories"] = pages
    assert [each.id async for each in client.memory().list(page_size=1, authors=["x"])] == ["b"]
    first, second = fake.requests("ListMemories")
    assert (first.page_token, second.page_token, list(second.filter.authors)) == ("", "t", ["x"])


async def test_deleting_memories_sends_the_selection(client: Any, fake: FakeServer) -> None:
    memory = client.memory()
    await memory.delete(["m1", "m2"])
    await memory.delete(session_id="s1")
    await memory.delete(all=True)
    assert [request.WhichOneof("selection") for request in fake.requests("DeleteMemories")] == ["ids", "session_id", "all"]
    await memory.delete([threadkeep.memory_name("m1", ["n"]), "m2"])
    await memory.delete(namespace=["n"])
    named, below = fake.requests("DeleteMemories")[3:]
    assert ([each.id for each in named.names.names], list(below.namespace.labels)) == (["m1", "m2"], ["n"])
    assert (await memory.delete([])).deleted == 0
    with pytest.raises(ValueError, match="must have a label"):
        await memory.delete(namespace=[])
    assert len(fake.requests("DeleteMemories")) == 5, "naming none must not become all"
    for wrong in ({}, {"all": True, "session_id": "s"}, {"ids": ["m"], "all": True}):
        with pytest.raises(ValueError, match="exactly one"):
            await memory.delete(**wrong)
    with pytest.raises(TypeError, match="several ids"):
        await memory.delete("m1")


async def test_tools(client: Any, fake: FakeServer) -> None:
    fake.answers["ListTools"] = [ts.ListToolsResponse(tools=[ts.ToolDefinition(name="load_memory", declared=True)])]
    fake.answers["CallTool"] = [ts.CallToolResponse(result_json="{}")]
    assert [tool.name for tool in await client.tools()] == ["load_memory"]
    assert (await client.call_tool("load_memory", {"query": "tea"})).result_json == "{}"
    await client.call_tool("conversation_search", ' {"query": 1}', session="s1")
    mine, reported = fake.requests("CallTool")
    assert (mine.session, mine.arguments_json) == (SessionRef(app="shop", user_id="alice"), '{"query":"tea"}')
    assert (reported.session.session_id, reported.arguments_json) == ("s1", ' {"query": 1}')


async def test_their_errors_are_typed(client: Any, fake: FakeServer) -> None:
    failed = grpc.StatusCode.FAILED_PRECONDITION
    fake.answers["SearchMemory"] = [
        Fail(failed, "MEMORY_NOT_CONFIGURED"),
        Fail(failed, "EMBEDDER_NOT_CONFIGURED", field="mode"),
    ]
    with pytest.raises(errors.MemoryNotConfigured):
        await client.memory().search("x")
    with pytest.raises(errors.EmbedderNotConfigured) as caught:
        await client.memory().search("x", mode="semantic")
    assert caught.value.field == "mode"
    conflict = Fail(grpc.StatusCode.ALREADY_EXISTS, "MEMORY_ID_CONFLICT", id="m1", field="memories[0].id")
    fake.answers["AddMemories"] = [conflict]
    with pytest.raises(errors.MemoryIdConflict) as conflicting:
        await client.memory().add("x")
    assert (conflicting.value.id, conflicting.value.field) == ("m1", "memories[0].id")
