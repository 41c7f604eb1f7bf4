"""ConsumerService with invalid fields, and members that violate the protocol of Consume."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from tests.support.servers.server_process import not_behind_envoy
from threadkeep import user
from threadkeep.v1 import consumer_service_pb2 as pb
from threadkeep.v1 import session_pb2
from threadkeep_server.transport.servicers import consumers as servicer

from .requests import eventually
from .streams import Streams, path_of, streams_on

LONG = "x" * 256
NAMED = ["GetConsumer", "DeleteConsumer", "ListParkedChanges", "ReplayParkedChanges", "DeleteParkedChanges"]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], scope="module")
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Streams]:
    settings = {"max_subscriptions_per_caller": 20}
    with streams_on(request.param, request, tmp_path_factory.mktemp("data"), **settings) as opened:
        name = session_pb2.SessionRef(app="app", user_id="alice", session_id="s")
        for number in range(4):
            opened.append(name, user(f"text {number}"), create_if_missing={})
        yield opened


@pytest.fixture(autouse=True)
def nothing_is_left(wire: Streams) -> Iterator[None]:
    """Leaves no consumer, and no stream that counts towards the quota of 20."""
    yield
    for each in wire.unary("ListConsumers", page_size=1000).consumers:
        assert wire.unary("DeleteConsumer", name=each.name).deleted


def authors(number: int, length: int = 12) -> dict[str, Any]:
    return {"author_filters": [{"include": {"ids": [f"{n:0{length}}" for n in range(number)]}}]}


JOINS: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name"),
    ({"name": "  "}, "name"),
    ({"name": LONG}, "name"),
    ({"name": "ä" * 128}, "name"),
    ({"name": "a\0"}, "name"),
    ({"member_id": LONG}, "member_id"),
    ({"member_id": "me\x1fyou"}, "member_id"),
    ({"member_id": "\x9f"}, "member_id"),
    ({"scope": {"user_id": " "}}, "scope.user_id"),
    ({"scope": {"app": "\x00"}}, "scope.app"),
    ({"scope": {"labels": {f"k{n}": "v" for n in range(10_000)}}}, "scope.labels"),
    ({"scope": {"labels": {"k": "\n"}}}, "scope.labels['k']"),
    ({"filter": {"last_n": 1}}, "filter.last_n"),
    ({"filter": {"page": {"page_size": 1}}}, "filter.page"),
    ({"filter": {"view": 17}}, "filter.view"),
    ({"filter": {"roles": [9]}}, "filter.roles[0]"),
    ({"filter": {"author_filters": [{}]}}, "filter.author_filters[0]"),
    ({"filter": authors(1000, 255)}, "filter"),
    ({"max_outstanding": -1}, "max_outstanding"),
    ({"max_outstanding": (1 << 31) - 1}, "max_outstanding"),
    ({"max_attempts": -(1 << 31)}, "max_attempts"),
    ({"partitions": -1}, "partitions"),
    ({"partitions": 257}, "partitions"),
    ({"ack_timeout": {}}, "ack_timeout"),
    ({"ack_timeout": {"seconds": -5}}, "ack_timeout"),
    ({"ack_timeout": {"seconds": (1 << 63) - 1, "nanos": (1 << 31) - 1}}, "ack_timeout"),
    ({"ack_timeout": {"seconds": 86_400, "nanos": 1}}, "ack_timeout"),
]


@pytest.mark.parametrize(("join", "field"), JOINS, ids=[f"{n}-{field}" for n, (_, field) in enumerate(JOINS)])
def test_a_join_with_an_invalid_field_is_rejected(wire: Streams, join: dict[str, Any], field: str) -> None:
    with wire.consuming() as stream:
        stream.say(join={"name": "c"} | join)
        refusal = stream.refusal()
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert (refusal.metadata["field"], refusal.violations) == (field, [field])
    assert not wire.unary("ListConsumers").consumers, "it made a consumer all the same"


@pytest.mark.parametrize("raw", [b"\xff", b"\x0a\x7f", b"\x0a\x04\x0a\x02\xff\xfe", b"\x0b"])
def test_bytes_that_are_not_a_request_are_rejected(wire: Streams, raw: bytes) -> None:
    with wire.consuming() as stream:
        stream.say(raw)
        assert stream.refusal().metadata["field"] == "request"
    with wire.consuming() as stream:
        stream.joined()
        stream.say(raw)
        assert stream.refusal().metadata["field"] == "request"
    for name in NAMED:
        assert wire.unary_error(name, b"\x0a\x02\xff\xfe").metadata["field"] == "request"


def test_unusual_valid_joins_are_accepted(wire: Streams) -> None:
    for join in (
        {"filter": authors(2000)},
        {"scope": {"app": "", "user_id": "%' OR 1=1 --", "labels": {"'": '"'}}},
        {"max_outstanding": 10_000, "max_attempts": 1000, "partitions": 256, "ack_timeout": {"seconds": 86_400}},
        {"member_id": "\U0001f600" * 63},
    ):
        with wire.consuming() as stream:
            joined = stream.joined(name="unusual", **join)
            assert joined.member_id == join.get("member_id", joined.member_id)
            stream.half_close()
            stream.rest()
        assert wire.unary("GetConsumer", name="unusual").consumer == joined.consumer
        wire.unary("DeleteConsumer", name="unusual")


# --- the protocol


@pytest.mark.parametrize(
    "first", [{}, {"acknowledge": {}}, {"acknowledge": {"delivery_ids": [1]}}, {"reject": {"delivery_id": 1}}], ids=str
)
def test_a_first_request_other_than_join_is_rejected(wire: Streams, first: dict[str, Any]) -> None:
    with wire.consuming() as stream:
        stream.say(**first)
        assert stream.refusal().metadata["field"] == "join"


def test_a_half_close_before_joining_is_rejected(wire: Streams) -> None:
    with wire.consuming() as stream:
        stream.half_close()
        assert stream.refusal().metadata["field"] == "join"


@not_behind_envoy("the code of the server cannot be replaced from here")
def test_a_stream_that_does_not_join_is_ended(wire: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servicer, "_JOIN_WITHIN_S", 5.0)  # enough to join on a busy machine
    with wire.consuming() as stream:
        stream.joined()
        with wire.consuming() as silent:
            began = time.monotonic()
            assert silent.refusal().metadata["field"] == "join"
            assert time.monotonic() - began < 25, "without the change it takes 30 s"
        stream.half_close()  # the member has been silent for longer than a stream may be before it joins
        stream.rest()


MISUSES: list[tuple[dict[str, Any], str]] = [
    ({}, "request"),
    ({"join": {"name": "c", "from_beginning": True}}, "request"),
    ({"acknowledge": {"delivery_ids": [6]}}, "acknowledge.delivery_ids"),
    ({"acknowledge": {"delivery_ids": [1, 0]}}, "acknowledge.delivery_ids"),
    ({"acknowledge": {"delivery_ids": [-1]}}, "acknowledge.delivery_ids"),
    ({"acknowledge": {"delivery_ids": [(1 << 63) - 1]}}, "acknowledge.delivery_ids"),
    ({"acknowledge": {"delivery_ids": [1] * 10_001}}, "acknowledge.delivery_ids"),
    ({"reject": {}}, "reject.delivery_id"),
    ({"reject": {"delivery_id": 6, "park": True}}, "reject.delivery_id"),
    ({"reject": {"delivery_id": -(1 << 63)}}, "reject.delivery_id"),
]


@pytest.mark.parametrize(("request_", "field"), MISUSES, ids=[f"{n}-{field}" for n, (_, field) in enumerate(MISUSES)])
def test_an_invalid_request_of_a_member_ends_the_stream(wire: Streams, request_: dict[str, Any], field: str) -> None:
    with wire.consuming() as stream:
        stream.joined()
        stream.deliveries(5)
        stream.say(**request_)
        assert stream.refusal().metadata["field"] == field
    eventually(lambda: not wire.unary("GetConsumer", name="c").members)


def test_a_repeated_acknowledgement_counts_once(wire: Streams) -> None:
    with wire.consuming() as stream:
        stream.joined()
        first, second, *_ = stream.deliveries(5)
        stream.say(acknowledge={"delivery_ids": [first.delivery_id] * 10_000})
        stream.say(reject={"delivery_id": first.delivery_id, "reason": "after all", "park": True})
        stream.confirmed(first.delivery_id)
        for _ in range(3):
            stream.say(reject={"delivery_id": second.delivery_id, "reason": "no", "park": True})
        stream.say(acknowledge={"delivery_ids": [second.delivery_id]})
        eventually(lambda: wire.unary("GetConsumer", name="c").parked_changes == 1)
        stream.half_close()
        stream.rest()
    [parked] = wire.unary("ListParkedChanges", name="c").parked_changes
    assert (parked.change, parked.attempts) == (second.change, 1)


def test_delivery_ids_are_those_of_the_stream(wire: Streams) -> None:
    """Ids count from 1 on every stream, so a member cannot affect the deliveries of another."""
    with wire.consuming() as stream, wire.consuming() as other:
        stream.joined()
        taken = stream.deliveries(5)
        other.joined()
        other.say(acknowledge={"delivery_ids": [taken[0].delivery_id]})
        assert other.refusal().metadata["field"] == "acknowledge.delivery_ids"
        stream.say(acknowledge={"delivery_ids": [each.delivery_id for each in taken]})
        stream.confirmed(*(each.delivery_id for each in taken))


def test_a_long_reason_is_truncated_and_a_flood_is_handled(wire: Streams) -> None:
    with wire.consuming() as stream:
        stream.joined()
        first, second, *rest = stream.deliveries(5)
        stream.say(reject={"delivery_id": first.delivery_id, "reason": "\U0001f600\0\x1b[31m" * 300_000, "park": True})
        for _ in range(2000):
            stream.say(acknowledge={})
            stream.say(acknowledge={"delivery_ids": [second.delivery_id]})
            stream.say(reject={"delivery_id": first.delivery_id, "reason": "again"})
        stream.confirmed(second.delivery_id)
        stream.say(acknowledge={"delivery_ids": [each.delivery_id for each in rest]})
        stream.half_close()
        stream.rest()
    [parked] = wire.unary("ListParkedChanges", name="c").parked_changes
    assert parked.reason.startswith("\U0001f600\x1b[31m")
    assert len(parked.reason) <= 1024


# administrative calls


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("bad", ["", " ", LONG, "a\0b", "\x1b"], ids=ascii)
def test_an_invalid_name_is_rejected(wire: Streams, name: str, bad: str) -> None:
    assert wire.unary_error(name, name=bad).metadata["field"] == "name"
    body = pb.GetConsumerRequest(name=bad).SerializeToString()
    status, answer = wire.post(path_of(name), "application/proto", body)
    assert (status, b"INVALID_FIELD" in answer or b'"name"' in answer) == (400, True)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("missing", ["none", "%", "_", "'; DROP TABLE consumers; --", "\ud7ff\U0010ffff"], ids=ascii)
def test_an_unknown_consumer_is_reported(wire: Streams, name: str, missing: str) -> None:
    with wire.consuming() as stream:
        stream.joined(name="x")
    if name == "DeleteConsumer":
        assert not wire.unary(name, name=missing).deleted
    else:
        refusal = wire.unary_error(name, name=missing)
        assert (refusal.reason, refusal.metadata) == ("CONSUMER_NOT_FOUND", {"name": missing})


def test_unknown_parked_ids_are_ignored(wire: Streams) -> None:
    with wire.consuming() as stream:
        stream.joined()
        first, *_ = stream.deliveries(5)
        stream.say(reject={"delivery_id": first.delivery_id, "park": True})
        eventually(lambda: wire.unary("GetConsumer", name="c").parked_changes == 1)
    [parked] = wire.unary("ListParkedChanges", name="c").parked_changes
    odd = ["", " ", "-1", "+1", "1.0", "1e3", "0x1", "\u0661", "\0", "9" * 18, "9" * 19, "9" * 100_000, f" {parked.parked_id}"]
    for name, field in (("ReplayParkedChanges", "replayed"), ("DeleteParkedChanges", "deleted")):
        assert getattr(wire.unary(name, name="c", parked_ids=odd), field) == 0
        assert wire.unary_error(name, name="c", parked_ids=["1"] * 1001).metadata["field"] == "parked_ids"
    assert wire.unary("ListParkedChanges", name="c").parked_changes == [parked]


def test_an_invalid_page_is_rejected(wire: Streams) -> None:
    for name in ("a", "b", "c"):
        with wire.consuming() as stream:
            stream.joined(name=name)
    for name, fields in (("ListConsumers", {}), ("ListParkedChanges", {"name": "c"})):
        assert wire.unary_error(name, page_size=-1, **fields).metadata["field"] == "page_size"
        for token in ("x", "A" * 1_000_000, "\0", wire.unary("ListConsumers", page_size=1).next_page_token + "A"):
            assert wire.unary_error(name, page_token=token, **fields).reason == "INVALID_PAGE_TOKEN"
    token = wire.unary("ListConsumers", page_size=1).next_page_token
    assert wire.unary_error("ListParkedChanges", name="c", page_token=token).reason == "INVALID_PAGE_TOKEN"
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    forged = base64.urlsafe_b64encode(raw[:-1] + bytes((raw[-1] ^ 1,))).decode().rstrip("=")
    assert wire.unary_error("ListConsumers", page_token=forged).reason == "INVALID_PAGE_TOKEN"


def test_a_page_of_consumers_has_a_limited_size(wire: Streams) -> None:
    """The filters of the consumers come from callers."""
    wanted = authors(1000, 100)
    for number in range(40):
        with wire.consuming() as stream:
            stream.joined(name=f"{number:02}", filter=wanted, partitions=1)
            stream.half_close()
            stream.rest()  # its end: a place of the quota of 20 is free again
    names: list[str] = []
    token = ""
    while token or not names:
        page = wire.unary("ListConsumers", page_size=1000, page_token=token)
        assert page.ByteSize() < 4 << 20
        names += [each.name for each in page.consumers]
        token = page.next_page_token
    assert names == [f"{number:02}" for number in range(40)]
