"""Invalid reads and searches are rejected; text that looks like syntax is matched as text."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from threadkeep import event_filter, text_of, user
from threadkeep.v1 import filter_pb2, session_pb2

from . import requests
from .requests import Wire, wire_on


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wire_on(request.param, request, tmp_path_factory.mktemp("data")) as opened:
        yield opened


@pytest.fixture(scope="module")
def log(wire: Wire) -> session_pb2.SessionRef:
    """A session of thirty events, which no test changes."""
    name = wire.new_session()
    wire.append(name, *(user(f"text {n}", event_id=f"e{n}") for n in range(30)))
    return name


LATE = Timestamp(seconds=253_402_300_799)
BAD_FILTERS = [
    ({"last_n": 0}, "last_n"),
    ({"last_n": -5}, "last_n"),
    ({"page": {}}, "page.page_size"),
    ({"page": {"page": 1}}, "page.page_size"),
    ({"page": {"page": -1, "page_size": 5}}, "page.page"),
    ({"page": {"page_size": -1}}, "page.page_size"),
    ({"roles": [1, 99]}, "roles[1]"),
    ({"roles": [0]}, "roles[0]"),
    ({"view": 9}, "view"),
    ({"branch_match": 9}, "branch_match"),
    ({"keyword_match": 9, "keywords": ["a"]}, "keyword_match"),
    ({"keyword": "x" * 1025}, "keyword"),
    ({"keywords": ["a", "x" * 1025]}, "keywords[1]"),
    ({"keywords": ["a"] * 65}, "keywords"),
    ({"branch": "a..b"}, "branch"),
    ({"branch": "x" * 1025}, "branch"),
    ({"from_time": LATE}, "from_time"),
    ({"to_time": {"nanos": -1}}, "to_time.nanos"),
    ({"author_filters": [{}]}, "author_filters[0]"),
    ({"author_filters": [{"include": {"ids": ["a"]}}, {"exclude": {}}]}, "author_filters[1].exclude"),
    ({"author_filters": [{"include": {"ids": [""]}}]}, "author_filters[0].include.ids"),
]


@pytest.mark.parametrize(("wanted", "field"), BAD_FILTERS, ids=[field for _, field in BAD_FILTERS])
def test_invalid_filters_are_rejected(wire: Wire, log: session_pb2.SessionRef, wanted: dict[str, Any], field: str) -> None:
    wire.invalid(f"filter.{field}", "ListEvents", session=log, filter=wanted)
    wire.invalid(f"filter.{field}", "SearchEvents", session=log, query="text", filter=wanted)


def test_two_windows_are_rejected(wire: Wire, log: session_pb2.SessionRef) -> None:
    """The message can contain only one window, so the last one counts; page_size is a second one."""
    wire.invalid("page_size", "ListEvents", session=log, filter={"last_n": 5}, page_size=5)
    wire.invalid("page_size", "ListEvents", session=log, filter={"page": {"page_size": 5}}, page_size=5)
    wire.invalid("page_size", "SearchEvents", session=log, query="text", filter={"page": {"page_size": 5}}, page_size=5)
    wire.invalid("filter.last_n", "SearchEvents", session=log, query="text", filter={"last_n": 5})
    wire.invalid("page_size", "ListEvents", session=log, filter={"exact_last_n": 5}, page_size=5)
    wire.invalid("filter.exact_last_n", "ListEvents", session=log, filter={"exact_last_n": 0})
    wire.invalid("filter.exact_last_n", "SearchEvents", session=log, query="text", filter={"exact_last_n": 5})
    with pytest.raises(ValueError, match="at most one window"):
        event_filter(last_n=1, page=0, page_size=1)


def test_invalid_page_sizes_are_rejected(wire: Wire, log: session_pb2.SessionRef) -> None:
    for method, fields in (("ListEvents", {}), ("SearchEvents", {"query": "text"})):
        wire.invalid("page_size", method, session=log, page_size=-1, **fields)
        wire.invalid("page_size", method, session=log, page_size=-(1 << 31), **fields)
        answer = wire.call(method, session=log, page_size=(1 << 31) - 1, **fields)
        assert len(answer.events if method == "ListEvents" else answer.hits) == 30


def test_invalid_orders_modes_and_scopes_are_rejected(wire: Wire, log: session_pb2.SessionRef) -> None:
    wire.invalid("order", "ListEvents", session=log, order=9)
    wire.invalid("mode", "SearchEvents", session=log, query="x", mode=9)
    wire.invalid("scope", "SearchEvents", query="x")
    wire.invalid("user.user_id", "SearchEvents", query="x", user={})
    wire.invalid("user.user_id", "SearchEvents", query="x", user={"user_id": "x" * 256})
    wire.invalid("user.app", "SearchEvents", query="x", user={"user_id": "alice", "app": "x" * 256})


def test_invalid_queries_are_rejected(wire: Wire, log: session_pb2.SessionRef) -> None:
    for blank in ("", " ", "\t\n"):
        wire.invalid("query", "SearchEvents", session=log, query=blank)
    wire.invalid("query", "SearchEvents", session=log, query="x" * 1025)
    both = filter_pb2.EventFilter(keyword="a", keywords=["b"])
    wire.invalid("query", "SearchEvents", session=log, query='"x"', filter=both)
    assert not wire.call("SearchEvents", session=log, query="\U0001f600" * 1024).hits


GARBAGE = ["x", "!!!", "é", "AAAA", base64.urlsafe_b64encode(bytes(40)).decode(), "x" * 100_000, "\x00"]


@pytest.mark.parametrize("token", GARBAGE, ids=range(len(GARBAGE)))
def test_a_malformed_page_token_is_rejected(wire: Wire, log: session_pb2.SessionRef, token: str) -> None:
    for method, fields in (
        ("ListEvents", {"session": log}),
        ("SearchEvents", {"session": log, "query": "text"}),
        ("ListSessions", {}),
    ):
        _refused_token(wire, method, **fields, page_token=token)


def _refused_token(wire: Wire, method: str, **fields: Any) -> None:
    refusal = wire.refused(method, **fields)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PAGE_TOKEN")
    assert refusal.metadata["field"] == "page_token"
    assert refusal.violations == ["page_token"]


def test_a_page_token_of_another_request_is_rejected(wire: Wire, log: session_pb2.SessionRef) -> None:
    other = wire.new_session()
    listed: dict[str, Any] = {"session": log, "filter": {"keyword": "text"}, "page_size": 10}
    token = wire.call("ListEvents", **listed).next_page_token
    for change in (
        {"filter": {"keyword": "tex"}},
        {"filter": None},
        {"filter": {"keyword": "text", "exclude_synthetic": True}},
        {"session": other},
        {"order": 2},
    ):
        _refused_token(wire, "ListEvents", **(listed | change), page_token=token)
    _refused_token(wire, "SearchEvents", session=log, query="text", page_token=token)
    searched: dict[str, Any] = {"session": log, "query": "text"}
    found = wire.call("SearchEvents", **searched).next_page_token
    for changed in ({"query": "tex"}, {"session": other}, {"filter": {"exclude_synthetic": True}}):
        _refused_token(wire, "SearchEvents", **(searched | changed), page_token=found)
    tampered = token[:-2] + ("AA" if token[-2:] != "AA" else "BB")
    _refused_token(wire, "ListEvents", **(listed | {"session": other}), page_token=tampered)
    second = wire.call("ListEvents", **(listed | {"page_size": 5}), page_token=token)
    assert [event.seq for event in second.events] == list(range(11, 16)), "the size of a page may change"


def test_a_page_token_of_another_store_is_rejected(
    wire: Wire, log: session_pb2.SessionRef, tmp_path_factory: pytest.TempPathFactory
) -> None:
    token = wire.call("ListEvents", session=log, page_size=10).next_page_token
    with requests.wire(tmp_path_factory.mktemp("other")) as elsewhere:
        elsewhere.call("CreateSession", session=log)
        elsewhere.append(log, *(user(f"text {n}") for n in range(30)))
        _refused_token(elsewhere, "ListEvents", session=log, page_size=10, page_token=token)


TEXTS = [
    "100% wool",
    "1000 wool",
    "under_score",
    "underXscore",
    "back\\slash",
    "it's 'quoted'",
    'say "cheese"',
    "'; DROP TABLE events; --",
    "a AND b OR NOT c NEAR(d)",
    "star* (paren) [brack] {brace} ^caret $1 .dot",
    "line\nbreak\ttab",
    "nul\x00inside",
    "smile \U0001f600\u200d\U0001f525",
    "cafe\u0301",
    "caf\u00e9",
    "\u00c4PFEL",
    "東京都に行く",
    "\u0130stanbul",
]
QUERIES = [
    ("%", ["100% wool"]),
    ("0% w", ["100% wool"]),
    ("_", ["under_score"]),
    ("r_s", ["under_score"]),
    ("\\", ["back\\slash"]),
    ("k\\s", ["back\\slash"]),
    ("'", ["it's 'quoted'", "'; DROP TABLE events; --"]),
    ("t's 'q", ["it's 'quoted'"]),
    ('"', ['say "cheese"']),
    ('"cheese"', ['say "cheese"']),
    ("'; drop table", ["'; DROP TABLE events; --"]),
    ("--", ["'; DROP TABLE events; --"]),
    ("NOT c NEAR(", ["a AND b OR NOT c NEAR(d)"]),
    ("AND", ["a AND b OR NOT c NEAR(d)"]),
    ("r* (", ["star* (paren) [brack] {brace} ^caret $1 .dot"]),
    ("^caret $1 .", ["star* (paren) [brack] {brace} ^caret $1 .dot"]),
    ("e\nb", ["line\nbreak\ttab"]),
    ("k\tt", ["line\nbreak\ttab"]),
    ("l\x00i", ["nul\x00inside"]),
    ("\x00", ["nul\x00inside"]),
    ("\U0001f600", ["smile \U0001f600\u200d\U0001f525"]),
    ("\U0001f600\u200d\U0001f525", ["smile \U0001f600\u200d\U0001f525"]),
    ("cafe\u0301", ["cafe\u0301"]),
    ("\u00e9", ["caf\u00e9"]),
    ("\u0301", ["cafe\u0301"]),
    ("\u00e4pfel", ["\u00c4PFEL"]),
    ("京", ["東京都に行く"]),
    ("都に行", ["東京都に行く"]),
    ("%%", []),
    ("a%b", []),
    ("100_", []),
]


@pytest.mark.parametrize(("query", "found"), QUERIES, ids=[ascii(query) for query, _ in QUERIES])
def test_query_syntax_is_matched_as_text(wire: Wire, syntax: session_pb2.SessionRef, query: str, found: list[str]) -> None:
    literally: dict[str, Any] = {"query": query, "mode": "SEARCH_MODE_SUBSTRING", "page_size": 100}
    in_session = wire.call("SearchEvents", session=syntax, **literally)
    of_user = wire.call("SearchEvents", user={"user_id": "syntax"}, **literally)
    listed = wire.call("ListEvents", session=syntax, filter={"keyword": query})
    any_of = wire.call("ListEvents", session=syntax, filter={"keywords": [query, "in no text"]})
    assert [text_of(hit.event) for hit in in_session.hits] == found
    assert sorted(text_of(hit.event) for hit in of_user.hits) == sorted(found)
    assert [text_of(event) for event in listed.events] == [text_of(event) for event in any_of.events] == found


@pytest.fixture(scope="module")
def syntax(wire: Wire) -> session_pb2.SessionRef:
    name = session_pb2.SessionRef(app="app", user_id="syntax", session_id="%_'\"\\")
    wire.call("CreateSession", session=name)
    wire.append(name, *map(user, TEXTS))
    return name


def test_names_with_pattern_characters_match_only_themselves(wire: Wire) -> None:
    """Ids, authors, branches and labels are compared exactly, including special characters."""
    for user_id in ("a%", "ab", "a_", "A%"):
        name = session_pb2.SessionRef(app="patterns", user_id=user_id, session_id="s%")
        wire.call("CreateSession", session=name, labels={"k": user_id})
        wire.append(name, user("said", author=user_id, branch=user_id), user("unsaid", author="x" + user_id))
    for user_id in ("a%", "a_", "A%"):
        assert len(wire.call("ListSessions", user_id=user_id, app="patterns").sessions) == 1
        assert len(wire.call("ListSessions", labels={"k": user_id}, app="patterns").sessions) == 1
        hits = wire.call("SearchEvents", user={"user_id": user_id}, query="said").hits
        assert {hit.session.user_id for hit in hits} == {user_id}
        name = session_pb2.SessionRef(app="patterns", user_id=user_id, session_id="s%")
        by_author = {"author_filters": [{"include": {"ids": [user_id]}}]}
        for wanted in (by_author, {"branch": user_id, "after_seq": 0, "before_seq": 2}):
            assert [text_of(event) for event in wire.call("ListEvents", session=name, filter=wanted).events] == ["said"]


@pytest.mark.parametrize(
    ("method", "fields", "field"),
    [
        ("ListBranches", {"page_size": -1}, "page_size"),
        ("ListUsage", {"page_size": -1}, "page_size"),
        ("ListUsage", {"branch": "a..b"}, "branch"),
    ],
)
def test_bad_requests_for_branches_and_usage_are_rejected(
    wire: Wire, log: session_pb2.SessionRef, method: str, fields: dict[str, Any], field: str
) -> None:
    wire.invalid(field, method, session=log, **fields)
    refusal = wire.refused(method, session=log, page_token="x")
    assert (refusal.reason, refusal.violations) == ("INVALID_PAGE_TOKEN", ["page_token"])
