"""What a database may have to find near vectors by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection

from ....domain.memories import MemoryScope
from ....domain.scopes import EventScope
from ...contract.vectors import Floats, Source


class VectorIndex(Protocol):
    """An index of vectors beside those that are stored. It goes with them: what is deleted there is gone here."""

    def add(self, connection: Connection, source: Source, keys: Sequence[int], vectors: Floats) -> None:
        """Takes in what the transaction has stored."""
        ...

    async def nearest(
        self, source: Source, tenant: str, scope: EventScope | MemoryScope, model: int, vector: Floats, limit: int
    ) -> list[tuple[int, float]] | None:
        """See RecallStore.nearest; None as long as it does not hold all that is stored."""
        ...

    async def run(self) -> None:
        """Takes in what was stored without it, and makes what large scopes need; until cancelled."""
        ...
