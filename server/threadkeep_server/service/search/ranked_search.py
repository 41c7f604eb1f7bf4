"""Ranked, semantic and hybrid search of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from ...domain.errors import InvalidField
from ...domain.filters import ALL, EventFilter
from ...domain.model import Caller
from ...domain.scopes import EventScope
from ...domain.search import ALL_FIELDS, Candidate, Candidates, Field, Scored, SearchMode, WordQuery
from ...domain.validation import DEFAULT_HITS, Limits
from ...providers.rerankers.base import Reranker
from ...search.query import Query, parse
from ...search.ranking.fusion import NO_MEANING, Meaning
from ...store.contract.search import FoundEvent, SearchStore
from ...store.contract.vectors import Source
from ...telemetry.spans import span
from ..access import own_scope
from .search_pipeline import (
    MOST_RANKED,
    Cosines,
    Highlights,
    RankingRequest,
    Recency,
    TextsOf,
    best_mode,
    check_min_score,
    check_neighbors,
    check_no_newest,
    fitting,
    marked_all,
    rank_documents,
    rank_words,
)
from .search_slots import UNLIMITED, SearchSlots
from .unshown import Shown, unshown
from .vector_search import VectorSearch

_LOADED_AT_ONCE = 32
# The ranked events whose neighbors are ranked too.
_BEST_WITH_ADJACENT = 10


class Grouping(IntEnum):
    """The grouping of hits; the numbers are those of threadkeep.v1.HitGrouping."""

    NONE = 0
    TURN = 1
    SESSION = 2


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A search of events by RANKED, SEMANTIC or HYBRID. `filter` has no window. Times in nanoseconds; `reference_time` None:
    now. `min_score`: the lowest score of a hit; None is the default of `relevance.answering`. `distinct`: a page has each event
    once, see `unshown`. Pages cover the best 1,000."""

    scope: EventScope
    text: str
    mode: SearchMode = SearchMode.RANKED
    filter: EventFilter = ALL
    fields: Field = ALL_FIELDS
    limit: int = DEFAULT_HITS
    offset: int = 0
    neighbors: int = 0
    grouping: Grouping = Grouping.NONE
    recency: Recency | None = None
    min_score: float | None = None
    reference_time: int | None = None
    include_synthetic: bool = False
    distinct: bool = False

    @property
    def wanted(self) -> int:
        return self.offset + self.limit


@dataclass(frozen=True, slots=True)
class RankedHit:
    """An event and its score: the relevance, see `ranking.relevance`; with SEMANTIC the cosine. `group_hits`: with grouping,
    the number of ranked events of its turn or session; else 0."""

    found: FoundEvent
    score: float
    highlights: Highlights = ()
    group_hits: int = 0


@dataclass(frozen=True, slots=True)
class RankedPage:
    """Hits, best first. `mode`: the mode that ranked; `truncated`: more events match than are ranked; `semantic_lag`: events
    without an embedding (0 with RANKED); `next_offset`: None on the last page; `unsearched`: events that are not indexed and
    were too many to read."""

    hits: Sequence[RankedHit]
    mode: SearchMode
    truncated: bool = False
    semantic_lag: int = 0
    next_offset: int | None = None
    unsearched: int = 0
    rerank_failed: bool = False
    """The reranker did not answer: the order is that of `mode`."""


