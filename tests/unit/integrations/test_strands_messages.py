"""Messages of Strands, as events and back, without the framework."""

from __future__ import annotations

from typing import Any

import pytest

from threadkeep import assistant, data, event, media, reasoning, system, tool_call, tool_error, tool_result, user
from threadkeep.formats.fields import FieldError
from threadkeep.formats.split import emptied, part_of
from threadkeep.formats.strands import NATIVE, events_of, items_of, session_message_of
from threadkeep.formats.strands_media import encoded_bytes
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.message_pb2 import ROLE_TOOL, ROLE_USER, Part

WHEN = "2026-11-27T07:00:00+00:00"
PNG = b"\x89PNG\xff\xfe"


def stored(*content: dict[str, Any], role: str = "user", **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": list(content)}
    return {"message": message, "message_id": 3, "redact_message": None, "created_at": WHEN, "updated_at": WHEN, **fields}


def only(item: dict[str, Any], **fields: Any) -> SessionEvent:
    (found,) = events_of(item, "a/3", **fields)
    return found


def typed(block: dict[str, Any], role: str = "user") -> Part:
    return only(stored(block, role=role)).message.parts[0]


def test_session_message_comes_back_verbatim() -> None:
    item = stored({"text": "Hi."}, unknown={"a": 1})
    found = only(item, author="a", branch="b")
    assert (found.event_id, found.native.format, found.author, found.branch) == ("a/3", NATIVE, "", "b")
    assert found.event_time.ToJsonString() == "2026-11-27T07:00:00Z"
    assert session_message_of(found) == item
    assert items_of(found) == [item["message"]]


def test_redacted_message_is_what_it_was_redacted_to() -> None:
    redacted = {"role": "user", "content": [{"text": "redacted"}]}
    found = only(stored({"text": "secret"}, redact_message=redacted))
    assert [part.text for part in found.message.parts] == ["redacted"]
    assert items_of(found) == [redacted]


def test_results_before_a_prompt_are_an_event_of_their_own() -> None:
    result = {"toolResult": {"toolUseId": "c1", "status": "error", "content": [{"text": "dark"}]}}
    item = stored(result, {"text": "And now?"})
    results, prompt = events_of(item, "a/3")
    assert (results.message.role, results.event_id, part_of(results)) == (ROLE_TOOL, "a/3/0", "a/3")
    assert results.message.parts[0].tool_result.is_error
    assert (prompt.message.role, prompt.event_id, part_of(prompt)) == (ROLE_USER, "a/3", "")
    assert items_of(results) == []
    assert (part_of(emptied(results)), len(emptied(results).message.parts)) == ("a/3", 0)


def test_answer_has_reasoning_calls_usage_and_an_author() -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}
    call = {"toolUse": {"toolUseId": "c1", "name": "look", "input": {"at": 1}}}
    usage = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7, "cacheReadInputTokens": 2}
    message = {"role": "assistant", "content": [thought, call], "metadata": {"usage": usage}}
    found = only({"message": message, "message_id": 1}, author="clerk")
    first, second = found.message.parts
    assert (first.reasoning.text, first.reasoning.signature) == ("Hm.", b"s")
    assert (second.tool_call.id, second.tool_call.arguments_json) == ("c1", '{"at": 1}')
    assert (found.usage.total_tokens, found.usage.cached_tokens, found.author) == (7, 2, "clerk")
    assert found.metadata_json == '{"reasoning_of": "bedrock"}'


def test_encrypted_reasoning_is_kept() -> None:
    block = {"reasoningContent": {"redactedContent": encoded_bytes(b"\x00\x01")}}
    assert typed(block, "assistant").reasoning.encrypted == b"\x00\x01"


