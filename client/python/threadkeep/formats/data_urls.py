"""Media in data URLs, which events keep as bytes."""

from __future__ import annotations

import base64
import binascii
import mimetypes

from ..v1.message_pb2 import MediaPart


def media_of(url: str, mime_type: str = "", *, name: str = "", detail: str = "") -> MediaPart:
    """The media at a URL, or in a data URL. `mime_type`: of media that has none; by default it is guessed from name and URL."""
    part = MediaPart(name=name, detail=detail)
    if url.startswith("data:"):
        head, _, encoded = url[5:].partition(",")
        said, *marks = head.split(";")
        if "base64" in marks and fill(part, encoded):
            part.mime_type = said or guessed(name) or mime_type
            return part
        part.mime_type = said
    part.uri = url
    part.mime_type = part.mime_type or guessed(name) or guessed(url.partition("?")[0]) or mime_type
    return part


def fill(part: MediaPart, encoded: str) -> bool:
    """Sets the data of a part, and returns whether the text was base64."""
    try:
        part.data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def guessed(name: str) -> str:
    """The media type of a name's extension; empty if it says none."""
    return mimetypes.guess_type(name, strict=False)[0] or ""


def url_of(part: MediaPart) -> str:
    """The URL of the media: its own, or a data URL. Empty for a file at the provider."""
    if part.WhichOneof("source") == "data":
        return f"data:{part.mime_type};base64,{base64.b64encode(part.data).decode('ascii')}"
    return part.uri
