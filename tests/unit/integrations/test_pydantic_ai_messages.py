"""Messages of pydantic-ai, as events and back, without the framework."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from threadkeep import assistant, data, event, media, reasoning, system, text, tool_call, tool_error, tool_result, user
from threadkeep.formats.fields import FieldError
from threadkeep.formats.pydantic_ai import NATIVE, events_of, items_of
from threadkeep.formats.split import part_of
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, Part

WHEN = "2026-11-27T07:00:00.5Z"
PNG = b"\x89PNG\xff\xfe"


def request(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "request", "parts": list(parts), **fields}


def response(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts), **fields}


def only(message: dict[str, Any]) -> SessionEvent:
    (found,) = events_of(message, "e1")
    return found


def typed(part: dict[str, Any], kind: str = "request") -> Part:
    return only({"kind": kind, "parts": [part]}).message.parts[0]


def test_message_comes_back_verbatim() -> None:
    message = request({"part_kind": "user-prompt", "content": "Hi.", "timestamp": WHEN}, run_id="r1", unknown={"a": 1})
    found = only(message)
    assert (found.event_id, found.native.format, found.invocation_id) == ("e1", NATIVE, "r1")
    assert found.event_time.ToJsonString() == "2026-11-27T07:00:00.500Z"
    assert items_of(found) == [message]


def test_request_of_several_roles_is_an_event_for_each_and_one_message() -> None:
    returned = {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": "c1", "content": {"seen": 1}}
    message = request(
        {"part_kind": "system-prompt", "content": "Be brief."},
        returned,
        {"part_kind": "user-prompt", "content": "And now?"},
        {"part_kind": "user-prompt", "content": "Hello?"},
    )
    found = events_of(message, "e1", metadata={"a": 1})
    assert [each.message.role for each in found] == [ROLE_SYSTEM, ROLE_TOOL, ROLE_USER]
    assert [each.event_id for each in found] == ["e1/0", "e1/1", "e1"]
    assert [part_of(each) for each in found] == ["e1", "e1", ""]
    assert [item for each in found for item in items_of(each)] == [message]
    assert [part.text for part in found[2].message.parts] == ["And now?", "Hello?"]
    assert found[2].metadata_json == '{"a": 1}'


def test_response_has_reasoning_text_calls_and_usage() -> None:
    found = only(
        response(
            {"part_kind": "thinking", "content": "Hm.", "signature": "sig", "provider_name": "google"},
            {"part_kind": "text", "content": "Let me see."},
            {"part_kind": "tool-call", "tool_name": "look", "args": {"at": 1}, "tool_call_id": "c1"},
            {"part_kind": "tool-call", "tool_name": "look", "args": '{"at": 2}', "tool_call_id": "c2"},
            usage={"input_tokens": 3, "output_tokens": 4, "cache_read_tokens": 2, "details": {"reasoning_tokens": 1}},
        )
    )
    thought, said, *calls = found.message.parts
    assert (thought.reasoning.text, thought.reasoning.signature, said.text) == ("Hm.", b"sig", "Let me see.")
    assert [(each.tool_call.id, each.tool_call.arguments_json) for each in calls] == [("c1", '{"at": 1}'), ("c2", '{"at": 2}')]
    usage = found.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (3, 4, 7)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (2, 1)
    assert '"reasoning_of": "gemini"' in found.metadata_json


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [("success", False), ("failed", True), ("retried", True), ("denied", False), ("interrupted", False)],
)
def test_outcome_of_a_result_is_an_error_if_the_tool_failed(outcome: str, failed: bool) -> None:
    part = {"part_kind": "tool-return", "tool_name": "t", "tool_call_id": "c", "content": "x", "outcome": outcome}
    assert typed(part).tool_result.is_error is failed


def test_results_are_texts_values_or_media() -> None:
    def result(content: object) -> Part:
        return typed({"part_kind": "tool-return", "tool_name": "t", "tool_call_id": "c", "content": content})

    binary = {"kind": "binary", "media_type": "image/png", "data": base64.urlsafe_b64encode(PNG).decode()}
    assert [part.text for part in result("21").tool_result.parts] == ["21"]
    assert result({"a": None}).tool_result.structured_json == '{"a": null}'
    assert result(None).tool_result.structured_json == "null"
    assert result(binary).tool_result.parts[0].media.data == PNG
    assert [part.WhichOneof("content") for part in result(["see", binary]).tool_result.parts] == ["text", "media"]


def test_retry_prompt_of_older_versions_is_a_failed_result_or_a_text() -> None:
    retry = {"part_kind": "retry-prompt", "content": "again", "tool_call_id": "c"}
    assert typed(retry | {"tool_name": "t"}).tool_result.is_error
    assert typed(retry | {"tool_name": None}).text == "again"


def test_media_of_prompts() -> None:
    content = [
        {"kind": "binary", "media_type": "image/png", "data": base64.b64encode(PNG).decode()},
        {"kind": "image-url", "url": "https://a.example/b", "vendor_metadata": {"detail": "low"}},
        {"kind": "uploaded-file", "file_id": "f1", "provider_name": "openai", "media_type": "text/plain"},
        {"kind": "cache-point"},
        {"kind": "text-content", "content": "noted", "metadata": 1},
    ]
    binary, url, file, note = only(request({"part_kind": "user-prompt", "content": content})).message.parts
    assert (binary.media.data, binary.media.mime_type) == (PNG, "image/png")
    assert (url.media.uri, url.media.mime_type, url.media.detail) == ("https://a.example/b", "image/*", "low")
    assert (file.media.file_id, note.text) == ("f1", "noted")


def test_records_of_the_framework_are_no_content() -> None:
    found = only(request({"part_kind": "model-settings-delta", "settings": {}}, {"part_kind": "user-prompt", "content": "Hi."}))
    assert [part.text for part in found.message.parts] == ["Hi."]
    assert only(request()).message.role == ROLE_USER
    assert only(response()).message.role == ROLE_ASSISTANT


@pytest.mark.parametrize(
    "message",
    [
        "text",
        {"kind": "other"},
        request({"content": "x"}),
        request({"part_kind": "file", "content": {"kind": "binary", "data": "%"}}),
    ],
)
def test_invalid_message_names_its_field(message: Any) -> None:
    with pytest.raises(FieldError):
        events_of(message, "e1")


def rendered(found: SessionEvent, **names: str) -> dict[str, Any]:
    found.record_time.FromJsonString(WHEN)
    (item,) = items_of(found, names)
    return item


def test_events_of_others_are_messages() -> None:
    prompt = rendered(user(["Look.", media("image/png", data=PNG)]))
    assert prompt["kind"] == "request"
    assert prompt["parts"][0]["content"][0] == "Look."
    assert rendered(system("Be brief."))["parts"][0] == {
        "part_kind": "system-prompt",
        "content": "Be brief.",
        "timestamp": "2026-11-27T07:00:00.500Z",
    }
    call = rendered(assistant([reasoning("Hm.", signature=b"s")], tool_calls=[tool_call("c1", "look", {"at": 1})]))
    assert call["parts"] == [
        {"part_kind": "thinking", "content": "Hm."},
        {"part_kind": "tool-call", "tool_name": "look", "args": '{"at":1}', "tool_call_id": "c1"},
    ]


def test_signature_of_a_known_provider_is_kept() -> None:
    found = rendered(assistant([reasoning("Hm.", signature=b"s")], metadata={"reasoning_of": "gemini"}))
    assert found["parts"] == [{"part_kind": "thinking", "content": "Hm.", "signature": "s", "provider_name": "google"}]


def test_results_of_others_name_their_tool_and_outcome() -> None:
    (named,) = rendered(tool_result("c1", {"seen": True}), c1="look")["parts"]
    assert (named["tool_name"], named["content"], named["outcome"]) == ("look", {"seen": True}, "success")
    (failed,) = rendered(tool_error("c2", "dark"))["parts"]
    assert (failed["tool_name"], failed["content"], failed["outcome"]) == ("unknown", "dark", "failed")


def test_files_and_data_of_others_are_texts() -> None:
    (said,) = rendered(user([media("", file_id="f1"), data("x", {"a": 1}), text("see")]))["parts"]
    assert said["content"] == '[file f1]\n{"a":1}\nsee'
    (answer,) = rendered(assistant([media("image/png", uri="https://a.example/b.png")]))["parts"]
    assert answer == {"part_kind": "text", "content": "https://a.example/b.png"}


def test_event_without_content_is_no_message() -> None:
    assert items_of(event("tool")) == []
