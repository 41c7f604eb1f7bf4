"""The embedding model of the server."""

from __future__ import annotations

import asyncio

from ...providers.embedders.base import Embedder, EmbedFailed, Vectors
from ...providers.embedders.hashing import NAME as HASHING
from ...search.ranking import languages, relevance
from ...search.ranking.fusion import OF_MEANING, OF_SPELLING, Strength
from ...search.ranking.languages import Languages
from ...search.ranking.relevance import CosineScale
from ...store.contract.vectors import VectorStore

PROBE = "probe"
"""A text that every working endpoint embeds."""


class VectorModel:
    """The embedder, the store's number of its model, the scale of its cosines, and the languages that it knows."""

    def __init__(self, store: VectorStore, embedder: Embedder) -> None:
        self.embedder = embedder
        self._store = store
        self._number: int | None = None
        self._scale: CosineScale | None = None
        self._languages: Languages | None = None
        self._lock = asyncio.Lock()

    async def number(self) -> int:
        """Returns the store's number of the model. Embeds a probe first if the dimension is unknown. Raises EmbedFailed if the
        endpoint fails, or if the stored vectors of the model have another dimension."""
        async with self._lock:
            if self._number is None:
                dimension = await self._dimension()
                try:
                    self._number = await self._store.vector_model(self.embedder.model, dimension)
                except ValueError as error:
                    raise EmbedFailed(str(error)) from None
            return self._number

    async def scale(self) -> CosineScale:
        """Returns the scale of the model's cosines, measured once. Raises EmbedFailed."""
        async with self._lock:
            if self._scale is None:
                questions = await self.embedder.embed(relevance.QUESTIONS, query=True)
                self._scale = relevance.cosine_scale(questions, await self.embedder.embed(relevance.TEXTS))
            return self._scale

    async def languages(self) -> Languages:
        """Returns which languages the model knows, measured once. Raises EmbedFailed."""
        async with self._lock:
            if self._languages is None:
                questions = await self.embedder.embed(languages.probe_questions(), query=True)
                self._languages = languages.measured(questions, await self.embedder.embed(languages.probe_answers()))
            return self._languages

    async def strength(self, query: Vectors, usual: float | None) -> Strength:
        """Returns what likeness to a query counts next to words, for `fusion.nearness`: all that it can where the model knows
        the query's language, otherwise by `usual`, see `CosineScale.certainty`. `query`: its embedding. Raises EmbedFailed."""
        certainty = (await self.scale()).certainty(usual)
        if self.embedder.model.startswith(f"{HASHING}-"):
            return Strength(OF_SPELLING * certainty, spelling=True)
        if (await self.languages()).knows(query):
            return Strength(OF_MEANING)
        return Strength(OF_MEANING * (languages.WITHOUT_A_SIGN if usual is None else certainty))

    async def _dimension(self) -> int:
        known = self.embedder.dimension
        return known or int((await self.embedder.embed([PROBE])).shape[1])
