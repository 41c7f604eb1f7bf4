"""Content blocks of LangChain's messages to parts: its standard ones, and those of OpenAI and Anthropic that it passes on."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from ..v1.message_pb2 import DataPart, MediaPart, Part, ReasoningPart
from .openai import clean, json_text

_MIME = {
    "image": "image/*",
    "image_url": "image/*",
    "audio": "audio/*",
    "input_audio": "audio/*",
    "video": "video/*",
    "document": "application/pdf",
    "file": "application/octet-stream",
    "text-plain": "text/plain",
}
"""The blocks with media, and the type of media that does not name one."""


def part_of(block: Mapping[str, Any]) -> Part:
    """The part of one block; a data part if no other part represents it."""
    kind = block.get("type")
    found: Part | None = None
    if kind in ("text", "input_text", "output_text") and isinstance(block.get("text"), str):
        found = Part(text=clean(block["text"]))
    elif kind in ("reasoning", "thinking", "redacted_thinking", "reasoning_content"):
        found = _reasoning(block)
    elif isinstance(kind, str) and kind in _MIME:
        found = _media(block, kind)
    return found or Part(data=DataPart(type=clean(f"langchain.{kind or 'block'}"), json=json_text(_jsonable(block))))


def _reasoning(block: Mapping[str, Any]) -> Part | None:
    text = block.get("reasoning", block.get("thinking", block.get("reasoning_content", "")))
    if isinstance(text, Mapping):  # Bedrock
        text = text.get("text", "")
    summary = block.get("summary")
    if not text and isinstance(summary, list):  # OpenAI's Responses
        text = "\n\n".join(str(each.get("text", "")) for each in summary if isinstance(each, Mapping))
    extras = block.get("extras") or {}
    signature = block.get("signature") or (extras.get("signature") if isinstance(extras, Mapping) else None)
    encrypted = block.get("encrypted_content") or (block.get("data") if block.get("type") == "redacted_thinking" else None)
    if not (text or signature or encrypted):
        return None
    return Part(reasoning=ReasoningPart(text=clean(str(text)), signature=_bytes(signature), encrypted=_bytes(encrypted)))


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else clean(value).encode() if isinstance(value, str) else b""


def _media(block: Mapping[str, Any], kind: str) -> Part | None:
    """The media of a block, whose source is in its own fields or in an inner object."""
    inner = block.get("source", block.get(kind))
    fields: dict[str, Any] = {**block, "url": inner} if isinstance(inner, str) else {**block, **(inner or {})}
    sound = fields.get("format")
    mime = fields.get("mime_type") or fields.get("media_type") or (f"audio/{sound}" if sound else _MIME[kind])
    media = MediaPart(mime_type=clean(str(mime)), name=_name(fields), detail=clean(str(fields.get("detail") or "")))
    encoded = fields.get("base64") or fields.get("data") or fields.get("file_data")
    uri, plain = fields.get("url") or fields.get("file_url"), fields.get("text")
    file_id = fields.get("file_id") or (fields.get("id") if fields.get("source_type") == "id" else None)
    if isinstance(encoded, str) and encoded.startswith("data:"):
        uri, encoded = encoded, None
    if isinstance(encoded, bytes):
        media.data = encoded
    elif isinstance(encoded, str) and (fields.get("type") == "text" or fields.get("source_type") == "text"):
        media.data = clean(encoded).encode()
    elif isinstance(encoded, str):
        return _with_data(media, encoded)
    elif isinstance(uri, str):
        return _with_uri(media, clean(uri))
    elif isinstance(file_id, str):
        media.file_id = clean(file_id)
    elif isinstance(plain, str):
        media.data = clean(plain).encode()
    else:
        return None
    return Part(media=media)


def _with_data(media: MediaPart, encoded: str) -> Part | None:
    try:
        media.data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Part(media=media)


def _with_uri(media: MediaPart, uri: str) -> Part:
    """A data URI is the bytes in it, so that every reader has them."""
    head, _, encoded = uri.removeprefix("data:").partition(",")
    if uri.startswith("data:") and head.endswith(";base64"):
        inline = MediaPart(mime_type=head.partition(";")[0] or media.mime_type, name=media.name, detail=media.detail)
        if (found := _with_data(inline, encoded)) is not None:
            return found
    media.uri = uri
    return Part(media=media)


def _name(fields: Mapping[str, Any]) -> str:
    extras = fields.get("extras")
    inner = extras if isinstance(extras, Mapping) else {}
    for holder in (fields, inner):
        for key in ("filename", "title", "name"):
            if isinstance(holder.get(key), str):
                return clean(str(holder[key]))
    return ""


def _jsonable(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else f"<{type(value).__qualname__}>"
