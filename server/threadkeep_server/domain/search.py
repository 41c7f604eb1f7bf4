"""The nouns of recall: what is searched, what a search asks for, and what a store hands over to be ranked.

A store finds candidates and counts; ranking is done by `recall`, in the server, so that every store ranks the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import NamedTuple


class SearchMode(IntEnum):
    """How a query is understood; the numbers are those of threadkeep.v1.SearchMode. A search answers with another than AUTO."""

    SUBSTRING = 1
    RANKED = 2
    SEMANTIC = 3
    HYBRID = 4
    AUTO = 5


class Understood(NamedTuple):
    """The mode in which a query is answered, and the text that is looked for."""

    mode: SearchMode
    text: str


_QUOTED = re.compile(r'\s*["“”„‟＂]([^"“”„‟＂]+)["“”‟＂]\s*')


def understood(mode: SearchMode, query: str, best: SearchMode, *, literal: bool = False, ranks: bool = False) -> Understood:
    """Resolves AUTO: to SUBSTRING where the whole query is in double quotes, which are removed, or has no letter and no digit;
    else to `best`. `literal` and `ranks`: the rest of the request is for SUBSTRING alone, or for the modes that rank alone."""
    if mode is not SearchMode.AUTO:
        return Understood(mode, query)
    quoted = _QUOTED.fullmatch(query)
    if ranks and query.strip():
        return Understood(best, query)
    if quoted and quoted[1].strip():
        return Understood(SearchMode.SUBSTRING, quoted[1])
    if literal or not any(map(str.isalnum, query)):
        return Understood(SearchMode.SUBSTRING, query)
    return Understood(best, query)


class Field(IntFlag):
    """The searchable fields of a message."""

    TEXT = 1
    TOOL_CALLS = 2
    """Names of the tools that are called, and their arguments."""
    TOOL_RESULTS = 4
    MEDIA = 8
    """Names of media."""


FIELDS = (Field.TEXT, Field.TOOL_CALLS, Field.TOOL_RESULTS, Field.MEDIA)
ALL_FIELDS = Field.TEXT | Field.TOOL_CALLS | Field.TOOL_RESULTS | Field.MEDIA


class Texts(NamedTuple):
    """A message's text by field, in the order of FIELDS. Empty where it has none."""

    text: str
    calls: str
    results: str
    media: str

    def of(self, fields: Field = ALL_FIELDS) -> str:
        """These fields as one text, the message's own first: all of them are what is embedded. A line feed stands between."""
        return "\n".join(text for field, text in zip(FIELDS, self, strict=True) if text and field in fields)


class Words(NamedTuple):
    """A document's terms by field, in the order of FIELDS, and the terms of the dates that it is about: its own, and those that
    it mentions. What an index is made of; terms hold no white space."""

    text: Sequence[str]
    calls: Sequence[str]
    results: Sequence[str]
    media: Sequence[str]
    dates: Sequence[str]


@dataclass(frozen=True, slots=True)
class WordQuery:
    """Candidates wanted: documents that have any of the terms (of an analysed question) in one of the fields, or in their
    dates."""

    terms: tuple[str, ...]
    fields: Field = ALL_FIELDS
    limit: int = 256


@dataclass(slots=True)
class Candidate:
    """A document that may answer a question. `words` are its terms by field, in the order of Words, with one blank between
    terms and a line feed between fields; what was not asked for is empty. Never changed."""

    key: int
    """The store's number of the document; greater is later."""
    session: int
    position: int
    time: int
    role: int
    author: str
    words: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a store found. `documents`: how many there are in the scope, at least 1; `frequencies`: in how many of them a term
    occurs, counted up to a bound (a term that is not told occurs in none). `complete`: every match is among the candidates."""

    found: Sequence[Candidate]
    documents: int
    frequencies: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True


class Scored(NamedTuple):
    """A candidate's key, and how well it answers: greater is better, comparable within one answer only. `relevance`: what is
    reported as its score, on the scale of `recall.relevance`."""

    key: int
    score: float
    relevance: float = 0.0


class Span(NamedTuple):
    """A highlight: characters (Unicode code points) of a field's text, from `start` to before `end`."""

    start: int
    end: int
