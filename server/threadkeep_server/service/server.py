"""Facts about the server itself, and whether it can do its work."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..domain.errors import PermissionDenied
from ..domain.model import Caller
from ..store.contract.maintenance import MaintenanceStore, StoreInfo
from .search.embedding import EmbeddingWorker
from .search.embedding_backlog import EmbeddingBacklog


@dataclass(frozen=True, slots=True)
class EmbeddingFacts:
    """Where embeddings stand. Nobody is asked who may not answer."""

    counts: EmbeddingBacklog
    worker: EmbeddingWorker

    @property
    def name(self) -> str:
        """Of the model that embeds."""
        return self.counts.model

    async def waiting(self, caller: Caller) -> int:
        """How many documents that the caller's credential reaches still wait; how busy others are is theirs."""
        return await self.counts.current(caller, self.worker.sources)


class ServerService:
    """`embedding` is None where nothing is embedded."""

    def __init__(self, store: MaintenanceStore, embedding: EmbeddingFacts | None = None) -> None:
        self._store = store
        self._embedding = embedding

    @property
    def embedder_model(self) -> str:
        """Empty if none is configured."""
        return "" if self._embedding is None else self._embedding.name

    async def info(self, caller: Caller, *, totals: bool) -> StoreInfo:
        """Totals are the tenant's: a caller bound to a user is not told them."""
        if totals and caller.user_id is not None:
            raise PermissionDenied("include_totals", "leave it out")
        info = await self._store.info(caller.tenant, totals=totals)
        # How busy the whole store is says something of others.
        return info if caller.user_id is None else replace(info, index_lag=0)

    async def waiting(self, caller: Caller) -> int:
        """How many documents of the tenant, or of the user that the caller is bound to, wait for their embedding."""
        return 0 if self._embedding is None else await self._embedding.waiting(caller)
