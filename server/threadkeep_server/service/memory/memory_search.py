"""Search of long-term memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...domain.errors import InvalidField
from ...domain.memories import ALL_MEMORIES, Memory, MemoryFilter, MemoryScope
from ...domain.model import Caller
from ...domain.search import ALL_FIELDS, Scored, SearchMode, WordQuery, understood
from ...domain.text import fold
from ...domain.validation import DEFAULT_HITS, Limits
from ...providers.rerankers.base import Reranker
from ...search.query import Query, parse
from ...search.ranking.fusion import NO_MEANING, Meaning
from ...store.contract.memories import MemoriesStore
from ...store.contract.vectors import Source
from ..access import own_memories
from ..search.search_pipeline import (
    MOST_RANKED,
    NOT_FOR_SUBSTRING,
    Cosines,
    Highlights,
    RankingRequest,
    Recency,
    TextsOf,
    best_mode,
    check_min_score,
    marked_all,
    marked_literally,
    rank_documents,
    rank_words,
)
from ..search.search_slots import UNLIMITED, SearchSlots
from ..search.vector_search import VectorSearch
from .refreshing import check_refresh, refreshed

_SEMANTIC_HITS = 5


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A search of memories. `min_score`: the lowest score of an entry; None is the default of `relevance.answering`. `top_k` 0:
    5 with SEMANTIC, else 10; at most 1,000. `reference_time` None: now."""

    scope: MemoryScope
    text: str
    mode: SearchMode = SearchMode.AUTO
    top_k: int = 0
    min_score: float | None = None
    filter: MemoryFilter = ALL_MEMORIES
    recency: Recency | None = None
    reference_time: int | None = None
    refresh: bool = False
    """Whether entries that are returned expire later."""


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """An entry and its score. `score`: the relevance, see `ranking.relevance`; with SEMANTIC the cosine, with SUBSTRING 1."""

    memory: Memory
    score: float = 1.0
    highlights: Highlights = ()


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """Entries, best first, or newest first with SUBSTRING. `mode`: the mode that answered. `semantic_lag`: memories without an
    embedding (0 with SUBSTRING and RANKED). `unsearched`: memories that are not indexed in the current form and were too many
    to read."""

    entries: Sequence[FoundMemory]
    mode: SearchMode
    semantic_lag: int = 0
    unsearched: int = 0
    rerank_failed: bool = False
    """The reranker did not answer: the order is that of `mode`."""


class _Memories:
    """The memories of one search. `times` holds the time of each that was found, by key."""

    source = Source.MEMORIES

    def __init__(self, store: MemoriesStore, texts: TextsOf, tenant: str, query: MemoryQuery, question: Query) -> None:
        self._store = store
        self._texts = texts
        self._tenant = tenant
        self._query = query
        self._question = question
        self.times: dict[int, int] = {}
        self.unsearched = 0

    async def by_terms(self, limit: int, meaning: Meaning = NO_MEANING) -> Sequence[Scored]:
        query, wanted = self._query, WordQuery(self._question.recruiting, limit=limit, also=tuple(meaning.near))
        candidates = await self._store.memory_candidates(self._tenant, query.scope, wanted, query.filter)
        self.times.update((each.key, each.time) for each in candidates.found)
        self.unsearched = candidates.unsearched
        return (await rank_words(self._question, candidates, meaning)).scored

    async def nearest(self, vectors: VectorSearch, count: int, min_score: float | None) -> Cosines:
        query = self._query
        near, usual = await vectors.memories(self._tenant, query.scope, query.text, query.filter, count, min_score)
        self.times.update((each.document.key, each.document.time) for each in near)
        return Cosines([(each.document.key, each.cosine) for each in near], usual)

    async def texts(self, keys: Sequence[int]) -> Mapping[int, str]:
        found = await self._store.memories_by_key(self._tenant, self._query.scope, list(keys), self._query.filter)
        return {each.key: self._texts(each.draft.content).of(ALL_FIELDS) for each in found}


