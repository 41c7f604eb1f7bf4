"""What searches of events and of memories have in common."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from ...domain.errors import EmbedderFailed, EmbedderNotConfigured, InvalidField
from ...domain.model import StoredEvent
from ...domain.search import FIELDS, Candidates, Field, Scored, SearchMode, Span, Texts
from ...providers.embedders.base import EmbedFailed
from ...search.highlight import highlights, literal_highlights
from ...search.query import Query
from ...search.ranking.fusion import fuse
from ...search.ranking.relevance import answering
from ...search.ranking.scoring import rank
from ..run_in_thread import aside

_log = logging.getLogger(__name__)

MOST_HIGHLIGHTS = 64
MOST_NEIGHBORS = 10
MOST_RANKED = 1_000
_RANKED = 256
_FUSED = 100
_MOST_BYTES_AT_ONCE = 32 << 10
# Characters of candidates' words: some ten milliseconds.
_MOST_WORDS_AT_ONCE = 512 << 10
MOST_WEIGHT = 100.0

TextsOf = Callable[[bytes], Texts]
"""The searchable texts of a message's stored bytes, not folded."""


@dataclass(frozen=True, slots=True)
class Recency:
    """Puts what is newer further up: what hits are ordered by is multiplied by 1 + weight * 2^(-age / half_life_ns). Raises
    InvalidField unless half_life_ns is above zero and weight between 0 and 100."""

    half_life_ns: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.half_life_ns <= 0:
            raise InvalidField("recency.half_life", "must be above zero")
        if not (math.isfinite(self.weight) and 0 <= self.weight <= MOST_WEIGHT):
            raise InvalidField("recency.weight", f"must be between 0 and {MOST_WEIGHT:g}")


class Highlight(NamedTuple):
    """Where in which field's text the query was found."""

    field: Field
    span: Span


Highlights = Sequence[Highlight]


Ranking = Callable[[], Awaitable[Sequence[Scored]]]
"""Documents that answer, best first."""


def depth(wanted: int) -> int:
    """How many are ranked by their words where so many are wanted: one of two, so that pages are of one ranking."""
    return _RANKED if wanted <= _RANKED else MOST_RANKED


def reach(mode: SearchMode, wanted: int, *, ordered: bool) -> int:
    """How many are looked for by meaning: each is read, so no more than matter. `ordered`: the nearest are the answer as they
    are."""
    if mode is SearchMode.HYBRID:
        return _FUSED if wanted <= _FUSED else MOST_RANKED
    return min(wanted + 1, MOST_RANKED) if ordered else depth(wanted)


async def ranked(mode: SearchMode, by_words: Ranking, by_meaning: Ranking | None) -> tuple[SearchMode, Sequence[Scored]]:
    """How a query by RANKED, SEMANTIC or HYBRID is understood in the end, and what it finds. `by_meaning` raises EmbedFailed;
    HYBRID does without it then. Raises EmbedderNotConfigured without it, EmbedderFailed."""
    if mode is SearchMode.RANKED:
        return mode, await by_words()
    if by_meaning is None:
        raise EmbedderNotConfigured
    try:
        near = await by_meaning()
    except EmbedFailed as failed:
        if mode is SearchMode.SEMANTIC:
            raise EmbedderFailed(failed.problem) from None
        _log.warning("a search goes without embeddings: %s", failed.problem)
        return SearchMode.RANKED, await by_words()
    if mode is SearchMode.SEMANTIC:
        return mode, near
    return mode, fuse([await by_words(), near])


async def rank_words(question: Query, candidates: Candidates) -> Sequence[Scored]:
    """`recall.ranking.rank`; beside the event loop where candidates are long, for all their words are gone through."""
    size = sum(len(each.words) for each in candidates.found)
    return await aside(size, _MOST_WORDS_AT_ONCE, rank, question, candidates)


def floored(mode: SearchMode, scored: Sequence[Scored], min_score: float | None) -> Sequence[Scored]:
    """Those that reach the floor, or where none is given the default one. SEMANTIC has no default: the nearest are its answer,
    however far they are."""
    return scored if mode is SearchMode.SEMANTIC and min_score is None else answering(scored, min_score)


def check_min_score(value: float | None, mode: SearchMode) -> None:
    """Raises InvalidField for what no score of the mode can be."""
    least = -1 if mode is SearchMode.SEMANTIC else 0
    if value is not None and not least <= value <= 1:
        raise InvalidField("min_score", f"must be between {least} and 1 with SEARCH_MODE_{mode.name}")


def check_neighbors(count: int) -> None:
    """Raises InvalidField."""
    if not 0 <= count <= MOST_NEIGHBORS:
        raise InvalidField("neighbors", f"must be between 0 and {MOST_NEIGHBORS}")


Events = Sequence[StoredEvent]


def fitting(before: Events, after: Events, room: int) -> tuple[Events, Events]:
    """An event's neighbours without the farthest, as far as it must be."""
    before, after = list(before), list(after)
    size = sum(len(each.body) for each in (*before, *after))
    while size > room and (before or after):
        gone = before.pop(0) if len(before) >= len(after) else after.pop()
        size -= len(gone.body)
    return before, after


def marked(texts: Texts, fields: Field, terms: Collection[str]) -> Highlights:
    """Where terms of an analysed question stand in the fields that were searched, the first MOST_HIGHLIGHTS."""
    return _found(texts, fields, lambda text: highlights(text, terms)) if terms else []


async def marked_all(texts_of: TextsOf, bodies: Sequence[bytes], fields: Field, terms: Collection[str]) -> list[Highlights]:
    """`marked` for each body; beside the event loop where that takes long, for all words of their texts are analysed."""

    def work() -> list[Highlights]:
        return [marked(texts_of(body), fields, terms) for body in bodies]

    if not terms:
        return [[] for _ in bodies]
    return await aside(sum(map(len, bodies)), _MOST_BYTES_AT_ONCE, work)


def marked_literally(texts: Texts, fields: Field, folded_terms: Collection[str]) -> Highlights:
    """Where folded terms stand in the fields that were searched, the first MOST_HIGHLIGHTS."""
    return _found(texts, fields, lambda text: literal_highlights(text, folded_terms)) if folded_terms else []


def _found(texts: Texts, fields: Field, find: Callable[[str], Iterable[Span]]) -> Highlights:
    every = (
        Highlight(name, span)
        for name, text in zip(FIELDS, texts, strict=True)
        if text and name in fields
        for span in find(text)
    )
    return list(islice(every, MOST_HIGHLIGHTS))
