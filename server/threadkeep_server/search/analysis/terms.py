"""The indexed terms of a message."""

from __future__ import annotations

from ...domain.search import Texts, Words
from ..dates.mentions import document_dates
from .analyzer import index_terms


def words_of(texts: Texts, time_ns: int) -> Words:
    """Returns the terms of each field, and of the dates of the document: that of `time_ns` (since 1970, UTC), and those that
    its texts mention; relative ones ("last Friday") are resolved against it."""
    text, calls, results, media = map(index_terms, texts)
    return Words(text, calls, results, media, document_dates(texts, time_ns))