class MemorySearch:
    """Searches of memories. `texts` reads a memory's content; SEMANTIC and HYBRID require `vectors`. `slots`: the searches that
    may run at a time. `reranker`: orders the best of RANKED and HYBRID again."""

    def __init__(
        self,
        store: MemoriesStore,
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

    async def search(self, caller: Caller, query: MemoryQuery) -> FoundMemories:
        """A blank query finds nothing. Raises InvalidField, EmbedderNotConfigured, EmbedderFailed, RateLimited,
        PermissionDenied."""
        check_refresh(caller, wanted=query.refresh)
        ranks = query.recency is not None or query.reference_time is not None
        mode, text = understood(query.mode, query.text, best_mode(self._vectors), ranks=ranks)
        if query.top_k < 0:
            raise InvalidField("top_k", "must not be negative")
        check_min_score(query.min_score, mode)
        if query.mode is SearchMode.SUBSTRING:
            for name, value in (("recency", query.recency), ("reference_time", query.reference_time)):
                if value is not None:
                    raise InvalidField(name, NOT_FOR_SUBSTRING)
        default = _SEMANTIC_HITS if mode is SearchMode.SEMANTIC else DEFAULT_HITS
        count = min(query.top_k or default, MOST_RANKED)
        now = self._clock()
        live = replace(query.filter, live_at=now)
        query = replace(query, scope=own_memories(caller, query.scope), text=text, mode=mode, top_k=count, filter=live)
        if not text.strip():
            return FoundMemories([], mode)
        with self._slots.search(caller, "memories", mode):
            ranked = mode is not SearchMode.SUBSTRING
            found = await (self._ranked(caller, query) if ranked else self._substring(caller.tenant, query))
        if not query.refresh:
            return found
        later = await refreshed(self._store, caller.tenant, query.scope, [each.memory for each in found.entries], now)
        return replace(found, entries=list(map(_with, found.entries, later)))

    async def _substring(self, tenant: str, query: MemoryQuery) -> FoundMemories:
        folded = fold(query.text)
        found = await self._store.memories_holding(tenant, query.scope, folded, query.filter, query.top_k)
        found = found[: fitting_memories(found, self._limits.max_response_bytes)]
        marks = (marked_literally(self._texts(each.draft.content), ALL_FIELDS, [folded]) for each in found)
        entries = [FoundMemory(memory, highlights=mark) for memory, mark in zip(found, marks, strict=True)]
        return FoundMemories(entries, SearchMode.SUBSTRING)

    async def _ranked(self, caller: Caller, query: MemoryQuery) -> FoundMemories:
        now = self._clock() if query.reference_time is None else query.reference_time
        question = parse(query.text, now)
        memories = _Memories(self._store, self._texts, caller.tenant, query, question)
        request = RankingRequest(
            mode=query.mode, wanted=query.top_k, now=now, min_score=query.min_score, recency=query.recency, text=query.text
        )
        ranking = await rank_documents(memories, self._vectors, caller, request, self._reranker)
        scores = {each.key: each.relevance for each in ranking.scored[: query.top_k]}
        found = await self._store.memories_by_key(caller.tenant, query.scope, list(scores), query.filter)
        found = found[: fitting_memories(found, self._limits.max_response_bytes)]
        terms = () if ranking.mode is SearchMode.SEMANTIC else tuple(question.terms)
        marks = await marked_all(self._texts, [each.draft.content for each in found], ALL_FIELDS, terms)
        entries = [FoundMemory(each, scores[each.key], mark) for each, mark in zip(found, marks, strict=True)]
        return FoundMemories(entries, ranking.mode, ranking.semantic_lag, memories.unsearched, ranking.rerank_failed)


def _with(found: FoundMemory, memory: Memory) -> FoundMemory:
    return replace(found, memory=memory)


def fitting_memories(memories: Sequence[Memory], room: int) -> int:
    """Returns how many of the memories fit into `room` bytes, at least one."""
    for taken, memory in enumerate(memories):
        room -= len(memory.draft.content) + len(memory.draft.metadata_json)
        if taken and room < 0:
            return taken
    return len(memories)
