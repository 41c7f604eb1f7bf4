"""Invalid appends store nothing; unusual valid ones are stored byte for byte."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

import threadkeep
from threadkeep import user
from threadkeep.v1 import event_pb2, message_pb2

from . import requests
from .requests import Wire, encoded_session, wire_on

HALF = "\\ud83d"  # half of a surrogate pair, which JSON can contain and Unicode text cannot


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def wire(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with wire_on(request.param, request, tmp_path_factory.mktemp("data")) as opened:
        yield opened


EMPTY = message_pb2.ChatMessage(role=message_pb2.ROLE_USER)


def good(event_id: str = "") -> event_pb2.SessionEvent:
    return user("good", event_id=event_id)


def at(seconds: int, nanos: int = 0) -> event_pb2.SessionEvent:
    return event_pb2.SessionEvent(event_time=Timestamp(seconds=seconds, nanos=nanos), message=EMPTY)


def nested(depth: int) -> event_pb2.SessionEvent:
    """Returns a tool result that contains tool results, nested this deeply."""
    part = threadkeep.text("deep")
    for _ in range(depth):
        part = threadkeep.tool_result_part("c", [part])
    return threadkeep.event("tool", [part])


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (user("", event_id="x" * 256), "event_id"),
        (user("", event_id="\U0001f600" * 64), "event_id"),
        (user("", event_id=" "), "event_id"),
        (user("", event_id="a\x00b"), "event_id"),
        (user("", author="x" * 256), "author"),
        (user("", author="a\nb"), "author"),
        (user("", author_role="x" * 256), "author_role"),
        (user("", invocation_id="x" * 256), "invocation_id"),
        (user("", compaction_source="x" * 256), "compaction_source"),
        (user("", branch="a..b"), "branch"),
        (user("", branch=".a"), "branch"),
        (user("", branch=".".join("a" * 65)), "branch"),
        (user("", branch="x" * 1025), "branch"),
        (user("", metadata="[]"), "metadata_json"),
        (user("", metadata="{"), "metadata_json"),
        (user("", metadata='{"a": "\x00"}'), "metadata_json"),
        (user("", metadata='{"a": Infinity}'), "metadata_json"),
        (event_pb2.SessionEvent(), "message"),
        (event_pb2.SessionEvent(message=message_pb2.ChatMessage()), "message.role"),
        (threadkeep.event(99, "unknown role"), "message.role"),  # type: ignore[arg-type]
        (threadkeep.event(-1, "unknown role"), "message.role"),  # type: ignore[arg-type]
        (user(["x"] * 10_001), "message.parts"),
        (nested(9), "message.parts"),
        (user("", usage={"input_tokens": -1}), "usage"),
        (user("", usage={"total_tokens": 1 << 60}), "usage"),
        (user("", native=threadkeep.NativeContent(content=b"x")), "native.format"),
        (at(-62_135_596_800), "event_time"),
        (at(253_402_300_799), "event_time"),
        (at(0, -1), "event_time.nanos"),
        (at(0, 1_000_000_000), "event_time.nanos"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_bad_event_stores_none_of_its_batch(wire: Wire, bad: event_pb2.SessionEvent, field: str) -> None:
    name = wire.new_session()
    wire.append(name, good("before"))
    wire.stores_nothing(name, f"events[1].{field}", good("a"), bad, good("b"))


def test_an_empty_batch_and_a_repeated_id_are_rejected(wire: Wire) -> None:
    name = wire.new_session()
    wire.stores_nothing(name, "events")
    wire.stores_nothing(name, "events[2].event_id", good("a"), good("b"), good("a"))


def test_unknown_enum_values_are_rejected(wire: Wire) -> None:
    wire.stores_nothing(wire.new_session(), "if_exists", good(), if_exists=9)


def test_an_existing_id_with_other_content_is_a_conflict(wire: Wire) -> None:
    name = wire.new_session()
    wire.append(name, user("first", event_id="e0"), user("mine", event_id="e1"))
    with wire.unchanged(name):
        refusal = wire.refused("AppendEvents", session=name, events=[good("new"), user("other", event_id="e1")])
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ALREADY_EXISTS, "EVENT_ID_CONFLICT")
    assert refusal.metadata == {"event_id": "e1", "seq": "2", "field": "events[1].event_id"}
    assert "mine" not in refusal.message, "stored content is not returned"
    ignored = wire.append(name, good("new"), user("other", event_id="e1"), if_exists=2)
    assert [(event.seq, event.replayed) for event in ignored.events] == [(3, False), (2, True)]
    assert [threadkeep.text_of(event) for event in wire.log(name)] == ["first", "mine", "good"]


def test_output_only_fields_are_set_by_the_server(wire: Wire) -> None:
    name = wire.new_session()
    forged = event_pb2.SessionEvent(event_id="e", seq=99, archived=True, size_bytes=1, token_estimate=1, message=EMPTY)
    forged.record_time.seconds = 1
    assert wire.append(name, forged).last_seq == 1
    stored = wire.log(name)[0]
    assert (stored.seq, stored.archived) == (1, False)
    assert stored.record_time.seconds > 1_600_000_000
    assert stored.size_bytes > 1


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server with limits that tests can reach."""
    limits = {"max_event_bytes": "2KiB", "max_batch_bytes": "8KiB", "max_batch_events": 10}
    with requests.wire(tmp_path_factory.mktemp("data"), **limits) as opened:
        yield opened


