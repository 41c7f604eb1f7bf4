"""Anthropic messages: to events, and from events."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..v1.event_pb2 import SessionEvent
from ..v1.message_pb2 import ROLE_ASSISTANT, ROLE_SYSTEM, ROLE_TOOL, ROLE_USER, ChatMessage, MediaPart, Part, ToolResultPart
from .fields import FieldError
from .openai import clean, json_text

PROVIDER = "anthropic"
_ROLES = {"user": ROLE_USER, "assistant": ROLE_ASSISTANT}
_BLOCKS = frozenset(("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "search_result"))
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


def is_anthropic(message: Mapping[str, Any]) -> bool:
    """Whether a message has a block that only Anthropic's messages have."""
    content = message.get("content")
    kinds = {block.get("type") for block in content if isinstance(block, Mapping)} if isinstance(content, list) else set()
    return bool(kinds & _BLOCKS) or any(isinstance(kind, str) and kind.startswith("server_tool") for kind in kinds)


def events_of(message: Mapping[str, Any], field: str) -> list[SessionEvent]:
    """The events of one message: its tool results are a separate event. Raises FieldError."""
    role = message.get("role")
    if role not in _ROLES:
        raise FieldError(f"{field}.role", f"must be user or assistant, not {role!r}")
    results: list[Part] = []
    others: list[Part] = []
    for n, block in enumerate(message["content"]):
        part = part_of(block, f"{field}.content[{n}]")
        (results if part.HasField("tool_result") else others).append(part)
    found = [SessionEvent(message=ChatMessage(role=ROLE_TOOL, parts=results))] if results else []
    if others:
        signed = any(part.HasField("reasoning") for part in others)
        about = json.dumps({"reasoning_of": PROVIDER}, separators=(",", ":")) if signed else ""
        found.append(SessionEvent(message=ChatMessage(role=_ROLES[role], parts=others), metadata_json=about))
    return found


def part_of(block: object, field: str) -> Part:
    """The part of one block. Raises FieldError."""
    if isinstance(block, str):
        return Part(text=clean(block))
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        raise FieldError(field, "must be text or an object with a type")
    part = Part()
    match block["type"]:
        case "text":
            part.text = _text(block, "text", field)
        case "thinking":
            part.reasoning.text = _text(block, "thinking", field)
            part.reasoning.signature = _text(block, "signature", field, "").encode()
        case "redacted_thinking":
            part.reasoning.encrypted = _text(block, "data", field).encode()
        case "tool_use":
            part.tool_call.id, part.tool_call.name = _text(block, "id", field), _text(block, "name", field)
            part.tool_call.kind, part.tool_call.arguments_json = "function", json_text(block.get("input", {}))
        case "tool_result":
            part.tool_result.CopyFrom(_result_part(block, field))
        case "image" | "document" if isinstance(block.get("source"), Mapping):
            part.media.CopyFrom(_media_part(block, block["source"], f"{field}.source"))
        case _:
            part.data.type, part.data.json = PROVIDER, json_text(block)
    return part


def _result_part(block: Mapping[str, Any], field: str) -> ToolResultPart:
    content = block.get("content") or []
    parts = [content] if isinstance(content, str) else content
    if not isinstance(parts, list):
        raise FieldError(f"{field}.content", "must be text or a list of blocks")
    return ToolResultPart(
        call_id=_text(block, "tool_use_id", field),
        parts=[part_of(each, f"{field}.content[{n}]") for n, each in enumerate(parts)],
        is_error=block.get("is_error") is True,
    )


def _media_part(block: Mapping[str, Any], source: Mapping[str, Any], field: str) -> MediaPart:
    kind = source.get("type")
    media = MediaPart(mime_type=_text(source, "media_type", field, ""), name=_text(block, "title", field, ""))
    if kind == "url":
        media.uri = _text(source, "url", field)
    elif kind == "file":
        media.file_id = _text(source, "file_id", field)
    elif kind == "text":
        media.data = _text(source, "data", field).encode()
    elif kind == "base64":
        try:
            media.data = base64.b64decode(_text(source, "data", field), validate=True)
        except (binascii.Error, ValueError):
            raise FieldError(f"{field}.data", "must be base64") from None
    else:
        raise FieldError(f"{field}.type", f"must be base64, url, file or text, not {kind!r}")
    if not media.mime_type:
        media.mime_type = "image/*" if block["type"] == "image" else "application/pdf"
    return media


