"""WatchSession and WatchAll with invalid fields, manipulated tokens, and more streams than the quota."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.message_factory import GetMessageClass

from threadkeep import user
from threadkeep.v1 import session_pb2
from threadkeep.v1 import subscription_pb2 as pb

from .streams import METHODS, Streams, path_of, streams_on

NAME = {"app": "app", "user_id": "alice", "session_id": "s"}
SESSION, ALL = "WatchSession", "WatchAll"
MANY_LABELS = {f"k{n}": "v" for n in range(10_000)}
LONG = "x" * 256


@pytest.fixture(scope="module")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    with streams_on("sqlite", request, tmp_path_factory.mktemp("data")) as opened:
        opened.append(session_pb2.SessionRef(**NAME), *(user(f"text {n}") for n in range(3)), create_if_missing={})
        yield opened
        opened.holds_nothing()


def authors(number: int, length: int = 12) -> dict[str, Any]:
    return {"author_filters": [{"include": {"ids": [f"{n:0{length}}" for n in range(number)]}}]}


SCOPES: list[tuple[dict[str, Any], str]] = [
    ({"user_id": LONG}, "scope.user_id"),
    ({"user_id": "ä" * 128}, "scope.user_id"),
    ({"user_id": " "}, "scope.user_id"),
    ({"user_id": "\u2003"}, "scope.user_id"),
    ({"user_id": "a\0b"}, "scope.user_id"),
    ({"app": LONG}, "scope.app"),
    ({"app": "a\nb"}, "scope.app"),
    ({"app": "\x85"}, "scope.app"),
    ({"labels": MANY_LABELS}, "scope.labels"),
    ({"labels": {f"k{n}": "v" for n in range(65)}}, "scope.labels"),
    ({"labels": {"": "v"}}, "scope.labels key"),
    ({"labels": {" ": "v"}}, "scope.labels key"),
    ({"labels": {"k" * 64: "v"}}, "scope.labels key"),
    ({"labels": {"k\x1f": "v"}}, "scope.labels key"),
    ({"labels": {"k": LONG}}, "scope.labels['k']"),
    ({"labels": {"k": "\0"}}, "scope.labels['k']"),
]
SESSIONS: list[tuple[dict[str, Any], str]] = [
    ({}, "session.session_id"),
    ({"session_id": ""}, "session.session_id"),
    ({"session_id": "\t"}, "session.session_id"),
    ({"session_id": LONG}, "session.session_id"),
    ({"session_id": "s", "app": "a\0"}, "session.app"),
    ({"session_id": "s", "user_id": "  "}, "session.user_id"),
    ({"session_id": "s", "user_id": "\x7f"}, "session.user_id"),
]
FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"last_n": 1}, "filter.last_n"),
    ({"last_n": 0}, "filter.last_n"),
    ({"last_n": -1}, "filter.last_n"),
    ({"page": {}}, "filter.page"),
    ({"page": {"page": -1, "page_size": 1}}, "filter.page"),
    ({"view": 3}, "filter.view"),
    ({"view": -1}, "filter.view"),
    ({"keyword_match": 99}, "filter.keyword_match"),
    ({"roles": [0]}, "filter.roles[0]"),
    ({"roles": [1, 1 << 30]}, "filter.roles[1]"),
    ({"from_time": {"nanos": -1}}, "filter.from_time.nanos"),
    ({"from_time": {"seconds": 1 << 62}}, "filter.from_time"),
    ({"to_time": {"nanos": 1_000_000_000}}, "filter.to_time.nanos"),
    ({"keyword": "k" * 1025}, "filter.keyword"),
    ({"keywords": ["k"] * 65}, "filter.keywords"),
    ({"keywords": ["k" * 1025]}, "filter.keywords[0]"),
    ({"author_filters": [{}]}, "filter.author_filters[0]"),
    ({"author_filters": [{"include": {}}]}, "filter.author_filters[0].include"),
    ({"author_filters": [{"exclude": {"ids": [""]}}]}, "filter.author_filters[0].exclude.ids"),
    ({"author_filters": [{"exclude": {"roles": [LONG]}}]}, "filter.author_filters[0].exclude.roles"),
    ({"branch": "a..b"}, "filter.branch"),
    ({"branch": "a\0b"}, "filter.branch"),
    (authors(1000, 255), "filter"),
    (authors(100_000), "filter.author_filters[0].include.ids"),
    ({"roles": [1] * 17}, "filter.roles"),
]
STARTS: list[tuple[str, dict[str, Any], str]] = [
    (SESSION, {"after_seq": -1}, "after_seq"),
    (SESSION, {"after_seq": -(1 << 63)}, "after_seq"),
    (SESSION, {"after_seq": 4}, "after_seq"),
    (SESSION, {"after_seq": (1 << 63) - 1}, "after_seq"),
    (SESSION, {"live_only": False}, "live_only"),
    (ALL, {"live_only": False}, "live_only"),
    (ALL, {"from_beginning": False}, "from_beginning"),
]
INVALID = [
    *((ALL, {"scope": scope}, field) for scope, field in SCOPES),
    *((SESSION, {"session": session}, field) for session, field in SESSIONS),
    *((SESSION, {"session": NAME, "filter": wanted}, field) for wanted, field in FILTERS),
    *((ALL, {"filter": wanted}, field) for wanted, field in FILTERS[:1]),
    *((name, start | ({"session": NAME} if name == SESSION else {}), field) for name, start, field in STARTS),
]
_IDS = [f"{number}-{name}-{field}" for number, (name, _, field) in enumerate(INVALID)]


@pytest.mark.parametrize(("name", "fields", "field"), INVALID, ids=_IDS)
def test_invalid_fields_are_rejected(wire: Streams, name: str, fields: dict[str, Any], field: str) -> None:
    refusal = wire.stream_refused(name, **fields)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert (refusal.metadata["field"], refusal.violations) == (field, [field])
    request = GetMessageClass(METHODS[name].input_type)(**fields)
    infos = [wire.connect_error(name, request.SerializeToString())]
    if "_time" not in field:  # not representable in JSON
        infos.append(wire.connect_error_json(name, request))
    for info in infos:
        assert (info["reason"], info["metadata"]["field"]) == ("INVALID_FIELD", field)


@pytest.mark.parametrize("name", [SESSION, ALL])
@pytest.mark.parametrize("raw", [b"\xff", b"\x0a\x7f", b"\x0a\x04\x1a\x02\xff\xfe", b"\x12\x02\xc3\x28", b"\x0b", b"\x0a" * 99])
def test_bytes_that_are_not_a_request_are_rejected(wire: Streams, name: str, raw: bytes) -> None:
    assert wire.stream_refused(name, raw).metadata["field"] == "request"
    assert wire.connect_error(name, raw)["metadata"]["field"] == "request"


JSON = [
    b"[]",
    b"{",
    b"\xff",
    b'{"scope":{"userId":7}}',
    b'{"scope":{"labels":[]}}',
    b'{"scope":{"labels":{"k":null}}}',
    b'{"filter":{"roles":["ROLE_KING"]}}',
    b'{"filter":{"afterSeq":1e30}}',
    b'{"liveOnly":true,"fromBeginning":true}',
    b'{"liveOnly":"yes"}',
    b'{"liveOnly":true,"liveOnly":true}',
    b'{"resumeToken":5}',
    b'{"nonsense":1}',
    b"[" * 100_000,
    b'{"scope":' * 50_000,
]


@pytest.mark.parametrize("body", JSON, ids=[ascii(body[:30]) for body in JSON])
def test_json_that_is_not_a_request_is_rejected(wire: Streams, body: bytes) -> None:
    assert wire.connect_error(ALL, body, "json")["reason"] == "INVALID_FIELD"


def test_a_body_that_is_not_a_frame_is_rejected(wire: Streams) -> None:
    for body in (b"", b"\0", b"\0\xff\xff\xff\xff", b"\0\0\0\0\x05{}", b"\x07\0\0\0\x02{}", b"\x02\0\0\0\x02{}"):
        status, answer = wire.post(path_of(ALL), "application/connect+json", body)
        assert status in {200, 400}
        assert b'"error"' in answer or b'"code"' in answer, answer
    status, _ = wire.post(path_of(ALL), "application/json", b"{}")
    assert status == 415


def test_unusual_valid_requests_are_accepted(wire: Streams) -> None:
    for fields in (
        {"filter": authors(2000)},
        {"filter": {"keywords": ["k" * 1024] * 64}},
        {"filter": {"after_seq": -(1 << 63), "before_seq": (1 << 63) - 1}},
        {"scope": {"labels": {f"k{n}": "v" * 255 for n in range(64)}}},
        {"scope": {"app": "", "user_id": "nobody"}},
        {"scope": {"user_id": "%' OR 1=1 --"}, "from_beginning": True},
        {"scope": {"app": "\U0001f600" * 63}},
    ):
        [started] = wire.changes(ALL, 1, **fields)
        assert started.checkpoint.kind == pb.CHECKPOINT_KIND_STARTED
    # Fields that the server does not know, as a later client might send them.
    assert wire.changes(ALL, 1, b"\xf8\x07\x01\xfa\x07\x03abc")
    assert not wire.changes_so_far(SESSION, session=NAME | {"session_id": "none"}, after_seq=9, filter={"keyword": "\0"})


# --- resume tokens


def _token(wire: Streams, name: str = ALL, **fields: Any) -> str:
    return str(wire.changes(name, 1, **fields)[0].resume_token)


def test_a_malformed_resume_token_is_rejected(wire: Streams) -> None:
    token = _token(wire)
    other = _token(wire, SESSION, session=NAME)
    for bad in ("", "x", "=", "====", "é", "\0", "-" * 42, token[:-1], token[1:], token + "A", token * 2, other):
        assert wire.stream_refused(ALL, resume_token=bad).reason == "INVALID_RESUME_TOKEN", bad
    refusal = wire.stream_refused(ALL, resume_token="A" * 4_000_000)
    assert (refusal.reason, refusal.metadata["field"]) == ("INVALID_RESUME_TOKEN", "resume_token")
    assert len(str(refusal)) < 1000, "the token is not sent back"


def test_a_resume_token_of_another_request_is_rejected(wire: Streams) -> None:
    requests: list[tuple[str, dict[str, Any]]] = [
        (ALL, {}),
        (ALL, {"scope": {"app": ""}}),
        (ALL, {"scope": {"app": "app"}}),
        (ALL, {"scope": {"user_id": "app"}}),
        (ALL, {"scope": {"app": "app", "user_id": "alice"}}),
        (ALL, {"scope": {"labels": {"app": "app"}}}),
        (ALL, {"scope": {"labels": {"a": "b", "c": "d"}}}),
        (ALL, {"filter": {"keyword": "app"}}),
        (ALL, {"filter": {"branch": "app"}}),
        (ALL, {"filter": {"after_seq": 0}}),
        (SESSION, {"session": NAME}),
        (SESSION, {"session": NAME | {"session_id": "t"}}),
        (SESSION, {"session": NAME, "filter": {"keyword": "app"}}),
    ]
    tokens = [_token(wire, name, **fields) for name, fields in requests]
    for number, (name, fields) in enumerate(requests):
        for of, token in enumerate(tokens):
            if of == number:
                assert wire.changes(name, 1, resume_token=token, **fields)
            else:
                assert wire.stream_refused(name, resume_token=token, **fields).reason == "INVALID_RESUME_TOKEN", (number, of)


def test_a_manipulated_token_gives_no_other_access(wire: Streams) -> None:
    raw = base64.urlsafe_b64decode(_token(wire) + "==")
    for at in range(len(raw)):
        for bit in (0x01, 0x80):
            forged = bytearray(raw)
            forged[at] ^= bit
            token = base64.urlsafe_b64encode(forged).decode().rstrip("=")
            if at < len(raw) - 8:  # except for the number of the change, which only determines how far the token goes back
                assert wire.stream_refused(ALL, resume_token=token).reason == "INVALID_RESUME_TOKEN", at
    json_error = wire.connect_error(ALL, json.dumps({"resumeToken": "forged"}).encode(), "json")
    assert json_error["reason"] == "INVALID_RESUME_TOKEN"


def test_a_manipulated_position_stays_within_the_feed(wire: Streams) -> None:
    raw = base64.urlsafe_b64decode(_token(wire) + "==")
    for place in (1 << 62, (1 << 63) - 1, -1, -(1 << 63), int.from_bytes(raw[-8:]) + 1000):
        forged = raw[:-8] + (place & ((1 << 64) - 1)).to_bytes(8)
        token = base64.urlsafe_b64encode(forged).decode().rstrip("=")
        assert wire.stream_refused(ALL, resume_token=token).reason == "INVALID_RESUME_TOKEN", place
