"""Gemini's generateContent for the endpoint of `loopback`, whole and streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

USAGE = {
    "promptTokenCount": 50,
    "candidatesTokenCount": 9,
    "thoughtsTokenCount": 3,
    "totalTokenCount": 62,
    "cachedContentTokenCount": 20,
}
ABOUT = {"responseId": "g1", "modelVersion": "small-2026"}


def content(*parts: str | Mapping[str, Any], reason: str | None = "STOP", usage: Any = USAGE) -> dict[str, Any]:
    """Returns a whole answer, or a chunk of a stream; a string is a part of text."""
    said = [{"text": part} if isinstance(part, str) else dict(part) for part in parts]
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": said}}
    return {"candidates": [candidate | ({"finishReason": reason} if reason else {})], "usageMetadata": usage, **ABOUT}


def function_call(name: str, args: Mapping[str, Any], *, call_id: str = "", signature: str = "") -> dict[str, Any]:
    call = {"name": name, "args": dict(args)} | ({"id": call_id} if call_id else {})
    return {"functionCall": call} | ({"thoughtSignature": signature} if signature else {})


def streamed(*parts: str | Mapping[str, Any], reason: str = "STOP") -> list[Any]:
    """Returns one chunk per part, two per text, and a last chunk that ends the answer. Each has the usage so far."""
    found: list[Any] = []
    for part in parts:
        for piece in (part[:2], part[2:]) if isinstance(part, str) else (part,):
            found.append(content(piece, reason=None, usage={"promptTokenCount": 50, "totalTokenCount": 50 + len(found)}))
    return [*found, content(reason=reason)]
