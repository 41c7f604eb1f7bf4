"""Contents of Gemini's generate_content, from events."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..v1.event_pb2 import SessionEvent
from ..v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, MediaPart, Part, ToolResultPart
from .anthropic import json_object, reasoning_provider

PROVIDER = "gemini"


def request_of(events: Iterable[SessionEvent]) -> dict[str, Any]:
    """`contents` and `config` of a request. Contents of one role in a row are one content; empty ones are left out."""
    events = list(events)
    names = {part.tool_call.id: part.tool_call.name for event in events for part in event.message.parts}
    system: list[str] = []
    contents: list[dict[str, Any]] = []
    for event in events:
        if event.message.role == ROLE_SYSTEM:
            system += [part.text for part in event.message.parts if part.text.strip()]
            continue
        role = "model" if event.message.role == ROLE_ASSISTANT else "user"
        parts = list(_parts(event, names))
        if parts and contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": role, "parts": parts})
    return {"contents": contents} | ({"config": {"system_instruction": "\n\n".join(system)}} if system else {})


def _parts(event: SessionEvent, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The parts of an event. A signature is sent with the part after it, and the reasoning itself is not."""
    own = reasoning_provider(event) in ("", PROVIDER)
    signature: dict[str, Any] = {}
    for part in event.message.parts:
        if part.HasField("reasoning"):
            if own and part.reasoning.signature:
                signature = {"thought_signature": base64.b64encode(part.reasoning.signature).decode()}
            continue
        for said in parts_of(part, names):
            yield said | signature
            signature = {}
    if signature:
        yield {"text": ""} | signature


def parts_of(part: Part, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """What a part is for Gemini; nothing for reasoning. `names`: of tools, by call id, for results that have none."""
    match part.WhichOneof("content"):
        case "text" if part.text:
            yield {"text": part.text}
        case "tool_call":
            call = part.tool_call
            yield {"function_call": {"id": call.id, "name": call.name, "args": json_object(call.arguments_json)}}
        case "tool_result":
            yield {"function_response": _response(part.tool_result, names)}
            yield from (_media(each.media) for each in part.tool_result.parts if each.HasField("media"))
        case "media":
            yield _media(part.media)
        case "data" if part.data.type == PROVIDER:
            yield json.loads(part.data.json)


def _response(result: ToolResultPart, names: Mapping[str, str]) -> dict[str, Any]:
    """The response of a function. Text is its `output`, or its `error`."""
    if result.structured_json:
        response = json_object(result.structured_json)
    else:
        response = {"output": "\n".join(part.text for part in result.parts if part.HasField("text"))}
    if result.is_error:
        response = {"error": response.get("output", response)}
    return {"id": result.call_id, "name": result.name or names.get(result.call_id, "unknown"), "response": response}


def _media(media: MediaPart) -> dict[str, Any]:
    if media.WhichOneof("source") == "data":
        return {"inline_data": {"mime_type": media.mime_type, "data": base64.b64encode(media.data).decode()}}
    head, _, encoded = media.uri.partition(";base64,")
    if head.startswith("data:"):
        return {"inline_data": {"mime_type": media.mime_type or head[5:].partition(";")[0], "data": encoded}}
    return {"file_data": {"mime_type": media.mime_type, "file_uri": media.uri or media.file_id}}
