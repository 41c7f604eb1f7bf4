"""Finding events by what they say or mean, best first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from ...domain.errors import InvalidField
from ...domain.filters import ALL, EventFilter
from ...domain.model import Caller
from ...domain.scopes import EventScope
from ...domain.search import ALL_FIELDS, Candidate, Candidates, Field, Scored, SearchMode, WordQuery
from ...domain.validation import DEFAULT_HITS, Limits
from ...search import query as questions
from ...search.query import Query
from ...search.ranking.fusion import recency
from ...store.contract.search import FoundEvent, SearchStore
from ...store.contract.vectors import Source
from ..access import own_scope
from .search_pipeline import (
    MOST_RANKED,
    Highlights,
    Recency,
    TextsOf,
    check_min_score,
    check_neighbors,
    depth,
    fitting,
    floored,
    marked_all,
    rank_words,
    ranked,
    reach,
)
from .vector_search import VectorSearch

_LOADED_AT_ONCE = 32
# Of the ranked, those whose neighbours are ranked too.
_BESIDE_BEST = 10


class Grouping(IntEnum):
    """What hits are brought together by; the numbers are those of threadkeep.v1.HitGrouping."""

    NONE = 0
    TURN = 1
    SESSION = 2


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A search of events by RANKED, SEMANTIC or HYBRID. `filter` holds no window. Times in nanoseconds; `reference_time` None:
    now. `min_score`: the least score of a hit; None is the default of `recall.relevance`. Of what is ranked, the best 1,000 can
    be paged through."""

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

    @property
    def wanted(self) -> int:
        return self.offset + self.limit


@dataclass(frozen=True, slots=True)
class RankedHit:
    """An event that answers. `score`: its relevance, see `recall.relevance`; with SEMANTIC the cosine. `group_hits`: with
    grouping, how many of the ranked events are of its turn or session; else 0."""

    found: FoundEvent
    score: float
    highlights: Highlights = ()
    group_hits: int = 0


@dataclass(frozen=True, slots=True)
class RankedPage:
    """Best first. `mode`: how the query was understood; `truncated`: more events match than are ranked; `semantic_lag`: what
    waits for its embedding (0 with RANKED); `next_offset`: None on the last page."""

    hits: Sequence[RankedHit]
    mode: SearchMode
    truncated: bool = False
    semantic_lag: int = 0
    next_offset: int | None = None


@dataclass(slots=True)
class _Ranking:
    """What was ranked, best first, and what is known of it by key."""

    mode: SearchMode
    scored: Sequence[Scored] = ()
    truncated: bool = False
    lag: int = 0
    times: dict[int, int] = field(default_factory=dict)
    sessions: dict[int, int] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)

    def take_words(self, candidates: Candidates) -> None:
        self.truncated = not candidates.complete
        for each in candidates.found:
            self.times[each.key], self.sessions[each.key] = each.time, each.session

    def take_found(self, found: Sequence[FoundEvent]) -> None:
        for each in found:
            self.times[each.key], self.sessions[each.key], self.turns[each.key] = each.time, each.session, each.turn


