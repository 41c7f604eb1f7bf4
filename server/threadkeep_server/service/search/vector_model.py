"""Which model the server embeds with."""

from __future__ import annotations

import asyncio

from ...providers.embedders.base import Embedder, EmbedFailed
from ...search.ranking import relevance
from ...search.ranking.relevance import CosineScale
from ...store.contract.vectors import VectorStore

PROBE = "probe"
"""A text that any endpoint which works at all embeds."""


class VectorModel:
    """The embedder, and the number that the store has given to its model."""

    def __init__(self, store: VectorStore, embedder: Embedder) -> None:
        self.embedder = embedder
        self._store = store
        self._number: int | None = None
        self._scale: CosineScale | None = None
        self._asking = asyncio.Lock()

    async def number(self) -> int:
        """The store's number of the model. Where the dimension is not known, a probe is embedded first. Raises EmbedFailed as
        long as the endpoint does not answer, or if what is stored under the model's name has another dimension."""
        async with self._asking:
            if self._number is None:
                dimension = await self._dimension()
                try:
                    self._number = await self._store.vector_model(self.embedder.model, dimension)
                except ValueError as error:
                    raise EmbedFailed(str(error)) from None
            return self._number

    async def scale(self) -> CosineScale:
        """What this model's cosines mean, found out once. Raises EmbedFailed."""
        async with self._asking:
            if self._scale is None:
                questions = await self.embedder.embed(relevance.QUESTIONS, query=True)
                self._scale = relevance.cosine_scale(questions, await self.embedder.embed(relevance.TEXTS))
            return self._scale

    async def _dimension(self) -> int:
        known = self.embedder.dimension
        return known or int((await self.embedder.embed([PROBE])).shape[1])
