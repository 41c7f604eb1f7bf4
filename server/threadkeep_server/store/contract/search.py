"""What a store promises of searches that rank, and of embeddings: part of the Store contract."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...domain.filters import ALL, EventFilter
from ...domain.memories import MemoryScope
from ...domain.model import Caller, SessionRef, StoredEvent
from ...domain.search import Candidate, Candidates, Field, WordQuery

if TYPE_CHECKING:
    from .store import EventScope

Floats = NDArray[np.float32]
Keys = NDArray[np.int64]


class Source(IntEnum):
    """What is embedded."""

    EVENTS = 1
    MEMORIES = 2


@dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event by its key, with the session that it belongs to. `turn` is the key of the event that starts its turn, 0 before
    the first. `before` and `after` are its neighbours in window order, oldest first."""

    key: int
    session: int
    ref: SessionRef
    event: StoredEvent
    time: int
    turn: int
    before: Sequence[StoredEvent] = ()
    after: Sequence[StoredEvent] = ()


class Unembedded(NamedTuple):
    """A document that waits for its embedding. `text` is not folded; it may be blank."""

    key: int
    text: str


class Embedded(NamedTuple):
    """Vectors of one scope: keys ascending, the number of the session that each is of (0: of none), and a row for each."""

    keys: Keys
    sessions: Keys
    vectors: Floats


def most_counted(documents: int, limit: int) -> int:
    """How far a store counts the documents that have a term. A term that as many have says little: it alone makes nothing a
    candidate as long as rarer terms make enough."""
    return max(1024, min(documents // 8, 1 << 16), limit + 1)


def rarity(frequency: int, documents: int) -> float:
    """What having a term is worth when candidates are chosen: its inverse document frequency, above 0."""
    return math.log1p((documents + 0.5) / (frequency + 0.5))


def beside(wanted: EventFilter) -> EventFilter:
    """What neighbours of an event that satisfies the filter have to satisfy."""
    return EventFilter(exclude_archived=wanted.exclude_archived, branch=wanted.branch)


def check_dimension(name: str, dimension: int, known: int | None) -> None:
    """Whether a model can have this dimension; `known` is the one that is stored under its name. Raises ValueError."""
    if dimension < 1:
        raise ValueError(f"the embedding model {name!r} has the dimension {dimension}; it must be 1 or more")
    if known is not None and dimension != known:
        message = (
            f"the embedding model {name!r} gives vectors of {dimension} dimensions, and those that are stored have {known}: "
            f"set its dimension back to {known}, or give what has changed another name"
        )
        raise ValueError(message)


def check_vectors(vectors: Floats, rows: int, dimension: int) -> None:
    """Raises ValueError for an array that is not of (rows, dimension)."""
    if vectors.shape != (rows, dimension):
        raise ValueError(f"vectors have the shape {vectors.shape}, and should have {(rows, dimension)}")


class RecallStore(Protocol):
    """Candidates to rank, and vectors. Keys are the store's numbers of events or of memories and are never used again."""

    async def word_candidates(self, tenant: str, scope: EventScope, query: WordQuery, wanted: EventFilter = ALL) -> Candidates:
        """The best events of the scope, by a coarse measure, that have any of the terms and satisfy the filter (conditions and
        keywords; no window). Everything committed before the call is searched. Where no more match than `query.limit`, they are
        all there, the same in every store; else which are left out is the store's own. Frequencies are of the whole scope, in
        the fields asked for, whatever the filter; they are counted up to `most_counted`, and what was deleted a moment ago may
        be counted still. Raises SessionNotFound, AmbiguousSession for a session scope."""
        ...

    async def candidates_beside(
        self, tenant: str, scope: EventScope, keys: Sequence[int], fields: Field, wanted: EventFilter = ALL
    ) -> Sequence[Candidate]:
        """The event before and the one after each of these in window order, among those of the filter's view and branch, where
        it is in the scope and satisfies the filter. Each once, in no order."""
        ...

    async def events_by_key(
        self, tenant: str, scope: EventScope, keys: Sequence[int], wanted: EventFilter = ALL, *, neighbors: int = 0
    ) -> Sequence[FoundEvent]:
        """Those of these events that are (still) in the scope and satisfy the filter, in the order of the keys given.
        Neighbours satisfy the filter's view and branch (`beside`). Raises SessionNotFound, AmbiguousSession for a session
        scope."""
        ...

    async def event_keys(self, tenant: str, places: Sequence[tuple[SessionRef, int]]) -> Sequence[int]:
        """The keys of events that are known by their session's whole name and their seq, in the order of the places; those that
        are gone are left out."""
        ...

    async def vector_model(self, name: str, dimension: int) -> int:
        """The number of a model, given to it at the first call. The last model that this was called for is the present one:
        what was embedded by another waits for an embedding again. Raises ValueError if the name is known with another
        dimension, or the dimension is not positive."""
        ...

    async def unembedded(self, source: Source, model: int, limit: int) -> Sequence[Unembedded]:
        """Documents without an embedding of the model, the oldest first: a hint of what to do next, it reserves nothing. None
        wait for a model that is not the present one. A store with a search index tells of events once they are indexed, soon
        after they were committed; where no index is wanted, of none."""
        ...

    async def put_embeddings(self, source: Source, model: int, keys: Sequence[int], vectors: Floats | None) -> int:
        """Stores one vector, of (keys, dimension), for each key, replacing another model's; None: these have no text, and need
        none. Passed over is what has been deleted meanwhile, what the model has done already, and everything if it is not the
        present one; how many were stored. Raises ValueError for vectors of another shape."""
        ...

    async def waiting_for(self, name: str, sources: Sequence[Source], whose: Caller | None = None) -> int:
        """How many documents of these sources have no embedding by the model of this name: all, if vector_model was never
        called for it. Of everybody's, or of those that `whose` credential reaches."""
        ...

    async def event_vectors(self, tenant: str, scope: EventScope, model: int, after: int, limit: int) -> Embedded:
        """Up to `limit` vectors of the scope's events with keys beyond `after`, the lowest. Raises SessionNotFound,
        AmbiguousSession for a session scope."""
        ...

    async def memory_vectors(self, tenant: str, scope: MemoryScope, model: int, after: int, limit: int) -> Embedded:
        """Up to `limit` vectors of the scope's memories with keys beyond `after`, the lowest."""
        ...

    async def nearest(
        self, source: Source, tenant: str, scope: EventScope | MemoryScope, model: int, vector: Floats, limit: int
    ) -> list[tuple[int, float]] | None:
        """The keys of the scope's documents whose vectors are nearest to this one, of (dimension,), with their cosines, best
        first. In a large scope some may be missed. None: the store has no index of its own, compare what event_vectors or
        memory_vectors tell. Raises like event_vectors."""
        ...
