"""OpenAI messages become events, and events messages, without a loss."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from threadkeep import assistant, text_of, tool_call, tool_result, user
from threadkeep.cli.formats.items import FieldError
from threadkeep.formats.openai import NATIVE, event_of, message_of
from threadkeep.v1.message_pb2 import Role

PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()


def kinds(message: dict[str, Any]) -> list[str | None]:
    return [part.WhichOneof("content") for part in event_of(message, "e").message.parts]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("system", Role.ROLE_SYSTEM),
        ("developer", Role.ROLE_SYSTEM),
        ("user", Role.ROLE_USER),
        ("assistant", Role.ROLE_ASSISTANT),
    ],
)
def test_roles(role: str, expected: int) -> None:
    event = event_of({"role": role, "content": "hi", "name": "bob"}, "e1")
    assert (event.event_id, event.message.role, event.author, text_of(event)) == ("e1", expected, "bob", "hi")


def test_arguments_are_kept_verbatim() -> None:
    arguments = '{"b":  1e400,\n "a": 9007199254740993, "a": "\\u00e9"}'
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    event = event_of({"role": "assistant", "content": None, "tool_calls": [call, call]}, "e")
    (first, second) = (part.tool_call for part in event.message.parts)
    assert (first.id, first.name, first.kind, first.arguments_json) == ("call_1", "f", "function", arguments)
    assert second == first  # ids may repeat


def test_content_comes_before_the_calls() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert kinds({"role": "assistant", "content": "wait", "tool_calls": [call]}) == ["text", "tool_call"]


def test_custom_and_legacy_calls_and_arguments_that_are_no_text() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "grep", "input": "a|b"}}
    event = event_of({"role": "assistant", "tool_calls": [custom], "function_call": {"name": "g", "arguments": {"x": 1}}}, "e")
    first, second = (part.tool_call for part in event.message.parts)
    assert (first.kind, first.name, first.arguments_json) == ("custom", "grep", "a|b")
    assert (second.kind, second.name, second.arguments_json) == ("function", "g", '{"x": 1}')


def test_a_tool_message_is_one_result() -> None:
    event = event_of({"role": "tool", "tool_call_id": "c", "name": "f", "content": "42"}, "e")
    result = event.message.parts[0].tool_result
    assert (event.message.role, result.call_id, result.name, result.parts[0].text) == (Role.ROLE_TOOL, "c", "f", "42")


def test_parts_of_every_kind() -> None:
    sound = base64.b64encode(b"RIFF").decode()
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}},
        {"type": "file", "file": {"file_id": "file-1", "filename": "a.pdf"}},
        {"type": "refusal", "refusal": "no"},
        {"type": "hologram", "shape": [1]},
    ]
    parts = event_of({"role": "user", "content": content}, "e").message.parts
    assert [part.WhichOneof("content") for part in parts] == ["text", "media", "media", "media", "media", "data", "data"]
    assert (parts[1].media.uri, parts[1].media.detail) == ("https://x/y.png", "low")
    assert (parts[2].media.uri, parts[2].media.mime_type) == (PNG, "image/png")
    assert (parts[3].media.data, parts[3].media.mime_type) == (b"RIFF", "audio/wav")
    assert (parts[4].media.file_id, parts[4].media.name) == ("file-1", "a.pdf")
    assert (parts[5].data.type, parts[5].data.json) == ("openai.refusal", '"no"')
    assert (parts[6].data.type, json.loads(parts[6].data.json)) == ("openai.hologram", content[6])


def test_reasoning_refusal_and_audio_next_to_the_content() -> None:
    message = {"role": "assistant", "reasoning_content": "hm", "content": None, "refusal": "no", "audio": {"id": "a"}}
    assert kinds(message) == ["reasoning", "data", "data"]


@pytest.mark.parametrize("content", [None, "", "hé 你好 🎉 e\u0301", "\x00", [], ["a", "b"]])
def test_the_native_form_is_the_message_itself(content: object) -> None:
    message = {"role": "user", "content": content, "unknown": {"n": 9007199254740993, "f": 230.0}}
    event = event_of(message, "e")
    assert event.native.format == NATIVE
    assert json.loads(event.native.content) == message
    assert message_of(event) == [message]


def test_lone_surrogates_are_kept_in_the_native_form() -> None:
    message = json.loads('{"role": "user", "content": "a\\ud800b"}')
    event = event_of(message, "e")
    assert text_of(event) == "a\ufffdb"
    assert json.loads(event.native.content) == message


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("hi", "m"),
        ({"content": "hi"}, "m.role"),
        ({"role": "robot"}, "m.role"),
        ({"role": ["user"]}, "m.role"),
        ({"role": "user", "content": 5}, "m.content"),
        ({"role": "user", "content": [{"text": "x"}]}, "m.content[0]"),
        ({"role": "user", "content": ["x", {"type": "text"}]}, "m.content[1].text"),
        ({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "?"}}]}, "m.content[0].input_audio.data"),
        ({"role": "user", "name": 7}, "m.name"),
        ({"role": "assistant", "tool_calls": {}}, "m.tool_calls"),
        ({"role": "assistant", "tool_calls": [1]}, "m.tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [{"type": "function"}]}, "m.tool_calls[0].function"),
        ({"role": "assistant", "tool_calls": [{"function": {"arguments": ""}}]}, "m.tool_calls[0].function.name"),
        ({"role": "tool", "content": "x"}, "m.tool_call_id"),
    ],
)
def test_a_wrong_field_is_named(message: object, field: str) -> None:
    with pytest.raises(FieldError) as caught:
        event_of(message, "e", "m")
    assert caught.value.field == field


def test_events_of_other_writers_become_messages() -> None:
    assert message_of(user("hi", author="bob")) == [{"role": "user", "content": "hi", "name": "bob"}]
    assert message_of(assistant(tool_calls=[tool_call("c", "f", '{"a":1}')])) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
        }
    ]
    assert message_of(tool_result("c", "42", name="f")) == [{"role": "tool", "tool_call_id": "c", "name": "f", "content": "42"}]
    assert message_of(tool_result("c", {"n": 1})) == [{"role": "tool", "tool_call_id": "c", "content": '{"n":1}'}]
