"""Reading of JSON that somebody else wrote: what is missing counts as empty, what is of another kind is refused."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import UnsupportedContent
from ...types.messages import Data, Media, Part
from ...types.texts import make_json_encodable

Json = Mapping[str, Any]
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""Of a surrogate pair, perhaps: whole pairs are written so too."""


class Unreadable(ValueError):
    """An answer is not what it should be."""


class Unfinished(Exception):
    """A stream ends before the answer does."""


class ErrorEvent(Exception):
    """A server says in the middle of a stream that it failed. `error`: what it says, as JSON."""

    def __init__(self, error: Any) -> None:
        super().__init__("an error in the stream")
        self.error = error


def parsed(text: str | bytes, **reading: Any) -> dict[str, Any]:
    """A JSON object, of texts that UTF-8 can say. `reading`: what `json.loads` takes beside the text. Raises Unreadable."""
    try:
        whole = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        found = json.loads(whole, **reading)
        if _SURROGATE.search(whole):
            found = make_json_encodable(found)
    except (ValueError, RecursionError):
        raise Unreadable("no JSON") from None
    if not isinstance(found, dict):
        raise Unreadable("no JSON object")
    return found


def _written(text: str) -> dict[str, Any]:
    """A JSON object that can be written again: Python reads NaN and 1e999 too, which no JSON has. Raises Unreadable."""
    return parsed(text, parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"JSON has no {text}")
    return number


def text_in(holder: Json, name: str) -> str:
    return _of(holder, name, str) or ""


def object_in(holder: Json, name: str) -> Json:
    return _of(holder, name, dict) or {}


def objects_in(holder: Json, name: str) -> Sequence[Json]:
    found = _of(holder, name, list) or []
    if not all(isinstance(each, dict) for each in found):
        raise Unreadable(f"{name} holds something else than objects")
    return found


def count_in(holder: Json, *names: str) -> int:
    """The first of these that counts something. An odd account is no reason to lose an answer: it counts as 0."""
    counts = (holder.get(name) for name in names)
    return next((count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count > 0), 0)


def _of(holder: Json, name: str, kind: type) -> Any:
    found = holder.get(name)
    if found is not None and not isinstance(found, kind):
        raise Unreadable(f"{name} is no {kind.__name__}")
    return found


def base64_of(media: Media) -> str:
    return base64.b64encode(media.data or b"").decode()


def data_url(media: Media) -> str:
    return f"data:{media.mime_type};base64,{base64_of(media)}"


def own_content(part: Part, provider: str) -> dict[str, Any] | None:
    """The content that a Data part of this provider's type holds: it goes as it is. None for any other part.

    Raises UnsupportedContent if it holds something else than a JSON object.
    """
    if not isinstance(part, Data) or part.type != provider:
        return None
    try:
        return _written(part.json)
    except Unreadable as error:
        raise UnsupportedContent(f"Data of type {provider!r} must hold a JSON object of that provider: {error}") from None


def object_of(arguments: str) -> dict[str, Any]:
    """A tool call's arguments for a provider that wants an object. What is none is wrapped, in the words of Anthropic's guide
    to the streaming of tool calls, so that the model sees what it wrote."""
    if not arguments.strip():
        return {}
    try:
        return _written(arguments)
    except Unreadable:
        return {"INVALID_JSON": arguments}


def compact(value: Any) -> str:
    """JSON text without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
