"""Every kind of item of the Responses API becomes parts that other frameworks read."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from openai.types.responses import ResponseInputItemParam

from threadkeep.formats import responses
from threadkeep.v1.message_pb2 import Part, Role

PNG = "iVBORw0KGgo="
ITEMS: list[tuple[str, list[str], dict[str, Any]]] = [
    ("user", ["text"], {"role": "user", "content": "Hi"}),
    ("system", ["text"], {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}),
    (
        "assistant",
        ["text", "data"],
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hm.", "annotations": []}, {"type": "refusal", "refusal": "No."}],
        },
    ),
    (
        "user",
        ["media", "media", "media", "media"],
        {
            "role": "user",
            "content": [
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"},
                {"type": "input_image", "file_id": "file_1"},
                {"type": "input_file", "file_url": "https://a.example/b.pdf"},
                {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}},
            ],
        },
    ),
    (
        "assistant",
        ["tool_call", "tool_result"],
        {"type": "file_search_call", "id": "fs_1", "queries": ["q"], "status": "completed", "results": [{"text": "found"}]},
    ),
    (
        "assistant",
        ["tool_call"],
        {"type": "computer_call", "id": "cu_1", "call_id": "c1", "action": {"type": "wait"}, "status": "completed"},
    ),
    (
        "tool",
        ["tool_result"],
        {
            "type": "computer_call_output",
            "call_id": "c1",
            "output": {"type": "computer_screenshot", "image_url": "https://a/b.png"},
        },
    ),
    (
        "assistant",
        ["tool_call", "tool_result"],
        {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "q"}, "status": "completed"},
    ),
    ("assistant", ["tool_call"], {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}),
    ("tool", ["tool_result"], {"type": "function_call_output", "call_id": "c1", "output": "ok"}),
    ("assistant", ["tool_call"], {"type": "tool_search_call", "call_id": "c1", "arguments": {"query": "q"}}),
    ("tool", ["tool_result"], {"type": "tool_search_output", "call_id": "c1", "tools": [{"type": "function", "name": "f"}]}),
    ("assistant", ["data"], {"type": "additional_tools", "role": "developer", "tools": []}),
    ("assistant", ["data"], {"type": "configuration_update", "reasoning": {"effort": "low"}}),
    (
        "assistant",
        ["reasoning"],
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Think."}],
            "encrypted_content": "Zm9v",
        },
    ),
    ("assistant", ["data"], {"type": "compaction", "encrypted_content": "Zm9v"}),
    (
        "assistant",
        ["tool_call", "tool_result"],
        {"type": "image_generation_call", "id": "ig_1", "result": PNG, "status": "completed"},
    ),
    (
        "assistant",
        ["tool_call", "tool_result"],
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "code": "1+1",
            "container_id": "cn_1",
            "outputs": [{"type": "logs", "logs": "2"}, {"type": "image", "url": "https://a/b"}],
            "status": "completed",
        },
    ),
    ("assistant", ["tool_call"], {"type": "local_shell_call", "id": "ls_1", "call_id": "c1", "action": {"command": ["ls"]}}),
    ("tool", ["tool_result"], {"type": "local_shell_call_output", "id": "c1", "output": "a"}),
    ("assistant", ["tool_call"], {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}}),
    (
        "tool",
        ["tool_result"],
        {
            "type": "shell_call_output",
            "call_id": "c1",
            "output": [{"stdout": "a", "stderr": "b", "outcome": {"type": "exit", "exit_code": 1}}],
        },
    ),
    (
        "assistant",
        ["tool_call"],
        {"type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file", "path": "a"}, "status": "completed"},
    ),
    ("tool", ["tool_result"], {"type": "apply_patch_call_output", "call_id": "c1", "status": "failed", "output": "no file"}),
    ("assistant", ["data"], {"type": "mcp_list_tools", "id": "ml_1", "server_label": "s", "tools": []}),
    (
        "assistant",
        ["data"],
        {"type": "mcp_approval_request", "id": "ma_1", "name": "f", "arguments": "{}", "server_label": "s"},
    ),
    ("tool", ["data"], {"type": "mcp_approval_response", "approval_request_id": "ma_1", "approve": True}),
    (
        "assistant",
        ["tool_call", "tool_result"],
        {"type": "mcp_call", "id": "mc_1", "name": "f", "arguments": "{}", "server_label": "s", "error": "gone"},
    ),
    (
        "tool",
        ["tool_result"],
        {"type": "custom_tool_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "ok"}]},
    ),
    ("assistant", ["tool_call"], {"type": "custom_tool_call", "call_id": "c1", "name": "f", "input": "raw text"}),
    ("assistant", ["data"], {"type": "compaction_trigger"}),
    ("assistant", ["data"], {"type": "item_reference", "id": "msg_1"}),
    ("assistant", ["tool_call"], {"type": "program", "id": "p_1", "call_id": "c1", "code": "f()", "fingerprint": "x"}),
    ("tool", ["tool_result"], {"type": "program_output", "id": "p_1", "call_id": "c1", "result": "2", "status": "completed"}),
]


@pytest.mark.parametrize(("role", "parts", "item"), ITEMS, ids=[item.get("type", "easy") for _, _, item in ITEMS])
def test_item_becomes_parts_and_comes_back(role: str, parts: list[str], item: dict[str, Any]) -> None:
    event = responses.event_of(item, "e1", invocation_id="run")
    assert Role.Name(event.message.role) == f"ROLE_{role.upper()}"
    assert [part.WhichOneof("content") for part in event.message.parts] == parts
    assert responses.items_of(event) == [item]
    assert (event.event_id, event.invocation_id) == ("e1", "run")
    event.ClearField("native")
    for rendered in responses.items_of(event):
        again = responses.event_of(rendered, "e2")
        assert all(again.message.parts), "what is rendered is an item of this format"


def test_all_items_of_the_api_are_tested() -> None:
    known = {each for kind in get_args(ResponseInputItemParam) for each in get_args(_unwrapped(get_type_hints(kind)["type"]))}
    assert known - {type(None)} == {item.get("type", "message") for _, _, item in ITEMS}


def _unwrapped(hint: Any) -> Any:
    """The Literal of a type, which may be optional."""
    found = [each for each in get_args(hint) if get_args(each)]
    return found[0] if found else hint


def parts_of(kind: str) -> list[Part]:
    return list(responses.event_of(next(item for _, _, item in ITEMS if item.get("type") == kind), "e").message.parts)


@pytest.mark.parametrize("kind", ["apply_patch_call_output", "shell_call_output"])
def test_failed_tool_is_an_error(kind: str) -> None:
    assert parts_of(kind)[0].tool_result.is_error


def test_failed_hosted_call_is_an_error_with_its_text() -> None:
    call, result = parts_of("mcp_call")
    assert (call.tool_call.id, call.tool_call.name, call.tool_call.kind) == ("mc_1", "f", "mcp_call")
    assert (result.tool_result.call_id, result.tool_result.is_error, result.tool_result.parts[0].text) == ("mc_1", True, "gone")


def test_media_in_a_data_url_is_kept_as_bytes() -> None:
    image, file, document, sound = responses.event_of(ITEMS[3][2], "e").message.parts
    assert (image.media.mime_type, image.media.data[:4], image.media.detail) == ("image/png", b"\x89PNG", "low")
    assert (file.media.mime_type, file.media.file_id) == ("image/*", "file_1")
    assert (document.media.mime_type, document.media.uri) == ("application/pdf", "https://a.example/b.pdf")
    assert (sound.media.mime_type, sound.media.data[:4]) == ("audio/wav", b"\x89PNG")


def test_reasoning_keeps_its_encrypted_form_and_its_provider() -> None:
    event = responses.event_of(ITEMS[14][2], "e")
    assert event.message.parts[0].reasoning.encrypted == b"Zm9v"
    event.ClearField("native")
    assert responses.items_of(event)[0]["encrypted_content"] == "Zm9v"
    event.metadata_json = '{"reasoning_of":"anthropic"}'
    assert "encrypted_content" not in responses.items_of(event)[0]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "message", "role": 7, "content": {"a": 1}},
        {"type": "function_call", "call_id": None, "arguments": {"already": "parsed"}},
        {"type": "shell_call_output", "output": ["text", {"outcome": 3}]},
        {"type": "input_file"},
        {"type": 5},
        {
            "role": "user",
            "content": [{"type": "input_image", "image_url": "data:image/png;base64,!"}, 7, {"type": "input_audio"}],
        },
        {},
    ],
)
def test_item_of_an_odd_shape_is_stored(item: dict[str, Any]) -> None:
    assert responses.items_of(responses.event_of(item, "e")) == [item]
