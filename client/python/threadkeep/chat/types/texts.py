"""Texts that can be encoded as UTF-8."""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def is_encodable(text: str) -> bool:
    """Returns whether the text has no lone surrogate."""
    return text.isascii() or not _SURROGATE.search(text)


def make_encodable(text: str) -> str:
    """Returns the text with U+FFFD in place of each lone surrogate; pairs become their character.

    Lone surrogates come from file names that are not UTF-8, and from JSON that was cut inside of an emoji.
    """
    if is_encodable(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def make_json_encodable(value: Any) -> Any:
    """Applies `make_encodable` to every text in a JSON value, including names."""
    if isinstance(value, str):
        return make_encodable(value)
    if isinstance(value, dict):
        return {make_encodable(name): make_json_encodable(each) for name, each in value.items()}
    return [make_json_encodable(each) for each in value] if isinstance(value, list) else value