def test_an_event_over_the_limit_is_rejected(small: Wire) -> None:
    name = small.new_session()
    with small.unchanged(name):
        refusal = small.refused("AppendEvents", session=name, events=[good(), user("x" * 2048)])
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "EVENT_TOO_LARGE")
    assert refusal.metadata["field"] == "events[1]"
    assert refusal.metadata["limit"] == "2048"
    assert int(refusal.metadata["size"]) > 2048
    assert refusal.violations == ["events[1]"]


@pytest.mark.parametrize(("count", "text", "unit"), [(11, "x", "events"), (5, "x" * 1900, "bytes")])
def test_a_batch_over_the_limit_is_rejected(small: Wire, count: int, text: str, unit: str) -> None:
    name = small.new_session()
    with small.unchanged(name):
        refusal = small.refused("AppendEvents", session=name, events=[user(text)] * count)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BATCH_TOO_LARGE")
    assert (refusal.metadata["field"], refusal.metadata["unit"]) == ("events", unit)
    assert int(refusal.metadata["size"]) > int(refusal.metadata["limit"])


def test_a_request_over_the_message_limit_is_rejected(small: Wire) -> None:
    """gRPC rejects messages over the receive limit before they are parsed, without details; behind Envoy there are details."""
    name = small.new_session()
    with small.unchanged(name), pytest.raises(grpc.RpcError) as raised:
        small.append(name, user("x" * (6 << 20)))
    assert raised.value.code() in {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INVALID_ARGUMENT}


def test_an_invalid_request_does_not_end_an_append_stream(small: Wire) -> None:
    name = small.new_session()
    batches = [[user("a", event_id="a")], [user("x" * 3000)], [], [user("b", event_id="b")]]
    results = small.stream(name, batches)
    assert [result.WhichOneof("outcome") for result in results] == ["appended", "error", "error", "appended"]
    assert (results[1].error.reason, results[1].error.metadata["field"]) == ("EVENT_TOO_LARGE", "events[0]")
    assert (results[2].error.reason, results[2].error.metadata["field"]) == ("INVALID_FIELD", "events")
    assert [event.event_id for event in small.log(name)] == ["a", "b"]


def raw_event(text: bytes) -> bytes:
    """Returns an AppendEventsRequest without a session; its one event has this text, which may be any bytes."""

    def field(number: int, value: bytes) -> bytes:
        return bytes([number << 3 | 2, len(value)]) + value

    message = b"\x08\x01" + field(2, field(1, field(1, text)))
    return field(2, field(3, message))


@pytest.mark.parametrize("text", [b"\xff", b"caf\xe9", b"\xc0\x80", b"\xed\xa0\xbd", b"\xf0\x9f"], ids=repr)
def test_bytes_that_are_not_utf8_are_rejected(wire: Wire, text: bytes) -> None:
    """Includes a lone surrogate and an overlong NUL, as some encoders produce them."""
    name = wire.new_session()
    session = encoded_session(name)
    assert wire.call("AppendEvents", session + raw_event(b"fine")).last_seq == 1
    with wire.unchanged(name):
        refusal = wire.invalid("request", "AppendEvents", session + raw_event(text))
    assert "UTF-8" in refusal.message


