"""The pipeline of searches of events and memories: validation, ranking, scores and highlights."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Protocol

from ...domain.errors import EmbedderFailed, EmbedderNotConfigured, InvalidField
from ...domain.filters import EventFilter
from ...domain.model import Caller, StoredEvent
from ...domain.search import FIELDS, Candidates, Field, Scored, SearchMode, Span, Texts
from ...providers.embedders.base import EmbedFailed
from ...providers.rerankers.base import Reranker
from ...search.analysis.analyzer import Seen
from ...search.highlight import highlights, literal_highlights
from ...search.query import Query
from ...search.ranking import term_hits
from ...search.ranking.fusion import NO_MEANING, Meaning, first_by_words, nearness, recency
from ...search.ranking.relevance import answering
from ...search.ranking.scoring import DEFAULT, rank
from ...search.ranking.term_hits import Tokens
from ...store.contract.vectors import Source
from ...telemetry.spans import span
from ..run_in_thread import run_in_thread
from .reranking import Readable, reranked
from .vector_search import VectorSearch

_log = logging.getLogger(__name__)

MOST_HIGHLIGHTS = 64
MOST_NEIGHBORS = 10
MOST_RANKED = 1_000
_RANKED = 256
_FUSED = 100
_MOST_BYTES_AT_ONCE = 32 << 10
# Characters of candidates' words: about ten milliseconds.
_MOST_WORDS_AT_ONCE = 512 << 10
_MOST_WEIGHT = 100.0
NOT_FOR_SUBSTRING = "is not for SEARCH_MODE_SUBSTRING, which finds literal text; leave it out, or choose another mode"

TextsOf = Callable[[bytes], Texts]
"""The searchable texts of a message's stored bytes, not folded."""


@dataclass(frozen=True, slots=True)
class Recency:
    """Ranks newer hits higher: multiplies ranking scores by 1 + weight * 2^(-age / half_life_ns). Raises InvalidField unless
    half_life_ns is above zero and weight is between 0 and 100."""

    half_life_ns: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.half_life_ns <= 0:
            raise InvalidField("recency.half_life", "must be above zero")
        if not (math.isfinite(self.weight) and 0 <= self.weight <= _MOST_WEIGHT):
            raise InvalidField("recency.weight", f"must be between 0 and {_MOST_WEIGHT:g}; 0 means 1")


class Highlight(NamedTuple):
    """A match of the query: the field, and the span in its text."""

    field: Field
    span: Span


Highlights = Sequence[Highlight]


class Cosines(NamedTuple):
    """Keys and cosines of the nearest documents, and the median of their scope, see `vector_search.Nearest`."""

    nearest: Sequence[tuple[int, float]]
    usual: float | None = None


