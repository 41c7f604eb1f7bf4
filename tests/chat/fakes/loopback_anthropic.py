"""Anthropic's messages for the endpoint of `loopback`, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

USAGE = {
    "input_tokens": 30,
    "cache_read_input_tokens": 20,
    "cache_creation_input_tokens": 5,
    "output_tokens": 12,
    "output_tokens_details": {"thinking_tokens": 3},
}


def message(*content: str | Mapping[str, Any], reason: str = "end_turn", usage: Any = None) -> dict[str, Any]:
    """Returns a whole answer; a string is a block of text."""
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "small-2026",
        "content": [_block(each) for each in content],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage or USAGE,
    }


def tool_use(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def streamed(whole: Mapping[str, Any], *, cut: int = 4, over: bool = True) -> list[Any]:
    """Returns the events of an answer, with texts and arguments in pieces of `cut` characters. `over`: add `message_stop`."""
    head = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    found: list[Any] = [{"type": "message_start", "message": head}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        first, deltas = _pieces(block, cut)
        found.append({"type": "content_block_start", "index": index, "content_block": first})
        found += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        found.append({"type": "content_block_stop", "index": index})
    ending = {"output_tokens": whole["usage"]["output_tokens"], "input_tokens": None}
    found.append({"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]}, "usage": ending})
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in [*found, *([{"type": "message_stop"}] * over)]]


def _block(content: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": content} if isinstance(content, str) else dict(content)


def _pieces(block: Mapping[str, Any], cut: int) -> tuple[dict[str, Any], Sequence[dict[str, Any]]]:
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in cuts(block["text"], cut)]
        case "thinking":
            said = [{"type": "thinking_delta", "thinking": piece} for piece in cuts(block["thinking"], cut)]
            return {**block, "thinking": "", "signature": ""}, [
                *said,
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case "tool_use" | "server_tool_use":
            written = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in cuts(written, cut)]
    return dict(block), []


def cuts(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
