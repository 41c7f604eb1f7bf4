"""Embeddings of the SQL store. Each method is one unit of work."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from ....domain.memories import MemoryScope
from ....domain.model import Caller
from ....domain.scopes import EventScope
from ...contract.vectors import Embedded, Floats, Source, Unembedded
from ..log.unit_runner import UnitRunner, translate_errors
from ..schema import versions
from . import queue, vector_queries
from .index import VectorIndex


class SqlVectors:
    """VectorStore on a database. `index`: the database's own vector index, if it has one."""

    def __init__(self, units: UnitRunner, index: VectorIndex | None) -> None:
        self._units = units
        self._index = index

    async def vector_model(self, name: str, dimension: int) -> int:
        unit = versions.alone(self._units.engine, lambda connection: vector_queries.declare(connection, name, dimension))
        return await self._units.write(unit)

    async def unembedded(self, source: Source, model: int, limit: int) -> Sequence[Unembedded]:
        if source is Source.MEMORIES:
            return await self._units.read(lambda connection: queue.next_memories(connection, model, limit), snapshot=True)
        while True:
            found = await self._units.index(lambda connection: queue.next_events(connection, self._units.codec, model, limit))
            if found is not None:
                return found

    async def put_embeddings(self, source: Source, model: int, keys: Sequence[int], vectors: Floats | None) -> int:
        put = vector_queries.put_events if source is Source.EVENTS else vector_queries.put_memories

        def unit(connection: Connection) -> int:
            stored = put(connection, model, keys, vectors)
            if self._index is not None and vectors is not None and stored:
                rows = {key: row for row, key in enumerate(keys)}
                self._index.add(connection, source, stored, vectors[[rows[key] for key in stored]])
            return len(stored)

        return await (self._units.index(unit) if source is Source.EVENTS else self._units.write(unit))

    async def waiting_for(self, name: str, sources: Sequence[Source], whose: Caller | None = None) -> int:
        return await self._units.read(lambda connection: queue.count_lacking(connection, name, sources, whose), snapshot=True)

    async def event_vectors(self, tenant: str, scope: EventScope, model: int, after: int, limit: int) -> Embedded:
        return await self._units.of(tenant).read(
            lambda connection: vector_queries.read_events(connection, tenant, scope, model, after, limit),
            snapshot=True,
            replica=True,
        )

    async def memory_vectors(self, tenant: str, scope: MemoryScope, model: int, after: int, limit: int) -> Embedded:
        return await self._units.of(tenant).read(
            lambda connection: vector_queries.read_memories(connection, tenant, scope, model, after, limit),
            snapshot=True,
            replica=True,
        )

    async def nearest(
        self, source: Source, tenant: str, scope: EventScope | MemoryScope, model: int, vector: Floats, limit: int
    ) -> list[tuple[int, float]] | None:
        if self._index is None:
            return None
        if not vector.any():  # of zeros nothing is near
            return []
        return await translate_errors(self._units.engine, self._index.nearest(source, tenant, scope, model, vector, limit))
