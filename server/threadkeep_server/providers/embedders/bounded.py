"""An embedder over a provider's model: batches, retries and validation."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ...search.vectors import normalize
from ..errors import ProviderError
from ..retry import RetryPolicy
from ..sent_text import usable
from .base import EmbedFailed, Vectors
from .options import MAX_DIMENSIONS, EmbedderOptions
from .request import EmbeddingModel


class ModelEmbedder:
    """The Embedder of a provider's model. `stored_dimension` is the dimension of the vectors stored for this model, 0 if there
    are none; a response of another dimension is rejected."""

    def __init__(
        self,
        vectors: EmbeddingModel,
        options: EmbedderOptions,
        *,
        stored_dimension: int = 0,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._vectors = vectors
        self._options = options
        self._dimension = options.dimensions or stored_dimension
        self._retry = RetryPolicy.of(options, clock, jitter)

    @property
    def model(self) -> str:
        return self._options.name

    @property
    def dimension(self) -> int:
        return self._dimension

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        prefix = self._options.query_prefix if query else self._options.document_prefix
        sent = [(row, prefix + usable(text, self._options.max_characters)) for row, text in enumerate(texts) if text.strip()]
        # Sequential, so that a busy endpoint does not get more requests.
        answers = [await self._embed([text for _, text in batch], query) for batch in self._batches(sent)]
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        if answers:
            vectors[[row for row, _ in sent]] = np.concatenate(answers)
        return vectors

    async def aclose(self) -> None:
        await self._vectors.aclose()

    def _batches(self, texts: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
        batch: list[tuple[int, str]] = []
        characters = 0
        for row, text in texts:
            too_long = characters + len(text) > self._options.batch_characters
            if batch and (too_long or len(batch) == self._options.batch):
                yield batch
                batch, characters = [], 0
            batch.append((row, text))
            characters += len(text)
        if batch:
            yield batch

    async def _embed(self, texts: list[str], query: bool) -> Vectors:
        async def attempt() -> Vectors:
            return self._checked(await self._vectors.embed(texts, query=query))

        try:
            return await self._retry.run(self._options.name, attempt)
        except ProviderError as error:
            failed = EmbedFailed(error.problem, retry=error.retry, retry_after=error.retry_after)
        raise failed

    def _checked(self, answer: Sequence[Sequence[float]]) -> Vectors:
        """Returns the vectors scaled to length 1. The first response sets the dimension of the following ones."""
        try:
            vectors = np.asarray(answer, np.float64)
        except (TypeError, ValueError, OverflowError):  # strings among the numbers, or vectors of different lengths
            raise ProviderError("gave vectors that cannot be read") from None
        if vectors.ndim != 2 or not 0 < vectors.shape[1] <= MAX_DIMENSIONS or not np.isfinite(vectors).all():
            raise ProviderError("gave vectors that cannot be read")
        dimension = vectors.shape[1]
        if self._dimension and dimension != self._dimension:
            raise ProviderError(f"gave vectors of {dimension} dimensions instead of {self._dimension}")
        self._dimension = dimension
        return normalize(vectors)


def check_dimension(options: EmbedderOptions, stored: int) -> None:
    """Raises ValueError if the dimension of the options differs from that of the stored vectors of the model."""
    if options.dimensions and stored and options.dimensions != stored:
        raise ValueError(f"the stored vectors of {options.name} have {stored} dimensions")
