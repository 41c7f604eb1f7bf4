"""Events of ADK without ADK: odd items, as a database may have them."""

from __future__ import annotations

from typing import Any

import pytest

from threadkeep.formats import adk

ITEM = {"id": "e1", "author": "user", "timestamp": 1.5, "content": {"role": "user", "parts": [{"text": "hi"}]}}


@pytest.mark.parametrize(
    "odd",
    [
        {"content": {"parts": "text"}},
        {"content": {"parts": [None, 1, {"text": 2}, {}]}},
        {"content": []},
        {"content": {"parts": [{"function_response": {"parts": [1], "response": []}}, {"function_call": 1}]}},
        {"content": {"parts": [{"inline_data": {"data": "not base64!", "mime_type": 1}}]}},
        {"actions": []},
        {"actions": {"compaction": "x"}},
        {"usage_metadata": {"prompt_token_count": "many", "total_token_count": -1, "thoughts_token_count": 2**70}},
        {"timestamp": 1e300},
        {"timestamp": float("nan")},
        {"timestamp": "yesterday"},
        {"timestamp": -1e15},
        {"author": "x" * 300, "branch": "..", "id": None},
    ],
)
def test_odd_item_is_an_event_that_has_the_item(odd: dict[str, Any]) -> None:
    item = ITEM | odd
    event = adk.event_of(item)
    assert event.native.format == adk.NATIVE
    assert str(adk.items_of(event)) == str([item])
    assert event.message.role


def test_milliseconds_in_place_of_seconds_are_no_time_of_the_event() -> None:
    assert not adk.event_of(ITEM | {"timestamp": 1_700_000_000_000.0}).HasField("event_time")


@pytest.mark.parametrize("seconds", [0.0, -0.5, -1e9, 1e-9, 1.1, 1793498400.000001, 253402300799.0])
def test_time_is_the_same_number_again(seconds: float) -> None:
    assert adk.seconds_of(adk.timestamp_of(seconds)) == seconds


def test_item_of_other_parts_has_their_content_and_the_names_of_tools() -> None:
    call = adk.event_of(ITEM | {"content": {"parts": [{"function_call": {"id": "c1", "name": "f", "args": {"a": 1}}}]}})
    result = adk.event_of(ITEM | {"content": {"parts": [{"function_response": {"id": "c1", "response": {"result": "x"}}}]}})
    names = adk.names_of([call, result])
    assert names == {"c1": "f"}
    (part,) = adk.rendered(result, names)["content"]["parts"]
    assert part == {"function_response": {"id": "c1", "name": "f", "response": {"output": "x"}}}