@pytest.mark.parametrize(
    ("block", "mime_type"),
    [
        ({"image": {"format": "png", "source": {"bytes": encoded_bytes(PNG)}}}, "image/png"),
        ({"image": {"format": "jpeg", "source": {"bytes": encoded_bytes(PNG)}}}, "image/jpeg"),
        ({"document": {"format": "pdf", "name": "a", "source": {"bytes": encoded_bytes(PNG)}}}, "application/pdf"),
        ({"video": {"format": "mov", "source": {"bytes": encoded_bytes(PNG)}}}, "video/quicktime"),
        ({"audio": {"format": "wav", "source": {"bytes": encoded_bytes(PNG)}}}, "audio/wav"),
    ],
)
def test_media_has_its_type_and_bytes(block: dict[str, Any], mime_type: str) -> None:
    part = typed(block)
    assert (part.media.mime_type, part.media.data) == (mime_type, PNG)
    found = user([part])
    assert items_of(found)[0]["content"] == [block]


def test_media_in_a_bucket_is_a_reference() -> None:
    block = {"image": {"format": "png", "source": {"location": {"type": "s3", "uri": "s3://a/b"}}}}
    assert typed(block).media.uri == "s3://a/b"
    assert items_of(user([typed(block)]))[0]["content"] == [block]


def test_other_blocks() -> None:
    assert typed({"guardContent": {"text": {"text": "guarded"}}}).text == "guarded"
    assert typed({"citationsContent": {"content": [{"text": "cited"}], "citations": []}}, "assistant").text == "cited"
    assert typed({"new": {"a": 1}}).data.type == "strands.new"
    assert len(only(stored({"cachePoint": {"type": "default"}}, {"text": "Hi."})).message.parts) == 1


def test_result_of_one_value_is_structured() -> None:
    def result(*content: dict[str, Any]) -> Part:
        return typed({"toolResult": {"toolUseId": "c", "status": "success", "content": list(content)}})

    assert result({"json": {"a": None}}).tool_result.structured_json == '{"a": null}'
    assert [part.text for part in result({"text": "1"}, {"text": "2"}).tool_result.parts] == ["1", "2"]
    image = {"image": {"format": "png", "source": {"bytes": encoded_bytes(PNG)}}}
    assert result(image).tool_result.parts[0].media.data == PNG


@pytest.mark.parametrize(
    "item",
    [
        {},
        {"message": {"role": "system", "content": []}},
        {"message": {"role": "user", "content": "text"}},
        stored({"image": {"format": "png", "source": {}}}),
    ],
)
def test_invalid_message_names_its_field(item: dict[str, Any]) -> None:
    with pytest.raises(FieldError):
        events_of(item, "a/3")


def content(found: SessionEvent) -> list[dict[str, Any]]:
    (item,) = items_of(found)
    blocks: list[dict[str, Any]] = item["content"]
    return blocks


def test_events_of_others_are_messages() -> None:
    assert items_of(user("Hi.", event_id="e1")) == [{"role": "user", "content": [{"text": "Hi."}], "tracking_id": "e1"}]
    thought = reasoning("Hm.", signature=b"s")
    assert content(assistant([thought], tool_calls=[tool_call("c1", "look", {"at": 1})])) == [
        {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
        {"toolUse": {"toolUseId": "c1", "name": "look", "input": {"at": 1}}},
    ]
    signed = content(assistant([thought], metadata={"reasoning_of": "bedrock"}))
    assert signed == [{"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}]


def test_results_of_others_have_a_status() -> None:
    assert content(tool_result("c1", {"seen": True})) == [
        {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"json": {"seen": True}}]}}
    ]
    assert content(tool_error("c2", "dark"))[0]["toolResult"]["status"] == "error"


def test_what_strands_has_no_block_for_is_a_text() -> None:
    image = media("image/png", uri="https://a.example/b.png")
    assert content(user([image, media("", file_id="f1"), data("x", {"a": 1}), media("image/tiff", data=b"1")])) == [
        {"text": "https://a.example/b.png"},
        {"text": "f1"},
        {"text": '{"a":1}'},
        {"text": "[image/tiff]"},
    ]


def test_instructions_are_no_message_and_summaries_are() -> None:
    assert items_of(system("Be brief.")) == []
    assert content(system("They met.", synthetic=True)) == [{"text": "They met."}]
    assert items_of(event("tool")) == []
