"""A message's texts as terms."""

from __future__ import annotations

import re

from ..domain.recall import Texts, Words

_WORD = re.compile(r"[^\W_]+")


def words_of(texts: Texts, time_ns: int) -> Words:
    """The terms of each field, and of the dates that the document is about."""
    text, calls, results, media = (_WORD.findall(field.casefold()) for field in texts)
    return Words(text, calls, results, media, ())
