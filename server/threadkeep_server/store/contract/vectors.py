"""Embeddings of events and memories: part of the Store contract."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...domain.memories import MemoryScope
from ...domain.model import Caller
from ...domain.scopes import EventScope

Floats = NDArray[np.float32]
Keys = NDArray[np.int64]


class Source(IntEnum):
    """The kind of embedded documents."""

    EVENTS = 1
    MEMORIES = 2


class Unembedded(NamedTuple):
    """A document that waits for its embedding. `text` is not folded; it may be blank."""

    key: int
    text: str


class Embedded(NamedTuple):
    """Vectors of one scope: ascending keys, the session number of each (0: none), and one row per key. `arrivals`: how many
    sessions have come to the scope from other owners. Their keys may be lower than those that a reader knows."""

    keys: Keys
    sessions: Keys
    vectors: Floats
    arrivals: int = 0


def check_dimension(name: str, dimension: int, known: int | None) -> None:
    """Raises ValueError if a model cannot have this dimension; `known` is the one stored under its name."""
    if dimension < 1:
        raise ValueError(f"the embedding model {name!r} has the dimension {dimension}; it must be 1 or more")
    if known is not None and dimension != known:
        message = (
            f"the embedding model {name!r} returns vectors of {dimension} dimensions, but the stored ones have {known}: set "
            f"its dimension back to {known}, or give the changed model another name"
        )
        raise ValueError(message)


def check_vectors(vectors: Floats, rows: int, dimension: int) -> None:
    """Raises ValueError for an array whose shape is not (rows, dimension)."""
    if vectors.shape != (rows, dimension):
        raise ValueError(f"vectors have the shape {vectors.shape}, but {(rows, dimension)} is required")


class VectorStore(Protocol):
    """Stores and finds embeddings. Keys are the store's numbers of events or of memories; they are never reused."""

    async def vector_model(self, name: str, dimension: int) -> int:
        """Returns the number of a model, assigned by the first call. The model of the last call is the current one; documents
        embedded by another wait for a new embedding. Raises ValueError if the name is stored with another dimension, or if the
        dimension is not positive."""
        ...

    async def unembedded(self, source: Source, model: int, limit: int) -> Sequence[Unembedded]:
        """Returns documents without an embedding of the model, the oldest first. A hint: it reserves nothing. Empty for a model
        that is not the current one. A store with a search index returns events once they are indexed, soon after their commit;
        without an index, none."""
        ...

    async def put_embeddings(self, source: Source, model: int, keys: Sequence[int], vectors: Floats | None) -> int:
        """Stores one vector, of (keys, dimension), per key, replacing another model's. None: these documents have no text and
        need no vector. Skips deleted documents, documents that the model has embedded, and everything if the model is not the
        current one. Returns the number stored. Raises ValueError for vectors of another shape."""
        ...

    async def waiting_for(self, name: str, sources: Sequence[Source], whose: Caller | None = None) -> int:
        """Returns how many documents of these sources have no embedding by the model of this name: all, if vector_model was
        never called for it. Counts those that the credential of `whose` reaches; None: all."""
        ...

    async def event_vectors(self, tenant: str, scope: EventScope, model: int, after: int, limit: int) -> Embedded:
        """Returns up to `limit` vectors of the scope's events with keys above `after`, the lowest keys first. Raises
        SessionNotFound, AmbiguousSession for a session scope."""
        ...

    async def memory_vectors(self, tenant: str, scope: MemoryScope, model: int, after: int, limit: int) -> Embedded:
        """Returns up to `limit` vectors of the scope's memories with keys above `after`, the lowest keys first."""
        ...

    async def nearest(
        self, source: Source, tenant: str, scope: EventScope | MemoryScope, model: int, vector: Floats, limit: int
    ) -> list[tuple[int, float]] | None:
        """Returns the keys of the scope's documents nearest to this vector, of (dimension,), with their cosines, best first. In
        a large scope some may be missed. None: the store has no vector index; compare the result of event_vectors or
        memory_vectors. Raises like event_vectors."""
        ...