class _Events:
    """The events of one search, with times, sessions and turns of those found, by key."""

    source = Source.EVENTS

    def __init__(self, store: SearchStore, texts: TextsOf, tenant: str, query: RankedQuery, question: Query) -> None:
        self._store = store
        self._texts = texts
        self._tenant = tenant
        self._query = query
        self._question = question
        self.truncated = False
        self.unsearched = 0
        self.times: dict[int, int] = {}
        self._sessions: dict[int, int] = {}
        self._turns: dict[int, int] = {}

    async def by_terms(self, limit: int, meaning: Meaning = NO_MEANING) -> Sequence[Scored]:
        """Ranks the events that share a term with the question or are near in meaning, and those next to the best of them."""
        query = self._query
        question = self._question
        wanted = WordQuery(question.recruiting, query.fields, limit, tuple(meaning.near), question.recruiting_earlier)
        candidates = await self._store.word_candidates(self._tenant, query.scope, wanted, query.filter)
        self._take_candidates(candidates)
        scored, tokens = await rank_words(self._question, candidates, meaning)
        adjacent = await self._adjacent(candidates, scored)
        if not adjacent:
            return scored
        joined = replace(candidates, found=[*candidates.found, *adjacent])
        self._take_candidates(joined)
        return (await rank_words(self._question, joined, meaning, tokens)).scored

    async def _adjacent(self, candidates: Candidates, scored: Sequence[Scored]) -> Sequence[Candidate]:
        """The candidates next to the best. The answer to a question often shares no word with it and follows, or precedes, an
        event that does. Keywords are not a question."""
        if not self._question.is_question:
            return []
        query = self._query
        best = [each.key for each in scored[:_BEST_WITH_ADJACENT]]
        known = {each.key for each in candidates.found}
        near = (
            await self._store.neighbor_candidates(self._tenant, query.scope, best, query.fields, query.filter) if best else []
        )
        return [each for each in near if each.key not in known]

    async def nearest(self, vectors: VectorSearch, count: int, min_score: float | None) -> Cosines:
        """Returns the nearest events that have text in one of the query's fields; an embedding covers all fields."""
        query = self._query
        near, usual = await vectors.events(self._tenant, query.scope, query.text, query.filter, count, min_score)
        if query.fields != ALL_FIELDS:
            near = [each for each in near if self._texts(each.document.event.body).of(query.fields)]
        self._take_found([each.document for each in near])
        return Cosines([(each.document.key, each.cosine) for each in near], usual)

    async def group(self, scored: Sequence[Scored]) -> tuple[Sequence[Scored], Mapping[int, int]]:
        """Returns the best event of each turn or session, and the size of its group by its key."""
        by_turn = self._query.grouping is Grouping.TURN
        if self._query.grouping is Grouping.NONE:
            return scored, {}
        if by_turn:
            await self._load_turns([each.key for each in scored if each.key not in self._turns])
        best: dict[tuple[int, int], Scored] = {}
        sizes: Counter[tuple[int, int]] = Counter()
        for each in scored:
            if by_turn and each.key not in self._turns:
                continue  # deleted meanwhile
            group = (self._sessions[each.key], self._turns[each.key] if by_turn else 0)
            best.setdefault(group, each)
            sizes[group] += 1
        return list(best.values()), {each.key: sizes[group] for group, each in best.items()}

    async def _load_turns(self, keys: Sequence[int]) -> None:
        async for found in self._by_key(keys):
            self._take_found(found)

    async def texts(self, keys: Sequence[int]) -> Mapping[int, str]:
        fields = self._query.fields
        return {each.key: self._texts(each.event.body).of(fields) async for found in self._by_key(keys) for each in found}

    async def _by_key(self, keys: Sequence[int]) -> AsyncIterator[Sequence[FoundEvent]]:
        """Yields the events that still exist, some at a time."""
        for start in range(0, len(keys), _LOADED_AT_ONCE):
            some = keys[start : start + _LOADED_AT_ONCE]
            yield await self._store.events_by_key(self._tenant, self._query.scope, some, self._query.filter)

    def _take_candidates(self, candidates: Candidates) -> None:
        self.truncated = not candidates.complete
        self.unsearched = candidates.unsearched
        for each in candidates.found:
            self.times[each.key], self._sessions[each.key] = each.time, each.session

    def _take_found(self, found: Sequence[FoundEvent]) -> None:
        for each in found:
            self.times[each.key], self._sessions[each.key], self._turns[each.key] = each.time, each.session, each.turn


