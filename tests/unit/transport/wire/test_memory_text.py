"""The stored content of an event in long-term memory, and the text for models."""

from __future__ import annotations

import pytest

from threadkeep import SessionEvent, assistant, event, media, reasoning, tool_call, tool_result, tool_result_part, user
from threadkeep.v1.message_pb2 import ChatMessage, Part, ToolResultPart
from threadkeep_server.domain.model import SECOND_NS, Role
from threadkeep_server.service.memory.memories import RememberedEvent
from threadkeep_server.transport.wire.memory_text import MemoryTextReader, searched_text

READER = MemoryTextReader()
TIME = 1_750_000_000 * SECOND_NS + 5


def remembered(said: SessionEvent, *, tools: bool = False, thoughts: bool = False) -> RememberedEvent | None:
    return READER.remember(said.SerializeToString(), include_tools=tools, include_reasoning=thoughts)


def parts_of(found: RememberedEvent | None) -> list[Part]:
    assert found is not None
    return list(ChatMessage.FromString(found.content).parts)


def test_text_is_stored_with_author_and_time() -> None:
    said = user("I like tea", event_id="e1", author="me", event_time=TIME)
    found = remembered(said)
    assert found == RememberedEvent("e1", said.message.SerializeToString(), "I like tea", "me", TIME)


def test_the_record_time_is_used_without_an_event_time() -> None:
    said = user("I like tea")
    said.record_time.FromNanoseconds(TIME)
    found = remembered(said)
    assert found is not None
    assert found.time == READER.show(said.SerializeToString()).time == TIME


@pytest.mark.parametrize(
    "said",
    [user(""), user(" \n"), event("assistant", []), assistant(tool_calls=[tool_call("c", "f", {})]), tool_result("c", "21")],
)
def test_an_event_without_text_is_not_stored(said: SessionEvent) -> None:
    assert remembered(said) is None


def test_tools_and_reasoning_are_stored_on_request() -> None:
    said = event("assistant", [reasoning("They like sun."), "Let me look.", tool_call("c1", "weather", {"city": "Lisbon"})])
    assert [part.WhichOneof("content") for part in parts_of(remembered(said))] == ["text"]
    assert [part.WhichOneof("content") for part in parts_of(remembered(said, tools=True))] == ["text", "tool_call"]
    both = remembered(said, tools=True, thoughts=True)
    assert [part.text for part in parts_of(both)[:2]] == ["They like sun.", "Let me look."], "thoughts are found like text"
    assert both is not None
    assert both.text == 'They like sun.\nLet me look.\nweather\n{"city":"Lisbon"}'


def test_results_are_stored_without_media() -> None:
    image = media("image/png", data=b"x" * 1000, name="map.png")
    inner = tool_result_part("c2", ["deep", image], name="inner")
    (part,) = parts_of(
        remembered(event("tool", [tool_result_part("c1", ["21 degrees", image, inner], name="weather")]), tools=True)
    )
    text = Part(text="21 degrees")
    deep = ToolResultPart(call_id="c2", name="inner", parts=[Part(text="deep")])
    assert part.tool_result == ToolResultPart(call_id="c1", name="weather", parts=[text, Part(tool_result=deep)])


def test_the_searched_text_contains_every_field() -> None:
    assert searched_text(user("tea").message) == "tea"
    result = event(
        "tool", [tool_result_part("c1", {"degrees": 21}, name="weather"), media("image/png", uri="x:y", name="map.png")]
    )
    assert searched_text(result.message) == 'weather\n{"degrees":21}\nmap.png'
    assert searched_text(ChatMessage()) == ""


def test_a_model_receives_text_and_facts() -> None:
    said = assistant("Hello", event_id="e1", author="agent", event_time=TIME)
    said.seq = 7
    shown = READER.show(said.SerializeToString())
    assert (shown.event_id, shown.seq, shown.role, shown.author, shown.time) == ("e1", 7, Role.ASSISTANT, "agent", TIME)
    assert shown.text == "Hello"
    assert READER.show(tool_result("c1", "21", name="weather").SerializeToString()).text == "weather\n21"


def test_the_texts_of_a_memory_are_decoded() -> None:
    texts = READER.memory_texts(assistant("Hello", tool_calls=[tool_call("c", "f", "{}")]).message.SerializeToString())
    assert texts == ("Hello", "f\n{}", "", "")