@pytest.mark.parametrize("raw", [b"\xff\xff\xff", b"\x0a\xff", b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", b"\x00"])
def test_bytes_that_are_not_a_message_are_rejected(wire: Wire, raw: bytes) -> None:
    for name in ("AppendEvents", "ListEvents", "CreateSession", "SearchEvents"):
        wire.invalid("request", name, raw)


def test_the_sdk_rejects_a_lone_surrogate_before_sending() -> None:
    with pytest.raises((ValueError, TypeError)):
        user("\ud83d")
    assert threadkeep.tool_call("c", "f", {"half": "\ud83d"}).tool_call.arguments_json == f'{{"half":"{HALF}"}}'


def test_json_text_is_kept_verbatim(wire: Wire) -> None:
    texts = [
        f'{{"half": "{HALF}", "nul": "\\u0000", "n": 9007199254740993, "f": 230.0, "f2": 1e2 }}',
        "\x00 not JSON at all: models write such things",
        "",
        '{"a": "e\u0301 \u00e9 \U0001f469\u200d\U0001f680"}',
    ]
    parts = [threadkeep.tool_call(f"c{n}", "f", text) for n, text in enumerate(texts)]
    sent = threadkeep.assistant("x\x00y", tool_calls=parts, metadata=f'{{ "half": "{HALF}" }}', event_id="e")
    name = wire.new_session()
    wire.append(name, sent)
    stored = wire.call("GetEvent", session=name, event_id="e").event
    assert [part.tool_call.arguments_json for part in stored.message.parts[1:]] == texts
    assert stored.metadata_json == sent.metadata_json
    assert threadkeep.text_of(stored) == "x\x00y"
    assert stored.message == sent.message


def test_nested_results_are_readable_in_every_response_with_the_event(wire: Wire) -> None:
    name, sent = wire.new_session(), nested(8)
    sent.message.parts.append(threadkeep.text("needle"))
    wire.append(name, sent)
    assert wire.call("ListEvents", session=name).events[0].message == sent.message


def test_ten_megabytes_of_media_are_stored(wire: Wire) -> None:
    blob = random.Random(7).randbytes(10 << 20)
    name = wire.new_session()
    wire.append(name, user([threadkeep.media("image/png", data=blob), "what is this?"], event_id="big"), good("after"))
    stored = wire.call("GetEvent", session=name, event_id="big").event
    assert stored.message.parts[0].media.data == blob
    assert stored.size_bytes > len(blob)
    first = wire.call("ListEvents", session=name)
    assert [event.event_id for event in first.events] == ["big"], "larger than a page, so alone on one"
    rest = wire.call("ListEvents", session=name, page_token=first.next_page_token)
    assert [event.event_id for event in rest.events] == ["after"]
    assert not rest.next_page_token


def test_a_megabyte_of_arguments_is_stored(wire: Wire) -> None:
    arguments = json.dumps({"rows": ["é\U0001f600" + "x" * 90] * 9_000}, ensure_ascii=False)
    assert len(arguments.encode()) > 800_000
    arguments += " " * ((1 << 20) - len(arguments.encode()))
    name = wire.new_session()
    wire.append(name, threadkeep.assistant(tool_calls=[threadkeep.tool_call("c", "f", arguments)], event_id="e"))
    assert wire.call("GetEvent", session=name, event_id="e").event.message.parts[0].tool_call.arguments_json == arguments


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "e\u0301",
        "\u00e9",
        "\u202eright to left",
        "\ufeffBOM",
        "\uffff",
        "\x00",
        "\r\n\t",
    ],
    ids=ascii,
)
def test_text_is_not_normalized(wire: Wire, text: str) -> None:
    name = wire.new_session()
    wire.append(name, user(text, event_id=f"id-{text.strip() or 'x'}".replace("\x00", "0"), author="\u00e9"))
    assert threadkeep.text_of(wire.log(name)[0]) == text


@pytest.mark.parametrize("seconds", [-9_223_372_036, -1, 0, 9_223_372_035, 4_102_444_800])
def test_extreme_event_times_are_stored_to_the_nanosecond(wire: Wire, seconds: int) -> None:
    name = wire.new_session()
    wire.append(name, at(seconds, 123_456_789), good())
    first, second = wire.log(name)
    assert (first.seq, first.event_time.seconds, first.event_time.nanos) == (1, seconds, 123_456_789)
    assert not second.HasField("event_time"), "what was absent stays absent"
    found = wire.call("ListEvents", session=name, filter={"to_time": first.event_time, "from_time": first.event_time})
    assert [event.seq for event in found.events] == [1]


@pytest.mark.parametrize("expected", [{"expected_log_version": 7}, {"expected_last_event_id": "other"}])
def test_a_failed_precondition_stores_nothing(wire: Wire, expected: dict[str, Any]) -> None:
    name = wire.new_session()
    wire.append(name, good("e1"))
    with wire.unchanged(name):
        refusal = wire.refused("AppendEvents", session=name, events=[good("e2")], **expected)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ABORTED, "VERSION_MISMATCH")
    actual = "1" if "expected_log_version" in expected else "e1"
    versions = {"session_id": name.session_id, "expected": str(next(iter(expected.values()))), "actual": actual}
    assert refusal.metadata == versions


def test_an_unknown_event_is_reported(wire: Wire) -> None:
    name = wire.new_session()
    refusal = wire.refused("GetEvent", session=name, event_id="nope")
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "EVENT_NOT_FOUND")
    assert refusal.metadata == {"session_id": name.session_id, "event_id": "nope"}
    wire.invalid("event_id", "GetEvent", session=name)
    wire.invalid("event_id", "GetEvent", session=name, event_id="x" * 256)