class RankedSearch:
    """Searches of events that rank. `texts` reads sealed bytes; SEMANTIC and HYBRID require `vectors`. `slots`: the searches
    that may run at a time. `reranker`: orders the best of RANKED and HYBRID again."""

    def __init__(
        self,
        store: SearchStore,
        limits: Limits,
        texts: TextsOf,
        vectors: VectorSearch | None,
        clock: Callable[[], int],
        slots: SearchSlots = UNLIMITED,
        reranker: Reranker | None = None,
    ) -> None:
        self._store = store
        self._slots = slots
        self._limits = limits
        self._texts = texts
        self._vectors = vectors
        self._clock = clock
        self._reranker = reranker

    @property
    def best_mode(self) -> SearchMode:
        return best_mode(self._vectors)

    async def search(self, caller: Caller, query: RankedQuery) -> RankedPage:
        """Returns a page of hits; RANKED finds nothing for a query without words. Raises InvalidField, PermissionDenied,
        SessionNotFound, AmbiguousSession, EmbedderNotConfigured, EmbedderFailed, RateLimited."""
        _check(query)
        wanted = query.filter if query.include_synthetic else replace(query.filter, exclude_synthetic=True)
        limit = min(query.limit, self._limits.max_page_size)
        query = replace(query, scope=own_scope(caller, query.scope), filter=wanted, limit=limit)
        with self._slots.search(caller, "events", query.mode):
            return await self._page(caller, query)

    async def _page(self, caller: Caller, query: RankedQuery) -> RankedPage:
        now = self._clock() if query.reference_time is None else query.reference_time
        question = parse(query.text, now)
        events = _Events(self._store, self._texts, caller.tenant, query, question)
        request = RankingRequest(
            mode=query.mode,
            wanted=query.wanted,
            now=now,
            min_score=query.min_score,
            recency=query.recency,
            grouped=query.grouping is not Grouping.NONE,
            text=query.text,
        )
        ranking = await rank_documents(events, self._vectors, caller, request, self._reranker)
        scored, sizes = await events.group(ranking.scored)
        terms = () if ranking.mode is SearchMode.SEMANTIC else tuple(question.terms)
        with span("search load"):
            taken, reached = await self._fill(caller.tenant, query, scored)
        with span("search highlight"):
            marks = await marked_all(self._texts, [event.event.body for event, _ in taken], query.fields, terms)
        hits = [
            RankedHit(event, score, highlights, sizes.get(event.key, 0))
            for (event, score), highlights in zip(taken, marks, strict=True)
        ]
        more = reached < min(len(scored), MOST_RANKED)
        return RankedPage(
            hits,
            ranking.mode,
            truncated=events.truncated,
            semantic_lag=ranking.semantic_lag,
            next_offset=reached if more else None,
            unsearched=events.unsearched,
            rerank_failed=ranking.rerank_failed,
        )

    async def _fill(
        self, tenant: str, query: RankedQuery, scored: Sequence[Scored]
    ) -> tuple[list[tuple[FoundEvent, float]], int]:
        """Loads as many events as the page and its bytes allow, at least one. Returns them with their scores, and the offset of
        the next page."""
        end = min(len(scored), MOST_RANKED)
        if not query.distinct:
            end = min(end, query.wanted)  # also if some were deleted
        shown: Shown = set()
        taken: list[tuple[FoundEvent, float]] = []
        room = self._limits.max_response_bytes
        reached = query.offset
        while reached < end and room > 0 and (missing := query.limit - len(taken)):
            some = scored[reached : min(reached + min(_LOADED_AT_ONCE, missing), end)]
            loaded = await self._store.events_by_key(
                tenant, query.scope, [each.key for each in some], query.filter, neighbors=query.neighbors
            )
            found = {each.key: each for each in loaded}
            for key, _, score in some:
                event = found.get(key)
                if event is not None and query.distinct:
                    event = unshown(event, shown)
                if event is not None:
                    size = sum(len(each.body) for each in (event.event, *event.before, *event.after))
                    if size > room and taken:
                        room = 0
                        break
                    if size > room:
                        before, after = fitting(event.before, event.after, room - len(event.event.body))
                        event = replace(event, before=before, after=after)
                    room -= size
                    taken.append((event, score))
                reached += 1
        return taken, reached


def _check(query: RankedQuery) -> None:
    if not query.text.strip():
        raise InvalidField("query", "must not be blank with a mode that ranks")
    if query.mode not in (SearchMode.RANKED, SearchMode.SEMANTIC, SearchMode.HYBRID):
        raise InvalidField("mode", "must be RANKED, SEMANTIC or HYBRID for a search that ranks")
    check_no_newest(query.filter)
    if query.filter.page_size is not None:
        raise InvalidField("filter.page", "is for SEARCH_MODE_SUBSTRING only; use page_size and page_token")
    if query.limit < 1:
        raise InvalidField("page_size", "must not be negative")
    check_neighbors(query.neighbors)
    check_min_score(query.min_score, query.mode)
