from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime

import pytest

import threadkeep
from threadkeep import Event, Role, SessionEvent, ToolCall, ToolResult


def test_the_text_role_time_and_metadata_of_an_event_are_read() -> None:
    when = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    event = Event(threadkeep.user(["a", "b"], event_time=when, metadata={"n": 1}, event_id="e1", author="ada"))
    assert (event.text, event.role, event.time, event.metadata) == ("a\nb", Role.USER, when, {"n": 1})
    assert (event.id, event.event_id, event.seq, event.author) == ("e1", "e1", 0, "ada")
    assert event.role == "user"
    assert event.message.parts[0].text == "a"


def test_an_empty_event_has_empty_values() -> None:
    event = Event(SessionEvent())
    assert (event.text, event.time, event.metadata, event.tool_calls, event.tool_results) == ("", None, {}, (), ())
    assert event.role is Role.USER
    assert event.to_dict() == {"role": "user", "text": ""}


def test_tool_calls_and_results_are_values() -> None:
    requested = Event(threadkeep.assistant(tool_calls=[threadkeep.tool_call("c1", "look", '{ "a" : 1 }')]))
    assert requested.tool_calls == (ToolCall("c1", "look", '{ "a" : 1 }'),)
    assert requested.tool_calls[0].args == {"a": 1}
    answered = Event(threadkeep.tool_error("c1", {"b": 2}, name="look"))
    assert answered.tool_results == (ToolResult("c1", "look", '{"b":2}', is_error=True),)
    assert answered.role is Role.TOOL


@pytest.mark.parametrize(("arguments", "problem"), [("{", "are not JSON"), ("[1]", "are not a JSON object")])
def test_arguments_that_are_no_object_raise_value_error(arguments: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"the arguments of the tool call 'c1' {problem}"):
        _ = ToolCall("c1", "look", arguments).args
    assert ToolCall("c1", "look").args == {}


def test_to_dict_is_json_and_leaves_out_empty_values() -> None:
    parts: list[str | threadkeep.Part] = [threadkeep.reasoning("hm"), "Yes.", threadkeep.media("image/png", data=b"1234")]
    stored = threadkeep.event("assistant", parts, event_id="e1", event_time=1_000_000_000, metadata={"a": [1]})
    assert json.loads(json.dumps(Event(stored).to_dict())) == {
        "id": "e1",
        "role": "assistant",
        "text": "Yes.",
        "time": "1970-01-01T00:00:01+00:00",
        "reasoning": "hm",
        "media": [{"mime_type": "image/png", "bytes": 4}],
        "metadata": {"a": [1]},
    }


def test_an_event_is_equal_to_its_message_and_can_be_copied() -> None:
    stored = threadkeep.user("a", event_id="e1")
    event = Event(stored)
    assert event == stored
    assert stored == event
    assert event == Event(threadkeep.user("a", event_id="e1"))
    assert event != Event(threadkeep.user("b", event_id="e1"))
    assert event != "a"
    for other in (copy.copy(event), copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
        assert other == event


def test_an_unknown_attribute_names_the_class() -> None:
    with pytest.raises(AttributeError, match="Event has no attribute 'txt'"):
        _ = Event(SessionEvent()).txt
    with pytest.raises(AttributeError):
        Event(SessionEvent()).seq = 1  # type: ignore[misc]


def test_the_repr_shows_the_text() -> None:
    assert repr(Event(threadkeep.user("hi"))) == "Event(seq=0, role='user', text='hi')"
