"""Reads JSON of other programs: missing values count as empty, values of another type are rejected."""

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
"""Matches a surrogate, possibly of a valid pair."""


class Unreadable(ValueError):
    """The answer is invalid."""


class Unfinished(Exception):
    """The stream ended before the answer did."""


class ErrorEvent(Exception):
    """The server reported a failure inside of a stream. `error`: the report as JSON."""

    def __init__(self, error: Any) -> None:
        super().__init__("an error in the stream")
        self.error = error


def parsed(text: str | bytes, **reading: Any) -> dict[str, Any]:
    """Returns a JSON object whose texts can be encoded as UTF-8. `reading`: other parameters of `json.loads`. Raises
    Unreadable."""
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
    """Returns a JSON object that can be written again: Python also reads NaN and 1e999, which JSON does not have. Raises
    Unreadable."""
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
    """Returns the first positive count. An invalid count is 0: it is no reason to lose an answer."""
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
    """Returns the content of a Data part of this provider's type; None for any other part.

    Raises UnsupportedContent if the content is not a JSON object.
    """
    if not isinstance(part, Data) or part.type != provider:
        return None
    try:
        return _written(part.json)
    except Unreadable as error:
        raise UnsupportedContent(f"Data of type {provider!r} must hold a JSON object of that provider: {error}") from None


def object_of(arguments: str) -> dict[str, Any]:
    """Returns a call's arguments as an object. Invalid JSON is wrapped under the key of Anthropic's streaming guide, so that
    the model sees its own text."""
    if not arguments.strip():
        return {}
    try:
        return _written(arguments)
    except Unreadable:
        return {"INVALID_JSON": arguments}


def compact(value: Any) -> str:
    """Returns JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
