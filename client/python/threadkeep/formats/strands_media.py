"""Media of Strands' messages: to parts, and from parts. Bytes are objects there, as in a session message."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from ..v1.message_pb2 import MediaPart
from . import data_urls
from .fields import FieldError
from .openai import clean

MEDIA = ("image", "document", "video", "audio")
"""The kinds of blocks with media."""
_DOCUMENTS = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}
_FORMATS = {"mov": "quicktime", "three_gp": "3gpp", "mkv": "x-matroska"}
"""Formats whose media type has another name."""
_IMAGES = ("png", "jpeg", "gif", "webp")
_BYTES = "__bytes_encoded__"


def media_of(kind: str, value: Mapping[str, Any], field: str) -> MediaPart:
    """The media of a block. Raises FieldError."""
    name = str(value.get("format") or "")
    mime_type = (
        _DOCUMENTS.get(name, "application/octet-stream") if kind == "document" else f"{kind}/{_FORMATS.get(name, name or '*')}"
    )
    media = MediaPart(mime_type=clean(mime_type), name=clean(str(value.get("name") or "")))
    source = value.get("source")
    if not isinstance(source, Mapping):
        raise FieldError(f"{field}.source", "must be an object")
    location = source.get("location") or source.get("s3Location")
    if isinstance(location, Mapping) and isinstance(location.get("uri"), str):
        media.uri = clean(location["uri"])
    else:
        media.data = bytes_of(source.get("bytes"), f"{field}.source.bytes")
    return media


def block_of(media: MediaPart) -> dict[str, Any]:
    """The block of media; a text for a reference or a type that Strands does not have."""
    if media.uri.startswith("data:"):
        media = data_urls.media_of(media.uri, media.mime_type, name=media.name)
    has_data = media.WhichOneof("source") == "data"
    kind, name = _kind(media.mime_type)
    if kind and (has_data or media.uri.startswith("s3://")):
        source = {"bytes": encoded_bytes(media.data)} if has_data else {"location": {"type": "s3", "uri": media.uri}}
        named = {"name": media.name or "document"} if kind == "document" else {}
        return {kind: {"format": name, **named, "source": source}}
    return {"text": media.uri or media.file_id or f"[{media.mime_type or 'media'}]"}


def bytes_of(value: object, field: str) -> bytes:
    """The bytes of their object. Raises FieldError."""
    try:
        if isinstance(value, Mapping) and value.get(_BYTES) is True:
            return base64.b64decode(str(value.get("data")), validate=True)
    except (binascii.Error, ValueError):
        pass
    raise FieldError(field, "must be bytes")


def encoded_bytes(data: bytes) -> dict[str, Any]:
    """The object in place of bytes."""
    return {_BYTES: True, "data": base64.b64encode(data).decode()}


def _kind(mime_type: str) -> tuple[str, str]:
    """The kind of block and the format of a media type; empty if Strands has none for it."""
    main, _, sub = mime_type.partition("/")
    name = next((name for name, known in _FORMATS.items() if known == sub), sub)
    if main == "image":
        return ("image", name) if name in _IMAGES else ("", "")
    if main in ("video", "audio"):
        return main, name
    document = next((name for name, known in _DOCUMENTS.items() if known == mime_type), "")
    return ("document", document) if document else ("", "")
