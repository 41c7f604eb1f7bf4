"""The interface of a database's own vector index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection

from ....domain.memories import MemoryScope
from ....domain.scopes import EventScope
from ...contract.vectors import Floats, Source


class VectorIndex(Protocol):
    """An index of stored vectors. Deleted vectors are deleted from it, too."""

    def add(self, connection: Connection, source: Source, keys: Sequence[int], vectors: Floats) -> None:
        """Adds vectors that the transaction has stored."""
        ...

    def gave(self, connection: Connection, keys: Sequence[int], scope: int) -> None:
        """Gives vectors of events another scope, as the transaction did in their table."""
        ...

    async def nearest(
        self, source: Source, tenant: str, scope: EventScope | MemoryScope, model: int, vector: Floats, limit: int
    ) -> list[tuple[int, float]] | None:
        """See VectorStore.nearest; None while it does not hold all stored vectors."""
        ...

    async def run(self) -> None:
        """Adds vectors stored without it, and creates indexes of large scopes, until canceled."""
        ...
