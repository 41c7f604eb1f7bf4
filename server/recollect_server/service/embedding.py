"""Embedding what was said and what is remembered, in the background, outside any transaction."""

from __future__ import annotations

from collections.abc import Sequence

from ..store.base import Store
from ..store.recall import Source
from .vector_model import VectorModel


class EmbeddingWorker:
    """Embeds what waits. Several servers on one database may do so at once: that wastes work, and stores nothing twice.

    `sources`: what is embedded; `batch`: texts in a request; `poll_s`: how often it is looked for new texts where nobody hints.
    """

    def __init__(
        self, store: Store, model: VectorModel, *, sources: Sequence[Source], batch: int = 64, poll_s: float = 5.0
    ) -> None:
        self._store = store
        self._model = model
        self._sources = sources
        self._batch = batch
        self._poll_s = poll_s
        self.failures = 0
        """Requests that the embedder did not answer with vectors, since the start."""
        self.waiting = 0
        """Documents that waited for their embedding when it was last counted."""

    async def run(self) -> None:
        """Works until cancelled."""
        raise NotImplementedError
