"""Where in a text the terms of a question stand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ..domain.search import Span
from ..domain.text import fold
from .analysis.analyzer import MOST_CHARACTERS, places

MOST_HIGHLIGHTS = 64


def highlights(text: str, terms: Collection[str], most: int = MOST_HIGHLIGHTS) -> list[Span]:
    """The first `most` places where a word has one of the analysed terms, in order, none overlapping or touching another: pairs
    of characters that overlap are one place. Only the characters that are indexed are looked at."""
    wanted = terms if isinstance(terms, (set, frozenset)) else set(terms)
    if not wanted:
        return []
    return _merged(places(text[:MOST_CHARACTERS], wanted), most)


def literal_highlights(text: str, folded_terms: Iterable[str], most: int = MOST_HIGHLIGHTS) -> list[Span]:
    """The first `most` places where one of the terms, folded by domain.text.fold, stands in the folded text, in order, none
    overlapping or touching another. A character of which only a part was found, as one s of ß, is highlighted whole."""
    folded = fold(text)
    found: list[tuple[int, int]] = []
    for term in set(folded_terms):
        if term:
            found += _occurrences(folded, term)
    found.sort()
    if len(folded) == len(text):  # Folding never shortens: nothing has moved.
        return _merged(found, most)
    origin = [place for place, character in enumerate(text) for _ in fold(character)]
    return _merged(((origin[start], origin[end - 1] + 1) for start, end in found), most)


def _occurrences(text: str, term: str) -> Iterator[tuple[int, int]]:
    start = text.find(term)
    while start >= 0:
        yield start, start + len(term)
        start = text.find(term, start + len(term))


def _merged(found: Iterable[tuple[int, int]], most: int) -> list[Span]:
    """The first spans of places in order; what overlaps or touches becomes one. Looks no farther than it must."""
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
