"""Content for spans, as JSON in the schemas of OpenTelemetry's conventions for generative AI.

Media are represented by type and size, without their bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..tools.tool import Tool
from ..types.messages import Data, Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from ..types.responses import Generation
from ..types.texts import make_encodable


def input_json(messages: Iterable[Message]) -> str:
    """Returns `gen_ai.input.messages`, including the instructions."""
    return _text([{"role": message.role.value, "parts": _parts(message)} for message in messages])


def output_json(generations: Iterable[Generation]) -> str:
    """Returns `gen_ai.output.messages`, one per generation."""
    return _text(
        [
            {"role": each.message.role.value, "parts": _parts(each.message), "finish_reason": each.finish_reason}
            for each in generations
        ]
    )


def definitions_json(tools: Iterable[Tool]) -> str:
    """Returns `gen_ai.tool.definitions`."""
    return _text(
        [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.definition.description,
                "parameters": tool.definition.input_schema,
            }
            for tool in tools
        ]
    )


def _parts(message: Message) -> list[Mapping[str, Any]]:
    return [_part(part) for part in message.parts]


def _part(part: Part) -> Mapping[str, Any]:
    match part:
        case Text():
            return {"type": "text", "content": part.text}
        case Reasoning():
            return {"type": "reasoning", "content": part.text}
        case ToolCall():
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": _json(part.arguments)}
        case ToolResult():
            return {"type": "tool_call_response", "id": part.call_id, "response": part.text}
        case Media():
            return _media(part)
        case Data():
            return {"type": part.type, "content": _json(part.json)}


def _media(media: Media) -> Mapping[str, Any]:
    about = {"modality": media.mime_type.partition("/")[0], "mime_type": media.mime_type}
    if media.uri is not None:
        return {"type": "uri", **about, "uri": media.uri}
    if media.file_id is not None:
        return {"type": "file", **about, "file_id": media.file_id}
    return {"type": "media", **about, "size": len(media.data or b"")}


def _json(text: str) -> Any:
    """Parses JSON; returns the text itself if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(value: Any) -> str:
    """Returns JSON. A value that cannot be written is replaced: recording must not fail a call."""
    try:
        return make_encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain))
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps({"unwritable": type(error).__name__})


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
