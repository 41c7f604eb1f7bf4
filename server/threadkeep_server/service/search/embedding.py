"""Background embedding of events and memories, outside transactions."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ...domain.backoff import Backoff
from ...providers.embedders.base import EmbedFailed, Vectors
from ...store.contract.feed import FeedStore
from ...store.contract.vectors import Source, Unembedded, VectorStore
from .vector_model import PROBE, VectorModel

_log = logging.getLogger(__name__)

_BACKOFF = Backoff(1.0, 300.0)
# The longest delay that an endpoint may request.
_LONGEST_RETRY_AFTER_S = 3600.0
# Time to collect single texts into one batch.
_GATHER_S = 0.05
_COUNTED_EVERY_S = 10.0


class EmbeddingStore(FeedStore, VectorStore, Protocol):
    """The part of the store that embedding uses."""


class EmbeddingWorker:
    """Embeds pending documents. Several servers on one database repeat work, but store nothing twice.

    `sources`: what is embedded; `batch`: texts per request; `poll_s`: the interval of polling without a notification.
    """

    def __init__(
        self, store: EmbeddingStore, model: VectorModel, *, sources: Sequence[Source], batch: int = 64, poll_s: float = 5.0
    ) -> None:
        self._store = store
        self._model = model
        self.sources = sources
        self._batch = batch
        self._poll_s = poll_s
        self._wanted = asyncio.Event()
        self._failures_in_a_row = 0
        """Consecutive failures."""
        self._counted = float("-inf")
        self.failures = 0
        """Failed requests to the embedder since the start."""
        self.waiting = 0
        """Documents without an embedding at the last count."""

    def wake(self) -> None:
        """Wakes the worker: there may be something to embed."""
        self._wanted.set()

    async def run(self) -> None:
        """Runs until canceled."""
        if Source.EVENTS in self.sources:
            self._store.on_change(self.wake)
        while True:
            self._wanted.clear()
            try:
                busy = await self._step()
            except EmbedFailed as failed:
                await self._back_off(failed.problem, min(failed.retry_after, _LONGEST_RETRY_AFTER_S))
            except Exception as exc:  # the database may be unavailable; the documents stay pending
                await self._back_off(type(exc).__name__)
            else:
                if not busy:
                    await self._idle()

    # --- working

    async def _step(self) -> bool:
        """Embeds a batch of each source. Returns whether there was any."""
        model = await self._number()
        busy = False
        for source in self.sources:
            documents = await self._store.unembedded(source, model, self._batch)
            if documents:
                busy = True
                await self._embed_all(source, model, documents)
        done = not busy and self.waiting > 0
        if self._failures_in_a_row or done or time.monotonic() - self._counted >= _COUNTED_EVERY_S:
            await self._count()
        if self._failures_in_a_row:
            _log.info("embedding succeeded again; %d documents are pending", self.waiting)
            self._failures_in_a_row = 0
        return busy

    async def _number(self) -> int:
        try:
            return await self._model.number()
        except EmbedFailed:
            self.failures += 1
            raise

    async def _count(self) -> None:
        self.waiting = await self._store.waiting_for(self._model.embedder.model, self.sources)
        self._counted = time.monotonic()

    async def _embed_all(self, source: Source, model: int, documents: Sequence[Unembedded]) -> None:
        blank = [document.key for document in documents if not document.text.strip()]
        if blank:
            await self._store.put_embeddings(source, model, blank, None)
        written = [document for document in documents if document.text.strip()]
        if written:
            await self._embed(source, model, written)

    async def _embed(self, source: Source, model: int, documents: Sequence[Unembedded]) -> None:
        """Embeds a batch. Halves a rejected batch until the rejected text is alone."""
        try:
            vectors = await self._embed_texts([document.text for document in documents])
        except EmbedFailed as refused:
            if refused.retry:
                raise
            if len(documents) == 1:
                await self._give_up(source, model, documents[0], refused)
                return
            middle = len(documents) // 2
            await self._embed(source, model, documents[:middle])
            await self._embed(source, model, documents[middle:])
            return
        keys = np.array([document.key for document in documents])
        full = vectors.any(axis=1)
        if not full.all():  # a row of zeros has no nearest vectors
            await self._store.put_embeddings(source, model, keys[~full].tolist(), None)
        if full.any():
            await self._store.put_embeddings(source, model, keys[full].tolist(), vectors[full])

    async def _give_up(self, source: Source, model: int, document: Unembedded, refused: EmbedFailed) -> None:
        """Marks the text as done, so that it does not block the others. Raises EmbedFailed if the embedder rejects every
        text."""
        await self._embed_texts([PROBE])
        _log.warning("%s %d is not embedded: the embedder rejects its text (%s)", _NAMES[source], document.key, refused.problem)
        await self._store.put_embeddings(source, model, [document.key], None)

    async def _embed_texts(self, texts: Sequence[str]) -> Vectors:
        try:
            return await self._model.embedder.embed(texts)
        except EmbedFailed:
            self.failures += 1
            raise

    # --- waiting

    async def _idle(self) -> None:
        try:
            async with asyncio.timeout(self._poll_s):
                await self._wanted.wait()
        except TimeoutError:
            return
        await asyncio.sleep(_GATHER_S)

    async def _back_off(self, problem: str, at_least_s: float = 0.0) -> None:
        """Logs the first failure, then sleeps, longer after each failure, and updates the count of pending documents."""
        self._failures_in_a_row += 1
        if self._failures_in_a_row == 1:
            _log.warning("embedding failed (%s); retrying until it succeeds", problem)
        left = max(_BACKOFF.delay(self._failures_in_a_row), at_least_s)
        while left > 0:
            with contextlib.suppress(Exception):  # the database may be unavailable
                await self._count()
            await asyncio.sleep(min(left, _COUNTED_EVERY_S))
            left -= _COUNTED_EVERY_S


_NAMES = {Source.EVENTS: "event", Source.MEMORIES: "memory"}
