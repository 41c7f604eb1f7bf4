"""Finding events by what they say or mean, best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ..domain.filters import ALL, EventFilter
from ..domain.model import Caller
from ..domain.recall import ALL_FIELDS, Field, SearchMode
from ..domain.rules import DEFAULT_HITS, Limits
from ..store.base import EventScope, Store
from ..store.recall import FoundEvent
from .searches import Highlights, Recency, TextsOf
from .semantic import VectorSearch


class Grouping(IntEnum):
    """What hits are brought together by; the numbers are those of recollect.v1.HitGrouping."""

    NONE = 0
    TURN = 1
    SESSION = 2


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A search of events by RANKED, SEMANTIC or HYBRID. `filter` holds no window. Times in nanoseconds; `reference_time` None:
    now."""

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


@dataclass(frozen=True, slots=True)
class RankedHit:
    """An event that answers. `group_hits`: with grouping, how many of the ranked events are of its turn or session; else 0."""

    found: FoundEvent
    score: float
    highlights: Highlights = ()
    group_hits: int = 0


@dataclass(frozen=True, slots=True)
class RankedPage:
    """Best first. `mode`: how the query was understood; `truncated`: more events match than are ranked; `semantic_lag`: events
    that wait for their embedding (0 with RANKED); `next_offset`: None on the last page."""

    hits: Sequence[RankedHit]
    mode: SearchMode
    truncated: bool = False
    semantic_lag: int = 0
    next_offset: int | None = None


class RankedSearch:
    """Searches of events that rank. `texts` reads sealed bytes; without `vectors` there is neither SEMANTIC nor HYBRID."""

    def __init__(
        self, store: Store, limits: Limits, texts: TextsOf, vectors: VectorSearch | None, clock: Callable[[], int]
    ) -> None:
        self._store = store
        self._limits = limits
        self._texts = texts
        self._vectors = vectors
        self._clock = clock

    async def search(self, caller: Caller, query: RankedQuery) -> RankedPage:
        """Raises InvalidField, PermissionDenied, SessionNotFound, AmbiguousSession, EmbedderNotConfigured, EmbedderFailed."""
        raise NotImplementedError