class Documents(Readable, Protocol):
    """The documents of one search: the events or the memories of a scope."""

    @property
    def source(self) -> Source: ...

    @property
    def times(self) -> Mapping[int, int]:
        """The time of each document that was found, in nanoseconds, by key."""
        ...

    async def by_terms(self, limit: int, meaning: Meaning = NO_MEANING) -> Sequence[Scored]:
        """Ranks up to `limit` documents that share a term with the question, and those of `meaning`, best first."""
        ...

    async def nearest(self, vectors: VectorSearch, count: int, min_score: float | None) -> Cosines:
        """Returns the `count` documents nearest to the question, best first. Raises EmbedFailed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingRequest:
    """How to rank. `wanted`: hits from the start of the ranking. `now`: nanoseconds, the reference of `recency`. `grouped`: the
    caller groups the hits. `text`: the query."""

    mode: SearchMode
    wanted: int
    now: int
    min_score: float | None = None
    recency: Recency | None = None
    grouped: bool = False
    text: str = ""


class Ranking(NamedTuple):
    """Documents, best first, and the mode that ranked them. `semantic_lag`: documents that wait for an embedding (0 with
    RANKED). `rerank_failed`: the reranker did not answer."""

    mode: SearchMode
    scored: Sequence[Scored]
    semantic_lag: int = 0
    rerank_failed: bool = False


def best_mode(vectors: VectorSearch | None) -> SearchMode:
    """Returns HYBRID with an embedder, else RANKED."""
    return SearchMode.RANKED if vectors is None else SearchMode.HYBRID


async def rank_documents(
    documents: Documents,
    vectors: VectorSearch | None,
    caller: Caller,
    request: RankingRequest,
    reranker: Reranker | None = None,
) -> Ranking:
    """Ranks by terms, by vectors or both, then applies the least score, the reranker (except with SEMANTIC) and the recency.
    HYBRID falls back to RANKED if the embedder fails. Raises EmbedderNotConfigured, EmbedderFailed."""
    mode, lag = request.mode, 0
    if mode is SearchMode.RANKED:
        scored = await _by_terms(documents, request)
    elif vectors is None:
        raise EmbedderNotConfigured
    else:
        try:
            with span("search vectors"):
                scored, lag, meaning = await _by_vectors(documents, vectors, caller, request)
        except EmbedFailed as failed:
            if mode is SearchMode.SEMANTIC:
                raise EmbedderFailed(failed.problem) from None
            _log.warning("searching without embeddings: %s", failed.problem)
            mode, scored = SearchMode.RANKED, await _by_terms(documents, request)
        else:
            if mode is SearchMode.HYBRID:
                scored = await _by_terms_and_meaning(meaning, scored, documents, request)
    # SEMANTIC has no default least score: it returns the nearest documents, however far they are.
    if mode is not SearchMode.SEMANTIC or request.min_score is not None:
        scored = answering(scored, request.min_score)
    failed_to_rerank = False
    if reranker is not None and mode is not SearchMode.SEMANTIC:
        with span("search rerank"):
            scored, failed_to_rerank = await reranked(documents, reranker, request.text, scored)
    if request.recency is not None:
        scored = recency(scored, documents.times, request.now, request.recency.half_life_ns, request.recency.weight)
    return Ranking(mode, scored, lag, failed_to_rerank)


async def _by_terms(documents: Documents, request: RankingRequest, meaning: Meaning = NO_MEANING) -> Sequence[Scored]:
    with span("search words"):
        return await documents.by_terms(_term_depth(request.wanted), meaning)


async def _by_terms_and_meaning(
    meaning: Meaning, near: Sequence[Scored], documents: Documents, request: RankingRequest
) -> Sequence[Scored]:
    """Ranks by terms and by the meaning of the nearest documents. The relevance is the greater of both."""
    ranked = await _by_terms(documents, request, meaning)
    if meaning.spelling:
        ranked = first_by_words(ranked, await _by_terms(documents, request))
    relevance = {each.key: each.relevance for each in near}
    return [each._replace(relevance=max(each.relevance, relevance.get(each.key, 0.0))) for each in ranked]


async def _by_vectors(
    documents: Documents, vectors: VectorSearch, caller: Caller, request: RankingRequest
) -> tuple[Sequence[Scored], int, Meaning]:
    """The nearest documents, the number of those that wait for an embedding, and what their likeness counts next to words."""
    least = request.min_score if request.mode is SearchMode.SEMANTIC else None
    near, usual = await documents.nearest(vectors, _vector_depth(request), least)
    lag = await vectors.lag(documents.source, caller)
    relevances = await vectors.relevance(request.mode, [cosine for _, cosine in near])
    scored = [Scored(key, cosine, score) for (key, cosine), score in zip(near, relevances, strict=True)]
    if request.mode is not SearchMode.HYBRID:
        return scored, lag, NO_MEANING
    return scored, lag, nearness(scored, await vectors.strength(request.text, usual), usual)


def _term_depth(wanted: int) -> int:
    """Returns one of two depths, so that all pages are of one ranking."""
    return _RANKED if wanted <= _RANKED else MOST_RANKED


def _vector_depth(request: RankingRequest) -> int:
    """Returns no more documents than matter, since each is read."""
    if request.mode is SearchMode.HYBRID:
        return _FUSED if request.wanted <= _FUSED else MOST_RANKED
    if request.recency is None and not request.grouped:
        return min(request.wanted + 1, MOST_RANKED)
    return _term_depth(request.wanted)


class RankedWords(NamedTuple):
    """Documents, best first, and the terms of the candidates, for another ranking of them and more."""

    scored: Sequence[Scored]
    tokens: Tokens | None = None


async def rank_words(question: Query, candidates: Candidates, meaning: Meaning, known: Tokens | None = None) -> RankedWords:
    """Runs `ranking.scoring.rank`, in a thread if the candidates are long, since it reads all their words. `known`: the terms
    of the first of the candidates."""
    size = sum(len(each.words) for each in candidates.found)
    return await run_in_thread(size, _MOST_WORDS_AT_ONCE, _rank_words, question, candidates, meaning, known)


def _rank_words(question: Query, candidates: Candidates, meaning: Meaning, known: Tokens | None) -> RankedWords:
    found = candidates.found
    if not found:
        return RankedWords([])
    tokens = known
    if fresh := found[0 if known is None else len(known.lengths) :]:
        more = term_hits.read([each.words for each in fresh])
        tokens = more if known is None else term_hits.joined(known, more)
    return RankedWords(rank(question, candidates, DEFAULT, meaning, tokens), tokens)


def check_min_score(value: float | None, mode: SearchMode) -> None:
    """Raises InvalidField unless the mode can have such a score."""
    least = -1 if mode is SearchMode.SEMANTIC else 0
    if value is not None and not least <= value <= 1:
        raise InvalidField("min_score", f"must be between {least} and 1 with SEARCH_MODE_{mode.name}")


def check_no_newest(wanted: EventFilter) -> None:
    """Raises InvalidField if the window is the newest matches."""
    if wanted.newest is not None:
        name = "exact_last_n" if wanted.last_n is None else "last_n"
        raise InvalidField(f"filter.{name}", "is not for searches; use page_size and page_token")


def check_neighbors(count: int) -> None:
    """Raises InvalidField."""
    if not 0 <= count <= MOST_NEIGHBORS:
        raise InvalidField("neighbors", f"must be between 0 and {MOST_NEIGHBORS}")


Events = Sequence[StoredEvent]


def fitting(before: Events, after: Events, room: int) -> tuple[Events, Events]:
    """Drops the farthest neighbors of an event until the others fit into `room` bytes."""
    before, after = list(before), list(after)
    size = sum(len(each.body) for each in (*before, *after))
    while size > room and (before or after):
        gone = before.pop(0) if len(before) >= len(after) else after.pop()
        size -= len(gone.body)
    return before, after


def marked(texts: Texts, fields: Field, terms: Collection[str]) -> Highlights:
    """Returns the first MOST_HIGHLIGHTS matches of analyzed terms in the searched fields."""
    return marked_known(texts, fields, terms, {}) if terms else []


def marked_known(texts: Texts, fields: Field, terms: Collection[str], seen: Seen) -> Highlights:
    """Returns `marked`; `seen` holds the words of other texts with the same terms."""
    return _found(texts, fields, lambda text: highlights(text, terms, seen=seen))


async def marked_all(texts_of: TextsOf, bodies: Sequence[bytes], fields: Field, terms: Collection[str]) -> list[Highlights]:
    """Returns `marked` for each body; in a thread for long texts, since all their words are analyzed."""

    def work() -> list[Highlights]:
        seen: Seen = {}  # texts repeat each other's words
        wanted = frozenset(terms)
        return [marked_known(texts_of(body), fields, wanted, seen) for body in bodies]

    if not terms:
        return [[] for _ in bodies]
    return await run_in_thread(sum(map(len, bodies)), _MOST_BYTES_AT_ONCE, work)


def marked_literally(texts: Texts, fields: Field, folded_terms: Collection[str]) -> Highlights:
    """Returns the first MOST_HIGHLIGHTS matches of folded terms in the searched fields."""
    return _found(texts, fields, lambda text: literal_highlights(text, folded_terms)) if folded_terms else []


def _found(texts: Texts, fields: Field, find: Callable[[str], Iterable[Span]]) -> Highlights:
    every = (
        Highlight(name, span)
        for name, text in zip(FIELDS, texts, strict=True)
        if text and name in fields
        for span in find(text)
    )
    return list(islice(every, MOST_HIGHLIGHTS))
