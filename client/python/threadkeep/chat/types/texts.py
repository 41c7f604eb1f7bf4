"""Texts that UTF-8 can say."""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def is_encodable(text: str) -> bool:
    """Whether it has no half of a surrogate pair."""
    return text.isascii() or not _SURROGATE.search(text)


def make_encodable(text: str) -> str:
    """The text with U+FFFD in place of each half of a surrogate pair that stands alone; two halves become their character.

    Such halves come from names of files that are no UTF-8, and from JSON that was cut in the middle of an emoji.
    """
    if is_encodable(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def make_json_encodable(value: Any) -> Any:
    """The same of every text in a JSON value, names among them."""
    if isinstance(value, str):
        return make_encodable(value)
    if isinstance(value, dict):
        return {make_encodable(name): make_json_encodable(each) for name, each in value.items()}
    return [make_json_encodable(each) for each in value] if isinstance(value, list) else value
