"""The content of OpenAI's Responses messages and tool results: blocks to parts, and parts to blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...v1.message_pb2 import DataPart, MediaPart, Part
from ..data_urls import fill, media_of, url_of
from ..openai import AUDIO, clean, json_text

_TEXTS = frozenset(("input_text", "output_text", "text", "summary_text", "reasoning_text"))


def text_of(value: object) -> str:
    """A text as protobuf can carry it; empty for another value. Items are anyone's, so that no shape of them is an error."""
    return clean(value) if isinstance(value, str) else ""


def parts_of(content: object) -> Iterator[Part]:
    """The parts of a content: a text, or a list of blocks."""
    if isinstance(content, str):
        yield Part(text=clean(content))
    for block in content if isinstance(content, list) else ():
        if isinstance(block, str):
            yield Part(text=clean(block))
        elif isinstance(block, Mapping):
            yield _part_of(text_of(block.get("type")), block)


def _part_of(kind: str, block: Mapping[str, Any]) -> Part:
    if kind in _TEXTS:
        return Part(text=text_of(block.get("text")))
    if kind == "refusal":
        return data(kind, block.get("refusal"))
    media = _media_of(kind, block)
    return data(kind or "block", block) if media is None else Part(media=media)


def _media_of(kind: str, block: Mapping[str, Any]) -> MediaPart | None:
    name, detail, file_id = (text_of(block.get(each)) for each in ("filename", "detail", "file_id"))
    if kind in ("input_image", "computer_screenshot"):
        if url := text_of(block.get("image_url")):
            return media_of(url, "image/*", detail=detail)
        return MediaPart(mime_type="image/*", file_id=file_id, detail=detail) if file_id else None
    if kind == "input_file":
        if inline := text_of(block.get("file_data")):
            url = inline if inline.startswith("data:") else f"data:;base64,{inline}"
            return media_of(url, "application/octet-stream", name=name, detail=detail)
        if url := text_of(block.get("file_url")):
            return media_of(url, "application/octet-stream", name=name, detail=detail)
        return MediaPart(mime_type="application/octet-stream", file_id=file_id, name=name, detail=detail) if file_id else None
    if kind == "input_audio" and isinstance(sound := block.get("input_audio"), Mapping):
        form = text_of(sound.get("format"))
        media = MediaPart(mime_type=AUDIO.get(form, f"audio/{form}"))
        return media if fill(media, text_of(sound.get("data"))) else None
    return None


def data(kind: str, value: object) -> Part:
    """What no other part represents."""
    return Part(data=DataPart(type=f"openai.{kind}", json=json_text(value)))


def block_of(part: Part, *, said: bool = False) -> dict[str, Any] | None:
    """The block of a part; None if it has none. `said`: the content is the model's, which has texts and refusals only."""
    match part.WhichOneof("content"):
        case "text":
            return {"type": "output_text", "text": part.text, "annotations": []} if said else _input_text(part.text)
        case "media" if not said:
            return _media_block(part.media)
        case "data" if part.data.type == "openai.refusal" and said:
            return {"type": "refusal", "refusal": str(json.loads(part.data.json))}
    return None


def _input_text(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _media_block(media: MediaPart) -> dict[str, Any]:
    kind, source = media.mime_type.partition("/")[0], media.WhichOneof("source")
    if kind == "image":
        where = {"file_id": media.file_id} if source == "file_id" else {"image_url": url_of(media)}
        return {"type": "input_image", "detail": media.detail or "auto", **where}
    form = next((name for name, mime in AUDIO.items() if mime == media.mime_type), "")
    if form and source == "data":
        return {"type": "input_audio", "input_audio": {"data": url_of(media).partition(",")[2], "format": form}}
    if source == "file_id":
        return {"type": "input_file", "file_id": media.file_id}
    if source == "data":
        return {"type": "input_file", "file_data": url_of(media), "filename": media.name or "file"}
    return {"type": "input_file", "file_url": media.uri}