def _text(block: Mapping[str, Any], name: str, field: str, default: str | None = None) -> str:
    value = block.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise FieldError(f"{field}.{name}", f"must be text, not {type(value).__name__}")
    return clean(value)


def request_of(events: Iterable[SessionEvent]) -> dict[str, Any]:
    """`system` and `messages` of a request. Messages of one role in a row are one message; empty ones are left out."""
    system: list[str] = []
    messages: list[dict[str, Any]] = []
    for event in events:
        if event.message.role == ROLE_SYSTEM:
            system += [part.text for part in event.message.parts if part.text.strip()]
            continue
        role = "assistant" if event.message.role == ROLE_ASSISTANT else "user"
        content = list(_blocks(event))
        if content and messages and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        elif content:
            messages.append({"role": role, "content": content})
    return ({"system": "\n\n".join(system)} if system else {}) | {"messages": messages}


def _blocks(event: SessionEvent) -> Iterator[dict[str, Any]]:
    """The blocks of an event. Reasoning that another provider signed is left out, as it would be rejected."""
    own = reasoning_provider(event) in ("", PROVIDER)
    for part in event.message.parts:
        match part.WhichOneof("content"):
            case "text" if part.text.strip():
                yield {"type": "text", "text": part.text}
            case "reasoning" if own and part.reasoning.encrypted:
                yield {"type": "redacted_thinking", "data": part.reasoning.encrypted.decode(errors="replace")}
            case "reasoning" if own and part.reasoning.signature:
                signature = part.reasoning.signature.decode(errors="replace")
                yield {"type": "thinking", "thinking": part.reasoning.text, "signature": signature}
            case "tool_call":
                call = part.tool_call
                yield {"type": "tool_use", "id": _id(call.id), "name": call.name, "input": json_object(call.arguments_json)}
            case "tool_result":
                yield _result_block(part.tool_result)
            case "media":
                yield _media_block(part.media)
            case "data" if part.data.type == PROVIDER:
                yield json.loads(part.data.json)


def reasoning_provider(event: SessionEvent) -> str:
    """The provider that signed the reasoning of an event, by its metadata; empty if unknown."""
    if '"reasoning_of"' not in event.metadata_json:
        return ""
    metadata = json.loads(event.metadata_json)
    return str(metadata.get("reasoning_of", "")) if isinstance(metadata, dict) else ""


def _result_block(result: ToolResultPart) -> dict[str, Any]:
    text = result.structured_json or "\n".join(part.text for part in result.parts if part.HasField("text"))
    media = [_media_block(part.media) for part in result.parts if part.HasField("media")]
    content: Any = [*([{"type": "text", "text": text}] if text.strip() else []), *media]
    if not media:
        content = text
    block = {"type": "tool_result", "tool_use_id": _id(result.call_id), "content": content}
    return block | ({"is_error": True} if result.is_error else {})


def _media_block(media: MediaPart) -> dict[str, Any]:
    source: dict[str, Any]
    match media.WhichOneof("source"):
        case "file_id":
            source = {"type": "file", "file_id": media.file_id}
        case "data" if media.mime_type == "text/plain":
            source = {"type": "text", "media_type": "text/plain", "data": media.data.decode(errors="replace")}
        case "data":
            encoded = base64.b64encode(media.data).decode()
            source = {"type": "base64", "media_type": media.mime_type, "data": encoded}
        case _ if media.uri.startswith("data:"):
            head, _, encoded = media.uri[5:].partition(",")
            source = {"type": "base64", "media_type": head.partition(";")[0], "data": encoded}
        case _:
            source = {"type": "url", "url": media.uri}
    kind = "image" if media.mime_type.partition("/")[0] in ("image", "") else "document"
    return {"type": kind, "source": source} | ({"title": media.name} if media.name and kind == "document" else {})


def json_object(text: str) -> dict[str, Any]:
    """The JSON object that a text holds; another text is an object's member `input`, since models may write invalid JSON."""
    try:
        value = json.loads(text) if text.strip() else {}
    except ValueError:
        value = text
    return value if isinstance(value, dict) else {"input": value}


def _id(call_id: str) -> str:
    """The id with the characters that Anthropic accepts."""
    return _NOT_IN_IDS.sub("_", call_id)
