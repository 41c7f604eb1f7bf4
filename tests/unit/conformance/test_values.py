"""Values in requests, and events in short."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.conformance import forms
from tests.conformance.messages import parse
from tests.conformance.values import resolve
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2 import AppendEventsRequest
from threadkeep.v1.session_service_pb2 import UpdateSessionRequest

NAMES = {"app": "shop", "user": "ada", "n": 7, "part": {"text": "x"}, "i": 0}


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("${app}-${n}", "shop-7"),
        ("${n}", "7"),
        ("${part}", {"text": "x"}),
        ("$5 {n}", "$5 {n}"),
        ({"$ref": "s1"}, {"app": "shop", "user_id": "ada", "session_id": "s1"}),
        ({"session": {"$ref": "${app}"}}, {"session": {"app": "shop", "user_id": "ada", "session_id": "shop"}}),
        ({"$repeat": ["ab", 3]}, "ababab"),
        ({"$concat": ["a", "${n}", {"$repeat": ["b", 2]}]}, "a7bb"),
        ({"$concat": [{"$events": [1, "E"]}, {"assistant": "x"}]}, [{"user": "E 1"}, {"assistant": "x"}]),
        ({"$events": [2, "E"]}, [{"user": "E 1"}, {"user": "E 2"}]),
        ({"$bytes": 2}, "AAE="),
        ([1, True, None], [1, True, None]),
    ],
    ids=repr,
)
def test_placeholders_are_replaced_by_values(value: Any, resolved: Any) -> None:
    assert resolve(value, NAMES) == resolved


def test_bytes_begin_again_after_255() -> None:
    assert base64.b64decode(resolve({"$bytes": 258}, NAMES)) == bytes(range(256)) + b"\x00\x01"


def test_an_unknown_name_is_reported_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"nothing is named \$\{uid\}; known are app, i, n, part, user"):
        resolve({"session": ["${uid}"]}, NAMES)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ({"user": "hi", "author": "a"}, {"author": "a", "message": {"role": "ROLE_USER", "parts": [{"text": "hi"}]}}),
        (
            {"assistant": "x", "calls": [{"id": "c", "name": "n", "arguments_json": "{}"}]},
            {
                "message": {
                    "role": "ROLE_ASSISTANT",
                    "parts": [{"text": "x"}, {"tool_call": {"id": "c", "name": "n", "arguments_json": "{}"}}],
                }
            },
        ),
        (
            {"tool": "ok", "call_id": "c"},
            {
                "message": {
                    "role": "ROLE_TOOL",
                    "parts": [{"tool_result": {"call_id": "c", "parts": [{"text": "ok"}]}}],
                }
            },
        ),
        ({"assistant": None}, {"message": {"role": "ROLE_ASSISTANT", "parts": []}}),
    ],
    ids=repr,
)
def test_events_in_short(short: Any, full: Any) -> None:
    assert forms.expanded(SessionEvent.DESCRIPTOR, short) == full
    parse(SessionEvent, full)


def test_events_in_short_within_a_request_and_within_a_matcher() -> None:
    request = {"session": {"$ref": "s1"}, "events": [{"system": "x"}]}
    full = {"role": "ROLE_SYSTEM", "parts": [{"text": "x"}]}
    assert forms.expanded(AppendEventsRequest.DESCRIPTOR, request)["events"] == [{"message": full}]
    request["events"] = {"$unordered": [{"system": "x"}]}
    assert forms.expanded(AppendEventsRequest.DESCRIPTOR, request)["events"] == {"$unordered": [{"message": full}]}


def test_a_field_mask_may_name_fields_as_the_protos_do() -> None:
    form = forms.expanded(UpdateSessionRequest.DESCRIPTOR, {"update_mask": "metadata_json,labels"})
    assert list(parse(UpdateSessionRequest, form).update_mask.paths) == ["metadata_json", "labels"]


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"evnt_id": "x"}, "evnt_id: a SessionEvent has no field 'evnt_id'; it has event_id"),
        ({"message": {"role": "USER"}}, "message.role: 'USER' is none of ROLE_UNSPECIFIED, ROLE_USER"),
        ({"message": {"parts": {"text": "x"}}}, "message.parts must be a list"),
        ({"message": {"parts": [{"txt": {}}]}}, r"message.parts\[0\].txt: a Part has no field"),
        ({"usage": 3}, "usage must be a mapping, a TokenUsage, not 3"),
        ({"user": "x", "tool": "y"}, "an event has one of message, user"),
        ({"user": "x", "message": {}}, "an event has one of message, user"),
    ],
    ids=repr,
)
def test_an_invalid_event_is_reported_with_its_path(form: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        forms.expanded(SessionEvent.DESCRIPTOR, form)
