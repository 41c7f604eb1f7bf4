"""Conversion of return values of tools."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from ..types.messages import Data, Media, Text
from ..types.texts import make_encodable, make_json_encodable
from .tool import ToolOutput

_PARTS = (Text, Media, Data)


def output_of(value: Any) -> str | ToolOutput:
    """Converts a return value. A text (see `texts.make_encodable`) and a ToolOutput stay, None becomes the empty text, one
    part or a list of parts becomes a ToolOutput.

    Anything else becomes JSON: pydantic models, dataclasses, enums, times (ISO 8601), bytes (base64), mappings, sequences.
    Raises TypeError for values that JSON cannot represent.
    """
    if value is None:
        return ""
    if isinstance(value, ToolOutput):
        return value
    if isinstance(value, str):
        return make_encodable(str(value.value) if hasattr(value, "value") else value)
    if isinstance(value, _PARTS):
        return ToolOutput((value,))
    if isinstance(value, list | tuple) and value and all(isinstance(each, _PARTS) for each in value):
        return ToolOutput(tuple(value))
    try:
        return _json_of(value)
    except (PydanticSerializationError, ValueError) as error:
        raise TypeError(f"a tool returned a {type(value).__name__}, which cannot be written as JSON: {error}") from error


def _json_of(value: Any) -> str:
    try:
        return to_json(value, bytes_mode="base64", inf_nan_mode="strings").decode()
    except PydanticSerializationError:  # possibly a lone surrogate
        plain = to_jsonable_python(value, bytes_mode="base64", inf_nan_mode="strings")
        return to_json(make_json_encodable(plain)).decode()


async def output_later(value: Awaitable[Any]) -> str | ToolOutput:
    """Converts an awaitable's result."""
    return output_of(await value)


def refusal(text: str) -> ToolOutput:
    """Returns an error about the call for the model."""
    return ToolOutput((Text(make_encodable(text)),), is_error=True)
