"""The prompt line of a message, on which tokens are counted, and its size."""

from __future__ import annotations

from typing import Any

import pytest

from threadkeep.v1 import message_pb2
from threadkeep_server.domain.model import Tools
from threadkeep_server.transport.wire.prompt_text import Measured, measure

_USER, _ASSISTANT, _TOOL = message_pb2.ROLE_USER, message_pb2.ROLE_ASSISTANT, message_pb2.ROLE_TOOL


def _shown(role: int, *parts: dict[str, Any]) -> Measured:
    return measure(message_pb2.ChatMessage(role=message_pb2.Role.ValueType(role), parts=[message_pb2.Part(**p) for p in parts]))


_CALL = {"tool_call": {"id": "c1", "name": "look", "arguments_json": '{"q":"ü"}'}}
_RESULT = {"tool_result": {"call_id": "c1", "name": "look", "parts": [{"text": "found"}]}}


@pytest.mark.parametrize(
    ("role", "parts", "line", "size", "tools"),
    [
        (_USER, [{"text": "hi"}], "User: hi", 2, Tools.NONE),
        (_USER, [{"text": "ä"}, {"text": "☂"}], "User: ä\n☂", 5, Tools.NONE),
        (_ASSISTANT, [_CALL], 'Assistant [tool calls: look({"q":"ü"})]', 14, Tools.CALLS),
        (
            _ASSISTANT,
            [{"text": "wait"}, _CALL],
            'Assistant: wait [tool calls: look({"q":"ü"})]',
            18,
            Tools.CALLS,
        ),
        (_TOOL, [_RESULT], "Tool [responses: look -> found]", 9, Tools.RESULTS),
        (_TOOL, [_RESULT, _RESULT], "Tool [responses: look -> found, look -> found]", 18, Tools.RESULTS),
        (_ASSISTANT, [{"reasoning": {"text": "hm"}}, {"text": "yes"}], "Assistant: yes", 5, Tools.NONE),
        (_USER, [{"data": {"json": "[1]"}}], "User: [1]", 3, Tools.NONE),
        (_USER, [{"text": "see"}, {"media": {"uri": "s3://b"}}], "User: see", 9, Tools.NONE),
        # Ids, inline media and metadata are not counted.
        (_USER, [{"text": "see"}, {"media": {"data": b"x" * 999}}], "User: see", 3, Tools.NONE),
        (
            _TOOL,
            [{"tool_result": {"call_id": "c", "name": "f", "structured_json": '{"a":1}'}}],
            'Tool [responses: f -> {"a":1}]',
            8,
            Tools.RESULTS,
        ),
        (_ASSISTANT, [_CALL, _RESULT], None, 23, Tools.CALLS | Tools.RESULTS),
    ],
)
def test_a_message_becomes_a_prompt_line(
    role: int, parts: list[dict[str, object]], line: str | None, size: int, tools: Tools
) -> None:
    shown = _shown(role, *parts)
    assert line is None or shown.prompt_text == line
    assert (shown.content_bytes, shown.tools) == (size, tools)


def test_a_message_without_text_becomes_a_placeholder() -> None:
    assert _shown(_USER).prompt_text == _shown(_USER, {"media": {"uri": "s3://b"}}).prompt_text != "User: "
