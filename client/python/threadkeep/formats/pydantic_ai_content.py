"""The content of pydantic-ai's prompts and results: to parts, and from parts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..v1.message_pb2 import MediaPart, Part
from . import data_urls
from .fields import FieldError
from .openai import clean, json_text

_URLS = {"image-url": "image/*", "audio-url": "audio/*", "video-url": "video/*", "document-url": "application/octet-stream"}
"""The kinds of media by reference, with the type of those that name none."""
_KINDS = {"image": "image-url", "audio": "audio-url", "video": "video-url"}


def parts_of(content: object, field: str) -> list[Part]:
    """The parts of a content: a text, an item, or a list of both. Raises FieldError."""
    if content is None:
        return []
    items = content if isinstance(content, list) else [content]
    return [_part(each, f"{field}[{n}]") for n, each in enumerate(items) if not _is_cache_point(each)]


def content_of(parts: Iterable[Part]) -> str | list[str | dict[str, Any]]:
    """The content of parts: a text if they are texts, which are joined by line feeds, else a list of texts and media."""
    items = list(_items(parts))
    texts = [each for each in items if isinstance(each, str)]
    return "\n".join(texts) if len(texts) == len(items) else items


def _is_cache_point(item: object) -> bool:
    """Whether an item marks a place for the provider's cache, and is no content."""
    return isinstance(item, Mapping) and item.get("kind") == "cache-point"


def _part(item: object, field: str) -> Part:
    if isinstance(item, str):
        return Part(text=clean(item))
    if not isinstance(item, Mapping):
        return _data("pydantic_ai.content", item)
    kind, detail = item.get("kind"), item.get("vendor_metadata")
    media = MediaPart(mime_type=clean(str(item.get("media_type") or "")))
    if isinstance(detail, Mapping) and isinstance(detail.get("detail"), str):
        media.detail = clean(detail["detail"])
    if kind in ("text-content", "structured-content"):
        return Part(text=clean(str(item.get("content") or "")))
    if kind == "binary":
        media.data = _bytes(item.get("data"), f"{field}.data")
    elif kind in _URLS and isinstance(item.get("url"), str):
        media.uri, media.mime_type = clean(item["url"]), media.mime_type or _URLS[kind]
    elif kind == "uploaded-file" and isinstance(item.get("file_id"), str):
        media.file_id = clean(item["file_id"])
    else:
        return _data(f"pydantic_ai.{clean(str(kind))}" if kind else "pydantic_ai.content", item)
    return Part(media=media)


def _items(parts: Iterable[Part]) -> Iterator[str | dict[str, Any]]:
    for part in parts:
        match part.WhichOneof("content"):
            case "text":
                yield part.text
            case "data":
                yield part.data.json
            case "media":
                yield _media(part.media)


def _media(media: MediaPart) -> str | dict[str, Any]:
    """The item of a media part; a text for a file of a provider that is not known."""
    detail = {"vendor_metadata": {"detail": media.detail}} if media.detail else {}
    if media.uri.startswith("data:"):
        media = data_urls.media_of(media.uri, media.mime_type)
    match media.WhichOneof("source"):
        case "data":
            return _binary(media.mime_type, media.data) | detail
        case "uri" if not media.uri.startswith("data:"):
            kind = _KINDS.get(media.mime_type.partition("/")[0], "document-url")
            known = {} if media.mime_type.endswith("/*") else {"media_type": media.mime_type or "application/octet-stream"}
            return {"kind": kind, "url": media.uri, **known, **detail}
    return media.uri or f"[file {media.file_id}]"


def _binary(mime_type: str, data: bytes) -> dict[str, Any]:
    return {
        "kind": "binary",
        "media_type": mime_type or "application/octet-stream",
        "data": base64.urlsafe_b64encode(data).decode(),
    }


def _bytes(text: object, field: str) -> bytes:
    """The bytes of base64, of either alphabet."""
    try:
        return base64.b64decode(str(text).translate(str.maketrans("-_", "+/")), validate=True)
    except (binascii.Error, ValueError):
        raise FieldError(field, "must be base64") from None


def _data(kind: str, value: object) -> Part:
    made = Part()
    made.data.type, made.data.json = kind, json_text(value)
    return made
