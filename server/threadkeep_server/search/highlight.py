"""Matches of the terms of a query in a text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ..domain.search import Span
from ..domain.text import fold
from .analysis.analyzer import MOST_CHARACTERS, Seen, places

MOST_HIGHLIGHTS = 64


def highlights(text: str, terms: Collection[str], most: int = MOST_HIGHLIGHTS, seen: Seen | None = None) -> list[Span]:
    """Returns the first `most` spans of words with one of the analyzed terms, in order, without overlapping or adjacent ones:
    overlapping pairs of characters are one span. Reads only the indexed characters. `seen`: of `places`."""
    wanted = terms if isinstance(terms, (set, frozenset)) else set(terms)
    if not wanted:
        return []
    return _merged(places(text[:MOST_CHARACTERS], wanted, seen), most)


def literal_highlights(text: str, folded_terms: Iterable[str], most: int = MOST_HIGHLIGHTS) -> list[Span]:
    """Returns the first `most` spans of terms, folded by domain.text.fold, in the folded text, in order, without overlapping or
    adjacent ones. A character of which only a part matches, as one s of ß, is highlighted whole."""
    folded = fold(text)
    found: list[tuple[int, int]] = []
    for term in set(folded_terms):
        if term:
            found += _occurrences(folded, term)
    found.sort()
    if len(folded) == len(text):  # Folding never shortens, so equal lengths mean equal places.
        return _merged(found, most)
    origin = [place for place, character in enumerate(text) for _ in fold(character)]
    return _merged(((origin[start], origin[end - 1] + 1) for start, end in found), most)


def _occurrences(text: str, term: str) -> Iterator[tuple[int, int]]:
    start = text.find(term)
    while start >= 0:
        yield start, start + len(term)
        start = text.find(term, start + len(term))


def _merged(found: Iterable[tuple[int, int]], most: int) -> list[Span]:
    """Merges overlapping and adjacent places, in order, into the first `most` spans. Reads no more places than required."""
    spans: list[Span] = []
    for start, end in found:
        if spans and start <= spans[-1].end:
            if end > spans[-1].end:
                spans[-1] = Span(spans[-1].start, end)
        elif len(spans) == most:
            break
        else:
            spans.append(Span(start, end))
    return spans
