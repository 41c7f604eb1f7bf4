"""The types of search: fields, queries, and the candidates that a store returns for ranking.

A store finds candidates and counts terms; the package `search` ranks them in the server, so that all stores rank the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import NamedTuple


class SearchMode(IntEnum):
    """The mode of a search; the numbers are those of threadkeep.v1.SearchMode. Responses never contain AUTO."""

    SUBSTRING = 1
    RANKED = 2
    SEMANTIC = 3
    HYBRID = 4
    AUTO = 5


class Understood(NamedTuple):
    """The resolved mode of a query, and its text."""

    mode: SearchMode
    text: str


_QUOTED = re.compile(r'\s*["“”„‟＂]([^"“”„‟＂]+)["“”‟＂]\s*')


def understood(mode: SearchMode, query: str, best: SearchMode, *, literal: bool = False, ranks: bool = False) -> Understood:
    """Resolves AUTO: to SUBSTRING if the whole query is in double quotes, which are removed, or has no letter and no digit;
    otherwise to `best`. `literal` and `ranks`: the request has fields for SUBSTRING only, or for ranking modes only."""
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
    """Names and arguments of tool calls."""
    TOOL_RESULTS = 4
    MEDIA = 8
    """Names of media."""


FIELDS = (Field.TEXT, Field.TOOL_CALLS, Field.TOOL_RESULTS, Field.MEDIA)
ALL_FIELDS = Field.TEXT | Field.TOOL_CALLS | Field.TOOL_RESULTS | Field.MEDIA


class Texts(NamedTuple):
    """A message's text by field, in the order of FIELDS. Empty for a field without text."""

    text: str
    calls: str
    results: str
    media: str

    def of(self, fields: Field = ALL_FIELDS) -> str:
        """Returns the fields as one text with line feeds between them. All fields are the embedded text."""
        return "\n".join(text for field, text in zip(FIELDS, self, strict=True) if text and field in fields)


class Words(NamedTuple):
    """A document's terms by field, in the order of FIELDS, and the terms of its own date and the dates it mentions. An index
    consists of them; terms contain no white space."""

    text: Sequence[str]
    calls: Sequence[str]
    results: Sequence[str]
    media: Sequence[str]
    dates: Sequence[str]


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A query for candidates: documents with any of the analyzed terms in one of the fields, or in their dates. `also`: keys of
    documents that are candidates without a term, beyond the limit. `earlier`: the forms of these terms in documents
    that an index has with the terms of an earlier version of the analyzer."""

    terms: tuple[str, ...]
    fields: Field = ALL_FIELDS
    limit: int = 256
    also: tuple[int, ...] = ()
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Candidate:
    """A document to rank. `words` are its terms by field, in the order of Words, with one blank between terms and a line feed
    between fields; fields that were not requested are empty. Never changed."""

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
    """The candidates of a store. `documents`: the number of documents in the scope, at least 1; `frequencies`: the number of
    documents with a term, counted up to a limit (0 for a missing term). `complete`: the candidates are all matches.
    `unsearched`: the number of documents that were not searched, counted up to 100,000."""

    found: Sequence[Candidate]
    documents: int
    frequencies: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True
    unsearched: int = 0


class Scored(NamedTuple):
    """A candidate's key and ranking score: greater is better, comparable within one ranking only. `relevance`: the reported
    score, on the scale of `ranking.relevance`."""

    key: int
    score: float
    relevance: float = 0.0


class Span(NamedTuple):
    """A highlight: characters (Unicode code points) of a field's text, from `start` to before `end`."""

    start: int
    end: int
