"""Invalid searches, memories and tool calls: every field of every message with invalid values."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from threadkeep import user
from threadkeep.v1 import (
    memory_pb2,
    memory_service_pb2,
    message_pb2,
    search_pb2,
    search_service_pb2,
    session_pb2,
    tool_service_pb2,
)

from .requests import Wire, wire_on

RANKED, SEMANTIC, HYBRID, SUBSTRING = (
    search_pb2.SEARCH_MODE_RANKED,
    search_pb2.SEARCH_MODE_SEMANTIC,
    search_pb2.SEARCH_MODE_HYBRID,
    search_pb2.SEARCH_MODE_SUBSTRING,
)
LONG = "x" * 256
LATE = Timestamp(seconds=253_402_300_799)
DAY = {"half_life": Duration(seconds=86_400)}
SCOPE = {"app": "app", "user_id": "alice"}
TEXT: dict[str, Any] = {"role": 1, "parts": [{"text": "likes tea"}]}
BIG_JSON = json.dumps({"a": "x" * (256 << 10)})
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    data = tmp_path_factory.mktemp("data")
    with wire_on(request.param, request, data, embedder="hashing", max_batch_events=5, max_event_bytes=2000) as opened:
        yield opened


@pytest.fixture(scope="module")
def log(wire: Wire) -> session_pb2.SessionRef:
    name = wire.new_session()
    wire.append(name, *(user(f"tea {n}") for n in range(5)))
    return name


BAD_SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("mode", {"mode": 6}),
    ("mode", {"mode": -1}),
    ("query", {"mode": RANKED, "query": ""}),
    ("query", {"mode": SEMANTIC, "query": " \t\n"}),
    ("query", {"mode": HYBRID, "query": "x" * 1025}),
    ("query", {"mode": RANKED, "query": "", "filter": {"keyword": "tea"}}),
    ("page_size", {"mode": RANKED, "page_size": -1}),
    ("fields[0]", {"mode": RANKED, "fields": [0]}),
    ("fields[1]", {"mode": RANKED, "fields": [1, 5]}),
    ("fields", {"mode": SUBSTRING, "fields": [2]}),
    ("fields[0]", {"mode": SEMANTIC, "fields": [5]}),
    ("fields", {"mode": SUBSTRING, "fields": [1, 4]}),
    ("neighbors", {"neighbors": -1}),
    ("neighbors", {"neighbors": 11}),
    ("neighbors", {"mode": RANKED, "neighbors": -(1 << 31)}),
    ("neighbors", {"mode": RANKED, "neighbors": 11}),
    ("grouping", {"mode": RANKED, "grouping": 3}),
    ("grouping", {"grouping": 3}),
    ("grouping", {"mode": SUBSTRING, "grouping": 1}),
    ("distinct", {"mode": SUBSTRING, "distinct": True}),
    ("recency", {"mode": SUBSTRING, "recency": DAY}),
    ("recency.half_life", {"mode": RANKED, "recency": {}}),
    ("recency.half_life", {"mode": RANKED, "recency": {"half_life": Duration()}}),
    ("recency.half_life", {"mode": RANKED, "recency": {"half_life": Duration(seconds=-1)}}),
    ("recency.half_life", {"mode": RANKED, "recency": {"half_life": Duration(seconds=1, nanos=-1)}}),
    ("recency.half_life", {"mode": RANKED, "recency": {"half_life": Duration(nanos=1_000_000_000)}}),
    ("recency.half_life", {"mode": RANKED, "recency": {"half_life": Duration(seconds=1 << 60)}}),
    ("recency.weight", {"mode": RANKED, "recency": DAY | {"weight": -0.1}}),
    ("recency.weight", {"mode": HYBRID, "recency": DAY | {"weight": 100.5}}),
    ("recency.weight", {"mode": RANKED, "recency": DAY | {"weight": NAN}}),
    ("recency.weight", {"mode": RANKED, "recency": DAY | {"weight": INF}}),
    ("min_score", {"min_score": -0.5}),
    ("min_score", {"mode": SUBSTRING, "min_score": 1.5}),
    ("min_score", {"mode": RANKED, "min_score": 1.01}),
    ("min_score", {"mode": HYBRID, "min_score": -0.5}),
    ("min_score", {"mode": SEMANTIC, "min_score": 1.5}),
    ("min_score", {"mode": SEMANTIC, "min_score": -1.01}),
    ("min_score", {"mode": SEMANTIC, "min_score": NAN}),
    ("reference_time", {"mode": SUBSTRING, "reference_time": Timestamp()}),
    ("reference_time", {"mode": RANKED, "reference_time": LATE}),
    ("reference_time.nanos", {"mode": RANKED, "reference_time": Timestamp(nanos=-1)}),
    ("filter.last_n", {"mode": RANKED, "filter": {"last_n": 3}}),
    ("filter.page", {"mode": RANKED, "filter": {"page": {"page_size": 3}}}),
    ("filter.roles[0]", {"mode": RANKED, "filter": {"roles": [9]}}),
]


@pytest.mark.parametrize(("field", "wrong"), BAD_SEARCHES, ids=[f"{n}-{field}" for n, (field, _) in enumerate(BAD_SEARCHES)])
def test_invalid_searches_are_rejected(wire: Wire, log: session_pb2.SessionRef, field: str, wrong: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"session": log, "query": "tea"} | wrong
    refusal = wire.invalid(field, "SearchEvents", search_service_pb2.SearchEventsRequest(**fields))
    if (
        wrong.get("mode") == SUBSTRING
        and field in {"recency", "reference_time", "min_score", "grouping", "distinct"}
        and wrong != {"grouping": 3}
    ):
        assert "SEARCH_MODE_SUBSTRING" in refusal.message


@pytest.mark.parametrize("mode", [SUBSTRING, RANKED, SEMANTIC, HYBRID])
def test_invalid_scopes_are_rejected(wire: Wire, mode: int) -> None:
    wire.invalid("scope", "SearchEvents", query="x", mode=mode)
    wire.invalid("user.user_id", "SearchEvents", query="x", mode=mode, user={})
    wire.invalid("user.user_id", "SearchEvents", query="x", mode=mode, user={"user_id": LONG})
    wire.invalid("user.app", "SearchEvents", query="x", mode=mode, user={"user_id": "alice", "app": LONG})
    wire.invalid("app.app", "SearchEvents", query="x", mode=mode, app={"app": LONG})
    wire.invalid("session.session_id", "SearchEvents", query="x", mode=mode, session={})
    assert wire.refused("SearchEvents", query="x", mode=mode, session={"session_id": "none"}).reason == "SESSION_NOT_FOUND"


def test_invalid_page_tokens_of_ranked_searches_are_rejected(wire: Wire, log: session_pb2.SessionRef) -> None:
    ranked: dict[str, Any] = {"session": log, "query": "tea", "mode": RANKED, "page_size": 2}
    token = wire.call("SearchEvents", **ranked).next_page_token
    plain = wire.call("SearchEvents", session=log, query="tea", page_size=2).next_page_token
    assert wire.call("SearchEvents", **(ranked | {"page_size": 3}), page_token=token).hits, "the size of a page may change"
    forged = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[:-8] + (-1).to_bytes(8, "big", signed=True)
    for wrong in (
        ranked | {"page_token": "nonsense"},
        ranked | {"page_token": plain},
        ranked | {"page_token": token, "query": "tea?"},
        ranked | {"page_token": token, "neighbors": 1},
        ranked | {"page_token": base64.urlsafe_b64encode(forged).decode().rstrip("=")},
        {"session": log, "query": "tea", "page_token": token},
    ):
        refusal = wire.refused("SearchEvents", **wrong)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PAGE_TOKEN")


BAD_SCOPES: list[tuple[str, dict[str, Any]]] = [
    ("scope", {}),
    ("scope.user_id", {"scope": {}}),
    ("scope.user_id", {"scope": {"app": "app"}}),
    ("scope.user_id", {"scope": {"user_id": " "}}),
    ("scope.user_id", {"scope": {"user_id": LONG}}),
    ("scope.user_id", {"scope": {"user_id": "a\nb"}}),
    ("scope.app", {"scope": {"app": LONG, "user_id": "alice"}}),
]


@pytest.mark.parametrize(("field", "wrong"), BAD_SCOPES, ids=[f"{n}-{field}" for n, (field, _) in enumerate(BAD_SCOPES)])
def test_invalid_memory_scopes_are_rejected(wire: Wire, field: str, wrong: dict[str, Any]) -> None:
    wire.invalid(field, "AddMemories", memories=[{"content": TEXT}], **wrong)
    wire.invalid(field, "SearchMemory", query="tea", **wrong)
    wire.invalid(field, "ListMemories", **wrong)
    wire.invalid(field, "DeleteMemories", all=True, **wrong)


BAD_ENTRIES: list[tuple[str, dict[str, Any]]] = [
    ("content", {}),
    ("content.role", {"content": {"parts": TEXT["parts"]}}),
    ("content.role", {"content": TEXT | {"role": 9}}),
    ("content", {"content": {"role": 1}}),
    ("content", {"content": {"role": 1, "parts": [{"text": " \n"}]}}),
    ("content", {"content": {"role": 2, "parts": [{"tool_call": {"id": "c", "name": "n"}}]}}),
    ("id", {"content": TEXT, "id": LONG}),
    ("id", {"content": TEXT, "id": "a\0"}),
    ("author", {"content": TEXT, "author": LONG}),
    ("session_id", {"content": TEXT, "session_id": LONG}),
    ("event_id", {"content": TEXT, "event_id": LONG}),
    ("event_time", {"content": TEXT, "event_time": LATE}),
    ("event_time.nanos", {"content": TEXT, "event_time": Timestamp(nanos=-1)}),
    ("metadata_json", {"content": TEXT, "metadata_json": "[1]"}),
    ("metadata_json", {"content": TEXT, "metadata_json": "{"}),
    ("metadata_json", {"content": TEXT, "metadata_json": BIG_JSON}),
    ("metadata_json", {"content": TEXT, "metadata_json": '{"a": 1e400}'}),
    ("metadata_json", {"content": TEXT, "metadata_json": '{"a": ["\\ud800"]}'}),
]


@pytest.mark.parametrize(("field", "wrong"), BAD_ENTRIES, ids=[f"{n}-{field}" for n, (field, _) in enumerate(BAD_ENTRIES)])
def test_a_batch_of_memories_with_an_invalid_entry_adds_none(wire: Wire, field: str, wrong: dict[str, Any]) -> None:
    good = memory_pb2.MemoryEntry(content=message_pb2.ChatMessage(**TEXT))
    wire.invalid(f"memories[1].{field}", "AddMemories", scope=SCOPE, memories=[good, wrong])
    assert not wire.call("ListMemories", scope=SCOPE).entries


def test_invalid_batches_of_memories_are_rejected(wire: Wire) -> None:
    entry = {"content": TEXT}
    wire.invalid("memories", "AddMemories", scope=SCOPE)
    wire.invalid("memories[2].id", "AddMemories", scope=SCOPE, memories=[entry | {"id": "a"}, entry, entry | {"id": "a"}])
    many = wire.refused("AddMemories", scope=SCOPE, memories=[{}] * 6)  # their number is checked before they are read
    assert (many.reason, many.metadata["field"], many.metadata["limit"]) == ("BATCH_TOO_LARGE", "memories", "5")
    large = entry | {"content": {"role": 1, "parts": [{"text": "x" * 2000}]}}
    refusal = wire.refused("AddMemories", scope=SCOPE, memories=[entry, large])
    assert (refusal.reason, refusal.metadata["field"]) == ("EVENT_TOO_LARGE", "memories[1]")
    nested: dict[str, Any] = {"text": "deep"}
    for _ in range(9):
        nested = {"tool_result": {"call_id": "c", "parts": [nested]}}
    deep = {"content": {"role": 1, "parts": [*TEXT["parts"], nested]}}
    wire.invalid("memories[0].content.parts", "AddMemories", scope=SCOPE, memories=[deep])
    assert not wire.call("ListMemories", scope=SCOPE).entries


BAD_MEMORY_FILTERS: list[tuple[str, dict[str, Any]]] = [
    ("session_ids[1]", {"session_ids": ["a", LONG]}),
    ("session_ids", {"session_ids": ["a"] * 1001}),
    ("authors[0]", {"authors": ["a\n"]}),
    ("from_time", {"from_time": LATE}),
    ("to_time.nanos", {"to_time": Timestamp(nanos=-1)}),
    ("metadata", {"metadata": {f"k{n}": "v" for n in range(17)}}),
    ("metadata key", {"metadata": {"": "v"}}),
    ("metadata key", {"metadata": {LONG: "v"}}),
    ("metadata['k']", {"metadata": {"k": "x" * 1025}}),
    ("metadata['k']", {"metadata": {"k": "a\0b"}}),
    ("namespace_prefix", {"namespace_prefix": ["a"] * 17}),
    ("namespace_prefix[1]", {"namespace_prefix": ["a", ""]}),
    ("namespace_prefix[0]", {"namespace_prefix": ["a\x1fb"]}),
    ("namespace_prefix[0]", {"namespace_prefix": [LONG]}),
    ("namespace_prefix", {"namespace_prefix": ["x" * 255] * 5}),
    ("conditions", {"conditions": [{"key": "k", "value_json": "1"}] * 17}),
    ("conditions[0].key", {"conditions": [{"value_json": "1"}]}),
    ("conditions[0].operator", {"conditions": [{"key": "k", "operator": 8, "value_json": "1"}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k"}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "value_json": "{"}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "value_json": '1, "x": 2'}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "value_json": "1e400"}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "value_json": '"\\ud800"'}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "value_json": f'"{"x" * 4095}"'}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "value_json": "[" * 18 + "]" * 18}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "operator": 3, "value_json": "true"}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "operator": 5, "value_json": "null"}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "operator": 7, "value_json": "[]"}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "operator": 7, "value_json": "1"}]}),
    ("conditions[0].value_json", {"conditions": [{"key": "k", "operator": 7, "value_json": str([1] * 101)}]}),
]


@pytest.mark.parametrize(
    ("field", "wrong"), BAD_MEMORY_FILTERS, ids=[f"{n}-{f}" for n, (f, _) in enumerate(BAD_MEMORY_FILTERS)]
)
def test_invalid_memory_filters_are_rejected(wire: Wire, field: str, wrong: dict[str, Any]) -> None:
    wire.invalid(f"filter.{field}", "ListMemories", scope=SCOPE, filter=wrong)
    wire.invalid(f"filter.{field}", "SearchMemory", scope=SCOPE, query="tea", filter=wrong)


BAD_MEMORY_SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("mode", {"mode": 6}),
    ("query", {"query": "x" * 1025}),
    ("top_k", {"top_k": -1}),
    ("min_score", {"min_score": -0.1}),
    ("min_score", {"mode": RANKED, "min_score": 1.1}),
    ("min_score", {"mode": SUBSTRING, "min_score": -0.1}),
    ("min_score", {"mode": SEMANTIC, "min_score": NAN}),
    ("min_score", {"mode": SEMANTIC, "min_score": 2.0}),
    ("recency", {"mode": SUBSTRING, "recency": DAY}),
    ("recency.half_life", {"recency": {"weight": 1}}),
    ("recency.weight", {"recency": DAY | {"weight": 101}}),
    ("reference_time", {"mode": SUBSTRING, "reference_time": Timestamp()}),
    ("reference_time", {"reference_time": LATE}),
]


@pytest.mark.parametrize(
    ("field", "wrong"), BAD_MEMORY_SEARCHES, ids=[f"{n}-{f}" for n, (f, _) in enumerate(BAD_MEMORY_SEARCHES)]
)
def test_invalid_memory_searches_are_rejected(wire: Wire, field: str, wrong: dict[str, Any]) -> None:
    fields = {"scope": SCOPE, "query": "tea"} | wrong
    wire.invalid(field, "SearchMemory", memory_service_pb2.SearchMemoryRequest(**fields))


def test_invalid_lists_of_memories_are_rejected(wire: Wire) -> None:
    wire.invalid("page_size", "ListMemories", scope=SCOPE, page_size=-1)
    for n in range(3):
        wire.call("AddMemories", scope=SCOPE | {"user_id": "lister"}, memories=[{"id": f"m{n}", "content": TEXT}])
    listed: dict[str, Any] = {"scope": SCOPE | {"user_id": "lister"}, "page_size": 2}
    token = wire.call("ListMemories", **listed).next_page_token
    for wrong in (
        listed | {"page_token": "x"},
        listed | {"page_token": token, "scope": SCOPE},
        listed | {"page_token": token, "filter": {"authors": ["a"]}},
    ):
        assert wire.refused("ListMemories", **wrong).reason == "INVALID_PAGE_TOKEN"
    assert [entry.id for entry in wire.call("ListMemories", **listed, page_token=token).entries] == ["m0"]


BAD_DELETIONS: list[tuple[str, dict[str, Any]]] = [
    ("selection", {}),
    ("all", {"all": False}),
    ("ids.ids", {"ids": {}}),
    ("ids.ids", {"ids": {"ids": ["a"] * 1001}}),
    ("ids.ids[1]", {"ids": {"ids": ["a", ""]}}),
    ("ids.ids[0]", {"ids": {"ids": [LONG]}}),
    ("session_id", {"session_id": ""}),
    ("session_id", {"session_id": LONG}),
    ("names.names", {"names": {}}),
    ("names.names", {"names": {"names": [{"id": "a"}] * 1001}}),
    ("names.names[0].id", {"names": {"names": [{"namespace": ["a"]}]}}),
    ("names.names[0].namespace[0]", {"names": {"names": [{"namespace": [""], "id": "a"}]}}),
    ("namespace.labels", {"namespace": {}}),
    ("namespace.labels[0]", {"namespace": {"labels": ["a\n"]}}),
]


@pytest.mark.parametrize(("field", "wrong"), BAD_DELETIONS, ids=[f"{n}-{field}" for n, (field, _) in enumerate(BAD_DELETIONS)])
def test_deleting_memories_requires_a_selection(wire: Wire, field: str, wrong: dict[str, Any]) -> None:
    scope = SCOPE | {"user_id": "keeper"}
    wire.call("AddMemories", scope=scope, memories=[{"id": "kept", "content": TEXT}])
    wire.invalid(field, "DeleteMemories", scope=scope, **wrong)
    assert [entry.id for entry in wire.call("ListMemories", scope=scope).entries] == ["kept"]


BAD_WRITES: list[tuple[str, dict[str, Any]]] = [
    ("scope", {"scope": None}),
    ("if_exists", {"if_exists": 3}),
    ("writes", {"writes": []}),
    ("writes[0].memory", {"writes": [{}]}),
    ("writes[0].memory.content", {"writes": [{"memory": {"id": "a"}}]}),
    ("writes[0].memory.namespace[1]", {"writes": [{"memory": {"content": TEXT, "namespace": ["a", "b\x7f"]}}]}),
    ("writes[0].memory.ttl", {"writes": [{"memory": {"content": TEXT, "ttl": {"seconds": 0}}}]}),
    ("writes[0].memory.ttl", {"writes": [{"memory": {"content": TEXT, "ttl": {"seconds": 10**10}}}]}),
    ("writes[0].expected_etag", {"writes": [{"memory": {"content": TEXT}, "expected_etag": LONG}]}),
    ("writes[1].memory.id", {"writes": [{"memory": {"id": "a", "content": TEXT, "namespace": ["n"]}}] * 2}),
]


@pytest.mark.parametrize(("field", "wrong"), BAD_WRITES, ids=[f"{n}-{field}" for n, (field, _) in enumerate(BAD_WRITES)])
def test_invalid_writes_of_memories_are_rejected(wire: Wire, field: str, wrong: dict[str, Any]) -> None:
    scope = SCOPE | {"user_id": "writer"}
    fields = {"scope": scope, "writes": [{"memory": {"content": TEXT}}]} | wrong
    wire.invalid(field, "UpsertMemories", **{name: value for name, value in fields.items() if value is not None})
    assert not wire.call("ListMemories", scope=scope).entries


def test_invalid_gets_and_lists_of_namespaces_are_rejected(wire: Wire) -> None:
    wire.invalid("names", "GetMemories", scope=SCOPE)
    wire.invalid("names", "GetMemories", scope=SCOPE, names=[{"id": "a"}] * 1001)
    wire.invalid("names[1].id", "GetMemories", scope=SCOPE, names=[{"id": "a"}, {}])
    wire.invalid("scope", "GetMemories", names=[{"id": "a"}])
    wire.invalid("max_depth", "ListMemoryNamespaces", scope=SCOPE, max_depth=17)
    wire.invalid("max_depth", "ListMemoryNamespaces", scope=SCOPE, max_depth=-1)
    wire.invalid("prefix[0]", "ListMemoryNamespaces", scope=SCOPE, prefix=[""])
    wire.invalid("suffix", "ListMemoryNamespaces", scope=SCOPE, suffix=["a"] * 17)
    wire.invalid("page_size", "ListMemoryNamespaces", scope=SCOPE, page_size=-1)
    scope = SCOPE | {"user_id": "namer"}
    entries = [{"memory": {"content": TEXT, "namespace": [label]}} for label in "abc"]
    wire.call("UpsertMemories", scope=scope, writes=entries)
    token = wire.call("ListMemoryNamespaces", scope=scope, page_size=2).next_page_token
    for wrong in ({"page_token": "x"}, {"page_token": token, "prefix": ["a"]}, {"page_token": token, "max_depth": 1}):
        assert wire.refused("ListMemoryNamespaces", scope=scope, **wrong).reason == "INVALID_PAGE_TOKEN"
    rest = wire.call("ListMemoryNamespaces", scope=scope, page_token=token)
    assert [list(each.labels) for each in rest.namespaces] == [["c"]]


def test_invalid_ingestions_are_rejected(wire: Wire, log: session_pb2.SessionRef) -> None:
    wire.invalid("session.session_id", "AddSessionToMemory")
    wire.invalid("session.session_id", "AddSessionToMemory", session={"session_id": LONG})
    wire.invalid("event_ids[0]", "AddSessionToMemory", session=log, event_ids=[""])
    wire.invalid("event_ids", "AddSessionToMemory", session=log, event_ids=["a"] * 1001)
    for metadata in ("1", '{"a": -1e400}', '{"\\udc00": 1}'):
        wire.invalid("metadata_json", "AddSessionToMemory", session=log, metadata_json=metadata)
    assert wire.refused("AddSessionToMemory", session=log, event_ids=["none"]).reason == "EVENT_NOT_FOUND"
    assert wire.refused("AddSessionToMemory", session={"session_id": "none"}).reason == "SESSION_NOT_FOUND"
    assert not wire.call("ListMemories", scope={"app": log.app, "user_id": log.user_id}).entries


def test_invalid_tool_calls_are_rejected(wire: Wire, log: session_pb2.SessionRef) -> None:
    wire.invalid("session.user_id", "CallTool", name="load_memory", arguments_json='{"query": "tea"}')
    wire.invalid("name", "CallTool", session=log)
    wire.invalid("name", "CallTool", session=log, name="no_such_tool")
    wire.invalid("name", "CallTool", session=log, name=LONG)
    wire.invalid("arguments_json", "CallTool", session=log, name="load_memory", arguments_json=BIG_JSON)
    wire.invalid("session.user_id", "CallTool", session={"app": "app"}, name="load_memory", arguments_json='{"query": "tea"}')
    wire.invalid("session.session_id", "CallTool", session=SCOPE | {"session_id": LONG}, name="conversation_search")
    for arguments in ("", "{", "[]", '{"query": 7}', '{"query": "tea", "unknown": 1}', "nul\0"):
        answer = wire.call("CallTool", session=log, name="load_memory", arguments_json=arguments)
        assert answer.is_error, f"what the model got wrong is the model's to hear: {arguments!r}"
        assert isinstance(json.loads(answer.result_json), dict)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("SearchEvents", search_service_pb2.SearchEventsRequest(query="x").SerializeToString()[:-1]),
        ("AddMemories", b"\xff\xff\xff"),
        ("CallTool", tool_service_pb2.CallToolRequest(name="x").SerializeToString()[:-1]),
    ],
)
def test_broken_encodings_are_rejected(wire: Wire, name: str, raw: bytes) -> None:
    wire.invalid("request", name, raw)
