"""Information about the server."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..domain.errors import PermissionDenied
from ..domain.model import Caller
from ..domain.roles import ADMIN, OPS
from ..store.contract.maintenance import MaintenanceStore, StoreInfo
from .search.embedding import EmbeddingWorker
from .search.embedding_backlog import EmbeddingBacklog


@dataclass(frozen=True, slots=True)
class EmbeddingFacts:
    """The state of embedding, without requests to the embedder."""

    counts: EmbeddingBacklog
    worker: EmbeddingWorker

    @property
    def name(self) -> str:
        """The name of the embedding model."""
        return self.counts.model

    async def waiting(self, caller: Caller) -> int:
        """Returns the number of the caller's documents without an embedding."""
        return await self.counts.current(caller, self.worker.sources)


class ServerService:
    """Use cases on the server. `embedding` None: there is no embedder."""

    def __init__(self, store: MaintenanceStore, embedding: EmbeddingFacts | None = None) -> None:
        self._store = store
        self._embedding = embedding

    @property
    def embedder_model(self) -> str:
        """The name of the embedding model; empty without an embedder."""
        return "" if self._embedding is None else self._embedding.name

    async def info(self, caller: Caller, *, totals: bool) -> StoreInfo:
        """Returns store information. Totals are of the tenant: raises PermissionDenied for a caller that is bound, and for
        one that has neither the role ops nor admin."""
        if totals and caller.is_bound:
            raise PermissionDenied("include_totals", "leave it out")
        if totals and not caller.roles & {OPS, ADMIN}:
            raise PermissionDenied(role=OPS)
        info = await self._store.info(caller.tenant, totals=totals)
        # The lag of the whole store would reveal the activity of others.
        return info if not caller.is_bound else replace(info, index_lag=0)

    async def waiting(self, caller: Caller) -> int:
        """Returns the number of documents of the tenant, or of the caller's user, without an embedding."""
        return 0 if self._embedding is None else await self._embedding.waiting(caller)
