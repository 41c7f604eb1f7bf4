"""Texts as models receive them."""

from __future__ import annotations


def usable(text: str, max_characters: int) -> str:
    """Returns the first `max_characters`; lone surrogates become question marks."""
    text = text[:max_characters]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
