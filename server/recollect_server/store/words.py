"""The terms of documents, as stores keep them and hand them over: the form of domain.recall.Candidate.words."""

from __future__ import annotations

from collections.abc import Collection, Set

from ..domain.recall import ALL_FIELDS, FIELDS, Field, Words


def as_text(words: Words) -> str:
    """One blank between terms, a line feed between fields."""
    return "\n".join(map(" ".join, words))


def asked(text: str, fields: Field) -> str:
    """Without the terms of fields that are not asked for. The dates always are."""
    if fields & ALL_FIELDS == ALL_FIELDS:
        return text
    *lines, dates = text.split("\n")
    kept = [line if field in fields else "" for field, line in zip(FIELDS, lines, strict=True)]
    return "\n".join([*kept, dates])


def held(text: str, terms: Set[str], fields: Field) -> Collection[str]:
    """Those of the terms that the document has in the fields asked for, or in its dates."""
    return terms & set(asked(text, fields).split())