class RankedSearch:
    """Searches of events that rank. `texts` reads sealed bytes; without `vectors` there is neither SEMANTIC nor HYBRID."""

    def __init__(
        self, store: SearchStore, limits: Limits, texts: TextsOf, vectors: VectorSearch | None, clock: Callable[[], int]
    ) -> None:
        self._store = store
        self._limits = limits
        self._texts = texts
        self._vectors = vectors
        self._clock = clock

    @property
    def best_mode(self) -> SearchMode:
        """HYBRID where there is an embedder of events, else RANKED."""
        return SearchMode.RANKED if self._vectors is None else SearchMode.HYBRID

    async def search(self, caller: Caller, query: RankedQuery) -> RankedPage:
        """A question without a word finds nothing by RANKED. Raises InvalidField, PermissionDenied, SessionNotFound,
        AmbiguousSession, EmbedderNotConfigured, EmbedderFailed."""
        _check(query)
        wanted = query.filter if query.include_synthetic else replace(query.filter, exclude_synthetic=True)
        limit = min(query.limit, self._limits.max_page_size)
        query = replace(query, scope=own_scope(caller, query.scope), filter=wanted, limit=limit)
        now = self._clock() if query.reference_time is None else query.reference_time
        question = questions.parse(query.text, now)
        ranking = await self._rank(caller, query, question)
        ranking.scored = floored(ranking.mode, ranking.scored, query.min_score)
        if query.recency is not None:
            how = query.recency
            ranking.scored = recency(ranking.scored, ranking.times, now, how.half_life_ns, how.weight)
        groups = await self._group(caller.tenant, query, ranking)
        return await self._page(caller.tenant, query, question, ranking, groups)

    # --- ranking

    async def _rank(self, caller: Caller, query: RankedQuery, question: Query) -> _Ranking:
        tenant = caller.tenant
        ranking = _Ranking(query.mode)

        async def by_words() -> Sequence[Scored]:
            asked = WordQuery(tuple(question.terms), query.fields, depth(query.wanted))
            candidates = await self._store.word_candidates(tenant, query.scope, asked, query.filter)
            ranking.take_words(candidates)
            scored = await rank_words(question, candidates)
            beside = await self._beside(tenant, query, question, candidates, scored)
            if not beside:
                return scored
            joined = replace(candidates, found=[*candidates.found, *beside])
            ranking.take_words(joined)
            return await rank_words(question, joined)

        async def by_meaning() -> Sequence[Scored]:
            assert vectors is not None  # noqa: S101 - it is not called otherwise; mypy cannot see it
            ordered = query.recency is None and query.grouping is Grouping.NONE
            count = reach(query.mode, query.wanted, ordered=ordered)
            least = query.min_score if query.mode is SearchMode.SEMANTIC else None
            near = await vectors.events(tenant, query.scope, query.text, query.filter, count, least)
            ranking.lag = await vectors.lag(Source.EVENTS, caller)
            if query.fields != ALL_FIELDS:  # an embedding is of all that an event says; one that says nothing there is no hit
                near = [each for each in near if self._texts(each.found.event.body).of(query.fields)]
            ranking.take_found([each.found for each in near])
            told = await vectors.relevance(query.mode, [each.score for each in near])
            return [Scored(each.found.key, each.score, score) for each, score in zip(near, told, strict=True)]

        vectors = self._vectors
        ranking.mode, ranking.scored = await ranked(query.mode, by_words, None if vectors is None else by_meaning)
        return ranking

    async def _beside(
        self, tenant: str, query: RankedQuery, question: Query, candidates: Candidates, scored: Sequence[Scored]
    ) -> Sequence[Candidate]:
        """What answers a question often shares no word with it and stands beside what does: the reply to who asked the same, or
        what somebody is answered. So what stands beside the best is ranked too, by what they say of it. Keywords are meant as
        they are."""
        if not question.asks:
            return []
        best = [each.key for each in scored[:_BESIDE_BEST]]
        known = {each.key for each in candidates.found}
        near = await self._store.neighbor_candidates(tenant, query.scope, best, query.fields, query.filter) if best else []
        return [each for each in near if each.key not in known]

    async def _group(self, tenant: str, query: RankedQuery, ranking: _Ranking) -> Mapping[int, int]:
        """Leaves the best of each turn or session; how many there were, by its key."""
        if query.grouping is Grouping.NONE:
            return {}
        if query.grouping is Grouping.TURN:
            unknown = [each.key for each in ranking.scored if each.key not in ranking.turns]
            for start in range(0, len(unknown), _LOADED_AT_ONCE):
                keys = unknown[start : start + _LOADED_AT_ONCE]
                ranking.take_found(await self._store.events_by_key(tenant, query.scope, keys, query.filter))
        best: dict[tuple[int, int], Scored] = {}
        counted: Counter[tuple[int, int]] = Counter()
        for each in ranking.scored:
            if query.grouping is Grouping.TURN and each.key not in ranking.turns:
                continue  # deleted meanwhile
            turn = ranking.turns[each.key] if query.grouping is Grouping.TURN else 0
            group = (ranking.sessions[each.key], turn)
            best.setdefault(group, each)
            counted[group] += 1
        ranking.scored = list(best.values())
        return {scored.key: counted[group] for group, scored in best.items()}

    # --- the page

    async def _page(
        self, tenant: str, query: RankedQuery, question: Query, ranking: _Ranking, groups: Mapping[int, int]
    ) -> RankedPage:
        """As many of the ranked as the page and its bytes allow, and at least one."""
        end = min(query.offset + query.limit, len(ranking.scored), MOST_RANKED)
        taken: list[tuple[FoundEvent, float]] = []
        room = self._limits.max_response_bytes
        reached = query.offset
        while reached < end and room > 0:
            some = ranking.scored[reached : min(reached + _LOADED_AT_ONCE, end)]
            loaded = await self._store.events_by_key(
                tenant, query.scope, [each.key for each in some], query.filter, neighbors=query.neighbors
            )
            found = {each.key: each for each in loaded}
            for key, _, score in some:
                event = found.get(key)
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
        terms = () if ranking.mode is SearchMode.SEMANTIC else tuple(question.terms)
        marks = await marked_all(self._texts, [event.event.body for event, _ in taken], query.fields, terms)
        hits = [
            RankedHit(event, score, highlights, groups.get(event.key, 0))
            for (event, score), highlights in zip(taken, marks, strict=True)
        ]
        more = reached < min(len(ranking.scored), MOST_RANKED)
        return RankedPage(hits, ranking.mode, ranking.truncated, ranking.lag, reached if more else None)


def _check(query: RankedQuery) -> None:
    if not query.text.strip():
        raise InvalidField("query", "must not be blank")
    if query.mode not in (SearchMode.RANKED, SearchMode.SEMANTIC, SearchMode.HYBRID):
        raise InvalidField("mode", "must be RANKED, SEMANTIC or HYBRID for a search that ranks")
    if query.filter.has_window:
        raise InvalidField("filter", "must have neither last_n nor a page where hits are ranked; use page_size and page_token")
    if query.limit < 1:
        raise InvalidField("page_size", "must not be negative")
    check_neighbors(query.neighbors)
    check_min_score(query.min_score, query.mode)
