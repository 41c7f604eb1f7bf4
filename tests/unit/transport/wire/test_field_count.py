"""The fields of a request are counted before it is decoded."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

import threadkeep
from threadkeep.v1 import compaction_service_pb2, consumer_service_pb2, event_service_pb2
from threadkeep_server.domain.errors import InvalidField
from threadkeep_server.domain.validation import Limits
from threadkeep_server.transport.rpc import PLAIN_BYTES, Method, Service, most_decompressed
from threadkeep_server.transport.wire.field_count import check_fields, layout_of, may_hold

MOST = 100
LARGEST = Limits().max_request_fields


class Servicer:
    def __getattr__(self, name: str) -> Any:
        return None


EVENTS = Service(event_service_pb2.DESCRIPTOR.services_by_name["EventService"], Servicer())
METHODS = {method.name: method for method in EVENTS.methods()}
APPEND: Method = METHODS["AppendEvents"]


def field(number: int, value: bytes) -> bytes:
    """Returns a length-delimited field."""
    length, size = b"", len(value)
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + value


def count(message: Message) -> int:
    """Returns the fields of a message and of the messages in it."""
    total = 0
    for known, value in message.ListFields():
        values = value if known.is_repeated else [value]
        if known.message_type is not None and known.message_type.GetOptions().map_entry:
            total += 3 * len(value)  # the entry, its key and its value
        else:
            total += len(values)
            if known.message_type is not None:
                total += sum(map(count, values))
    return total


def request() -> event_service_pb2.AppendEventsRequest:
    """A request with fields of every kind."""
    result = event_service_pb2.AppendEventsRequest(expected_log_version=1 << 60, if_exists=event_service_pb2.IF_EXISTS_REPLAY)
    result.session.session_id = "s" * 200
    result.create_if_missing.labels.update({"a": "b", "c": "d"})
    nested = threadkeep.tool_result_part("c", [threadkeep.text("x" * 300), threadkeep.tool_result_part("d", ["deep"])])
    for number in range(3):
        event = threadkeep.event("tool", [nested, threadkeep.media("image/png", data=bytes(200))], event_id=f"e{number}")
        event.event_time.seconds, event.usage.input_tokens = -1, 300
        result.events.append(event)
    return result


def test_every_field_and_value_is_counted_once() -> None:
    whole = request()
    raw, fields = whole.SerializeToString(), count(whole)
    check_fields(raw, APPEND.layout, fields)
    with pytest.raises(InvalidField):
        check_fields(raw, APPEND.layout, fields - 1)


@pytest.mark.parametrize(
    ("kind", "raw", "named"),
    [
        (event_service_pb2.AppendEventsRequest, b"\x12\x00" * 200, "events"),
        (event_service_pb2.AppendEventsRequest, b"\x12\x02\x1a\x00" * 99, "events"),
        (event_service_pb2.AppendEventsRequest, field(2, field(3, b"\x12\x00" * 200)), "events"),
        (event_service_pb2.AppendEventsRequest, field(6, b"\x1a\x00" * 200), "create_if_missing.labels"),
        (event_service_pb2.AppendEventsRequest, b"\x0a\x00" * 200, "session"),
        (event_service_pb2.AppendEventsRequest, b"\x18\x00" * 200, "expected_log_version"),
        (event_service_pb2.AppendEventsRequest, b"\x9a\x06\x00" * 200, "request"),
        (event_service_pb2.AppendStreamRequest, field(1, b"\x12\x00" * 200), "append.events"),
        (compaction_service_pb2.ApplyCompactionRequest, field(5, b"\x0a\x01e" * 200), "event_ids.ids"),
        (consumer_service_pb2.ConsumeRequest, field(2, field(1, b"\x01" * 200)), "acknowledge.delivery_ids"),
        (consumer_service_pb2.ConsumeRequest, field(2, field(1, b"\xff\x01" * 200)), "acknowledge.delivery_ids"),
        (consumer_service_pb2.ConsumeRequest, field(2, b"\x08\x01" * 200), "acknowledge.delivery_ids"),
    ],
)
def test_too_many_fields_are_rejected_with_the_repeated_field(kind: type[Message], raw: bytes, named: str) -> None:
    kind.FromString(raw)  # it is valid
    with pytest.raises(InvalidField) as refused:
        check_fields(raw, layout_of(cast("Descriptor", kind.DESCRIPTOR)), MOST)
    assert refused.value.metadata["field"] == named
    assert str(MOST) in refused.value.message


def test_the_count_ends_at_the_limit() -> None:
    """What follows is not read, here an encoding that is not valid."""
    with pytest.raises(InvalidField):
        check_fields(b"\x12\x00" * (MOST + 1) + b"\xff" * 99, APPEND.layout, MOST)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x12",
        b"\x12\x05\x00",
        b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x18",
        b"\x18" + b"\xff" * 50,
        b"\xff" * 50,
        b"\x0b\x0c",
        b"\x0c",
        b"\x0f\x00",
        field(2, b"\x18\xff"),
        b"\x12\x02\x12\x05" + bytes(10),
    ],
    ids=repr,
)
def test_an_encoding_that_cannot_be_counted_is_rejected(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        check_fields(raw, APPEND.layout, MOST)


def test_deep_nesting_is_rejected_as_by_the_parser() -> None:
    raw = b""
    for _ in range(200):
        raw = field(4, field(3, raw))
    raw = field(2, field(3, field(2, raw)))
    with pytest.raises(DecodeError):
        event_service_pb2.AppendEventsRequest.FromString(raw)
    with pytest.raises(DecodeError):
        check_fields(raw, APPEND.layout, 1_000)


def test_a_request_that_is_cut_is_counted_if_it_parses() -> None:
    raw = request().SerializeToString()
    for end in range(len(raw)):
        try:
            event_service_pb2.AppendEventsRequest.FromString(raw[:end])
        except DecodeError:
            with pytest.raises(DecodeError):
                check_fields(raw[:end], APPEND.layout, 1_000)
        else:
            check_fields(raw[:end], APPEND.layout, 1_000)


def test_random_bytes_cause_no_other_error() -> None:
    raw, rng = request().SerializeToString(), random.Random(17)
    for _ in range(300):
        changed = bytearray(raw)
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(raw))] = rng.randrange(256)
        with suppress(DecodeError):
            check_fields(bytes(changed), APPEND.layout, 1_000)


def test_the_largest_batch_is_admitted() -> None:
    """A thousand events of 16 tool calls, with labels, usage and times."""
    event = threadkeep.assistant(
        tool_calls=[threadkeep.tool_call(f"c{n}", "f", "{}") for n in range(16)], event_id="e", author="a"
    )
    event.usage.input_tokens = event.usage.output_tokens = event.usage.total_tokens = 9
    event.event_time.seconds = event.event_time.nanos = 9
    largest = event_service_pb2.AppendEventsRequest(events=[event] * Limits().max_batch_events)
    largest.create_if_missing.labels.update({f"label{n}": "value" for n in range(64)})
    raw = largest.SerializeToString()
    check_fields(raw, APPEND.layout, LARGEST)
    assert APPEND.parse(raw) == largest


def test_a_request_of_texts_is_not_counted() -> None:
    raw = event_service_pb2.AppendEventsRequest(events=[threadkeep.user("word " * 2_000)] * 100).SerializeToString()
    assert len(raw) > 2 * LARGEST
    assert not may_hold(raw, APPEND.layout, LARGEST)


@pytest.mark.parametrize("event", [b"\x12\x00", b"\x92\x00\x00", b"\x92\x80\x00\x80\x00"])
def test_events_are_counted_however_their_tags_are_encoded(event: bytes) -> None:
    raw = event * 1_000
    assert len(event_service_pb2.AppendEventsRequest.FromString(raw).events) == 1_000
    assert may_hold(raw, APPEND.layout, 1_000)


def test_packed_numbers_are_always_counted() -> None:
    layout = layout_of(consumer_service_pb2.ConsumeRequest.DESCRIPTOR)
    assert may_hold(field(2, field(1, bytes(2_000))), layout, 1_000)


def test_a_compaction_of_as_many_ids_as_are_admitted_is_parsed() -> None:
    ids = [f"id-{number}" for number in range(100_000)]
    raw = compaction_service_pb2.ApplyCompactionRequest(event_ids=compaction_service_pb2.EventIds(ids=ids)).SerializeToString()
    check_fields(raw, layout_of(compaction_service_pb2.ApplyCompactionRequest.DESCRIPTOR), LARGEST)


def test_a_server_of_larger_batches_admits_more_fields() -> None:
    assert Limits(max_batch_events=100_000).max_request_fields > 10 * LARGEST


@pytest.mark.parametrize(
    ("raw", "named"),
    [(b"\x12\x00" * 2 * LARGEST, "events"), (b"\x0f" + b"\x12\x00" * LARGEST, "request")],
    ids=["bomb", "broken"],
)
def test_a_large_request_is_rejected_before_it_is_decoded(raw: bytes, named: str) -> None:
    class Undecodable:
        DESCRIPTOR = event_service_pb2.AppendEventsRequest.DESCRIPTOR

    method: Method = replace(APPEND, request_type=Undecodable)  # type: ignore[arg-type]
    with pytest.raises(InvalidField) as refused:
        method.parse(raw)
    assert refused.value.metadata["field"] == named


def test_only_requests_with_messages_may_be_large() -> None:
    assert {name for name, method in METHODS.items() if method.takes_messages} == {
        "AppendEvents",
        "AppendStream",
        "ReplaceSuffix",
    }
    raw = bytes(PLAIN_BYTES + 1)
    with pytest.raises(InvalidField) as refused:
        METHODS["ListEvents"].parse(raw)
    assert refused.value.metadata["field"] == "request"
    assert str(PLAIN_BYTES) in refused.value.message


def test_what_compressed_bytes_may_become_depends_on_their_number() -> None:
    assert most_decompressed(19_000, 32 << 20) == 1_900_000
    assert most_decompressed(200, 32 << 20) == 1 << 20
    assert most_decompressed(20_000_000, 32 << 20) == 32 << 20
