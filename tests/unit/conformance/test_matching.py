"""What counts as the expected answer, and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from tests.conformance.matching import differences
from tests.conformance.messages import plain
from threadkeep.v1.event_pb2 import NativeContent, SessionEvent
from threadkeep.v1.message_pb2 import ROLE_USER, ChatMessage, Part
from threadkeep.v1.session_pb2 import Session

EVENT = plain(
    SessionEvent(
        event_id="e1",
        seq=2**53 + 1,
        message=ChatMessage(role=ROLE_USER),
        native=NativeContent(format="x/1", content=b"\x00\xff"),
        event_time=Timestamp(seconds=1, nanos=500_000_000),
    )
)

SAME: list[tuple[Any, Any]] = [
    ({}, EVENT),
    ({"event_id": "e1", "message": {"role": "ROLE_USER"}}, EVENT),
    ({"seq": 2**53 + 1}, EVENT),
    ({"seq": str(2**53 + 1)}, EVENT),
    ({"author": "", "archived": False, "token_estimate": 0, "message": {"parts": []}, "usage": {}}, EVENT),
    ({"usage": {"input_tokens": 0}}, EVENT),
    ({"native": {"content": "AP8="}}, EVENT),
    ({"native": {"content": {"$len": 2}}}, EVENT),
    ({"event_time": "1970-01-01T00:00:01.5Z"}, EVENT),
    ({"event_time": "1970-01-01T00:00:01.500000000Z"}, EVENT),
    ({"event_id": {"$any": True}, "author": {"$absent": True}, "native": {"$any": True}}, EVENT),
    ({"text": {"$set": True}, "media": {"$set": False}}, plain(Part(text=""))),
    ({"kind": "SESSION_CHANGE_KIND_UNSPECIFIED"}, {}),
    ({"$regex": "^a.c$"}, "abc"),
    ({"$gt": 1}, 2),
    ({"$gte": 2}, 2),
    ({"$gt": "1"}, 2),
    ({"$lt": 1}, 0),
    ({"n": {"$lt": 1}}, {}),
    ({"$len": 0}, []),
    ({"$contains": "b"}, "abc"),
    ({"$contains": {"seq": 2}}, [{"seq": 1}, {"seq": 2}]),
    ({"$unordered": [1, 2]}, [2, 1]),
    ({"$unordered": [{"$any": True}, {"a": 1}]}, [{"a": 1}, {"b": 1}]),
]
OTHER: list[tuple[Any, Any, str]] = [
    ({"seq": 2**53}, EVENT, "seq"),
    ({"seq": float(2**53 + 2)}, EVENT, "seq"),
    ({"event_id": "E1"}, EVENT, "event_id"),
    ({"event_id": {"$absent": True}}, EVENT, "event_id"),
    ({"author": {"$any": True}}, EVENT, "author"),
    ({"author": "ada"}, EVENT, "author"),
    ({"message": {"parts": [{}]}}, EVENT, "message.parts"),
    ({"native": {"content": "AP4="}}, EVENT, "native.content"),
    ({"native": {"content": "/wA="}}, EVENT, "native.content"),
    ({"event_time": "1970-01-01T00:00:01.500000001Z"}, EVENT, "event_time"),
    ({"usage": {"input_tokens": 1}}, EVENT, "usage.input_tokens"),
    ({"text": {"$set": False}}, plain(Part(text="")), "text"),
    ({"text": {"$set": True}}, plain(Part()), "text"),
    (True, 1, ""),
    (1, True, ""),
    ("1", "01", ""),
    ([1], [1, 2], ""),
    ([{"a": 1}], [{"a": 2}], "[0].a"),
    ({"$regex": "^b"}, "abc", ""),
    ({"$gt": 2}, 2, ""),
    ({"$gte": 3}, 2, ""),
    ({"$lt": 2}, 2, ""),
    ({"$gt": 1}, "2", ""),
    ({"$len": 1}, "", ""),
    ({"$contains": "d"}, "abc", ""),
    ({"$contains": {"seq": 3}}, [{"seq": 1}], ""),
    ({"$unordered": [1, 1]}, [1, 2], ""),
    ({"$unordered": [{"a": 1}, {"a": 1}]}, [{"a": 1}, {"a": 2}], ""),
    ({"a": 1}, [1], ""),
]


@pytest.mark.parametrize(("expected", "came"), SAME, ids=repr)
def test_expected_values_match(expected: Any, came: Any) -> None:
    assert differences(expected, came) == []


@pytest.mark.parametrize(("expected", "came", "path"), OTHER, ids=repr)
def test_unexpected_values_are_reported_with_their_path(expected: Any, came: Any, path: str) -> None:
    assert [each.path for each in differences(expected, came)] == [path]


def test_every_difference_is_reported_with_expected_and_actual_value() -> None:
    found = differences({"a": 1, "b": [{"c": "x"}], "d": 2}, {"a": 2, "b": [{"c": "y"}], "d": 2})
    assert [str(each) for each in found] == ["at a: expected 1, got 2", "at b[0].c: expected 'x', got 'y'"]


def test_an_unknown_enum_number_is_shown_as_a_number() -> None:
    message = ChatMessage()
    message.MergeFromString(b"\x08\x63")
    assert plain(message) == {"role": 99}


def test_a_scalar_that_is_not_set_has_a_default_and_a_message_has_none() -> None:
    fields = plain(Session())
    assert (fields.default("log_version"), fields.default("metadata_json")) == (0, "")
    with pytest.raises(KeyError):
        fields.default("window")
    with pytest.raises(KeyError):
        fields.default("nonsense")
