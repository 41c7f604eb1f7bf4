"""The text of a message in a prompt, on which tokens are counted, and its size."""

from __future__ import annotations

from typing import NamedTuple

from threadkeep.v1 import message_pb2

from ...domain.model import Tools
from ...domain.text import prompt_line


class Measured(NamedTuple):
    """The stored facts of a message; see domain.model.WindowEvent."""

    prompt_text: str
    content_bytes: int
    tools: Tools


def measure(message: message_pb2.ChatMessage) -> Measured:
    """Measures a message in one pass over its parts; every append calls this."""
    texts: list[str] = []
    calls: list[str] = []
    results: list[str] = []
    size = 0
    for part in message.parts:
        kind = part.WhichOneof("content")
        if kind == "text":
            text = part.text
            texts.append(text)
            size += _utf8(text)
        elif kind == "tool_call":
            call = part.tool_call
            calls.append(f"{call.name}({call.arguments_json})")
            size += _utf8(call.name) + _utf8(call.arguments_json)
        elif kind == "tool_result":
            result, content = part.tool_result, _result(part.tool_result)
            results.append(f"{result.name} -> {content.prompt_text}")
            size += _utf8(result.name) + content.content_bytes
        elif kind == "data":
            texts.append(part.data.json)
            size += _utf8(part.data.json)
        elif kind == "reasoning":
            size += _utf8(part.reasoning.text)
        elif kind == "media":
            size += _utf8(part.media.uri)
    tools = _TOOLS[bool(calls), bool(results)]
    return Measured(prompt_line(message.role, "\n".join(texts), calls, results), size, tools)


_TOOLS = {
    (False, False): Tools.NONE,
    (True, False): Tools.CALLS,
    (False, True): Tools.RESULTS,
    (True, True): Tools.CALLS | Tools.RESULTS,
}


def _result(result: message_pb2.ToolResultPart) -> Measured:
    """Measures a tool result without its name."""
    texts = [part.text if part.HasField("text") else part.data.json for part in result.parts]
    uris = [part.media.uri for part in result.parts]
    size = sum(map(_utf8, (*texts, *uris, result.structured_json)))
    return Measured("\n".join(filter(None, texts)) or result.structured_json, size, Tools.NONE)


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
