"""The formats of messages that adapters share, without their frameworks: no message is refused, and each comes back equal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.formats import agent_framework, llama_index
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.message_pb2 import ROLE_ASSISTANT, ROLE_TOOL, ROLE_USER, ChatMessage, DataPart, MediaPart, Part

FORMATS = (agent_framework, llama_index)
PNG = "iVBORw0KGgo="
TEXTS = st.text(max_size=8) | st.sampled_from(["\ud800", "data:image/png;base64,!", "data:,x", f"data:image/png;base64,{PNG}"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda each: st.lists(each, max_size=3) | st.dictionaries(TEXTS, each, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "text",
    "uri",
    "url",
    "path",
    "call_id",
    "arguments",
    "result",
    "items",
    "exception",
    "usage_details",
    "content",
    "output",
)
KINDS = (
    "text",
    "text_reasoning",
    "data",
    "uri",
    "hosted_file",
    "function_call",
    "function_result",
    "usage",
    "mcp_server_tool_result",
)
BLOCKS = ("text", "thinking", "image", "audio", "video", "document", "tool_call", "citable", "citation", "cache")
PARTS = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4)
CONTENTS = st.builds(lambda kind, rest: {"type": kind, **rest}, st.sampled_from(KINDS) | TEXTS, PARTS)
LLAMA_BLOCKS = st.builds(lambda kind, rest: {"block_type": kind, **rest}, st.sampled_from(BLOCKS) | TEXTS, PARTS)
ROLES = st.sampled_from(["system", "user", "assistant", "tool", "function", "model"]) | JSON


@given(role=ROLES, contents=st.lists(CONTENTS | JSON, max_size=3) | JSON)
def test_any_message_of_the_agent_framework_comes_back_equal(role: Any, contents: Any) -> None:
    item = {"role": role, "contents": contents if isinstance(contents, list) else []}
    assert agent_framework.items_of(stored(agent_framework.event_of(item))) == [item]


@given(role=ROLES, blocks=st.lists(LLAMA_BLOCKS | JSON, max_size=3) | JSON, extra=JSON)
def test_any_message_of_llama_index_comes_back_equal(role: Any, blocks: Any, extra: Any) -> None:
    item = {"role": role, "blocks": blocks, "additional_kwargs": extra}
    assert llama_index.items_of(stored(llama_index.event_of(item))) == [item]


def stored(event: SessionEvent) -> SessionEvent:
    """The event as a server returns it."""
    return SessionEvent.FromString(event.SerializeToString())


@pytest.mark.parametrize("read", FORMATS)
def test_event_without_what_a_format_has_is_no_message(read: Any) -> None:
    refusal = Part(data=DataPart(type="openai.refusal", json='"no"'))
    assert read.items_of(SessionEvent(message=ChatMessage(role=ROLE_ASSISTANT, parts=[refusal]))) == []
    assert read.items_of(SessionEvent(message=ChatMessage(role=ROLE_USER))) == []


def test_usage_of_a_message_is_that_of_all_its_contents() -> None:
    details = {"input_token_count": 3, "output_token_count": 2, "total_token_count": None, "reasoning_output_token_count": 1}
    item = {"role": "assistant", "contents": [{"type": "usage", "usage_details": details}] * 2}
    usage = agent_framework.event_of(item).usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.reasoning_tokens) == (6, 4, 0, 2)


@pytest.mark.parametrize(
    ("block", "content"),
    [
        (
            {"block_type": "image", "image": PNG, "image_mimetype": "image/png"},
            {"type": "data", "uri": f"data:image/png;base64,{PNG}", "media_type": "image/png"},
        ),
        (
            {"block_type": "image", "url": "https://a.example/b.png", "image_mimetype": "image/png"},
            {"type": "uri", "uri": "https://a.example/b.png", "media_type": "image/png"},
        ),
        (
            {"block_type": "audio", "audio": "UklGRg==", "format": "wav"},
            {"type": "data", "uri": "data:audio/wav;base64,UklGRg==", "media_type": "audio/wav"},
        ),
        (
            {"block_type": "video", "url": "https://a.example/b.mp4", "video_mimetype": "video/mp4"},
            {"type": "uri", "uri": "https://a.example/b.mp4", "media_type": "video/mp4"},
        ),
        (
            {"block_type": "document", "data": "JVBERg==", "document_mimetype": "application/pdf", "title": "b.pdf"},
            {"type": "data", "uri": "data:application/pdf;base64,JVBERg==", "media_type": "application/pdf", "name": "b.pdf"},
        ),
        ({"block_type": "thinking", "content": "Hm."}, {"type": "text_reasoning", "text": "Hm."}),
        (
            {"block_type": "tool_call", "tool_call_id": "c", "tool_name": "t", "tool_kwargs": {"a": 1}},
            {"type": "function_call", "call_id": "c", "name": "t", "arguments": '{"a": 1}'},
        ),
    ],
)
def test_content_of_one_framework_is_that_of_the_other(block: dict[str, Any], content: dict[str, Any]) -> None:
    of_llama = llama_index.event_of({"role": "user", "blocks": [block]}, "e1")
    of_agent = agent_framework.event_of({"role": "user", "contents": [content]}, "e1")
    assert agent_framework.items_of(of_llama) == [{"role": "user", "contents": [content], "message_id": "e1"}]
    assert llama_index.items_of(of_agent) == [{"role": "user", "blocks": [block]}]


def test_results_of_one_event_are_a_message_each_for_llama_index() -> None:
    results = [{"type": "function_result", "call_id": f"c{n}", "result": str(n), "exception": None} for n in range(2)]
    items = llama_index.items_of(agent_framework.event_of({"role": "tool", "contents": results}))
    assert [item["additional_kwargs"] for item in items] == [{"tool_call_id": "c0"}, {"tool_call_id": "c1"}]


def test_file_of_a_provider_is_no_block() -> None:
    part = Part(media=MediaPart(file_id="f1", mime_type="image/png"))
    event = SessionEvent(event_id="e", message=ChatMessage(role=ROLE_TOOL, parts=[part]))
    assert llama_index.items_of(event) == []
    (item,) = agent_framework.items_of(event)
    assert item["contents"] == [{"type": "hosted_file", "file_id": "f1", "media_type": "image/png"}]
