"""Calls of models and webhooks, measured and traced. What is sent and answered is not recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from ..telemetry.instruments import Family, Histogram
from ..telemetry.spans import Attributes, SpanKind, span
from .embedders.base import Embedder, Vectors
from .rerankers.base import Reranker
from .summarizers.base import Summarizer, Summary


class Meter:
    """Measures the calls of one kind of provider: embedder, reranker, summarizer or webhook."""

    def __init__(self, durations: Family[Histogram], provider: str, clock: Callable[[], float] = time.perf_counter) -> None:
        self._provider = provider
        self._ok = durations.child(provider, "ok")
        self._failed = durations.child(provider, "failed")
        self._clock = clock

    @contextmanager
    def call(self, attributes: Attributes) -> Iterator[None]:
        """Measures its body as a call. An exception is a failure; so is a cancellation, as at a deadline."""
        began, outcome = self._clock(), self._failed
        with span(self._provider, attributes, SpanKind.CLIENT):
            try:
                yield
                outcome = self._ok
            finally:
                outcome.add(self._clock() - began)


class MeasuredEmbedder:
    """An Embedder."""

    def __init__(self, embedder: Embedder, meter: Meter) -> None:
        self._embedder = embedder
        self._meter = meter

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        with self._meter.call({"gen_ai.request.model": self.model, "threadkeep.texts": len(texts), "threadkeep.query": query}):
            return await self._embedder.embed(texts, query=query)

    async def aclose(self) -> None:
        await self._embedder.aclose()


class MeasuredReranker:
    """A Reranker."""

    def __init__(self, reranker: Reranker, meter: Meter) -> None:
        self._reranker = reranker
        self._meter = meter

    @property
    def top(self) -> int:
        return self._reranker.top

    @property
    def max_characters(self) -> int:
        return self._reranker.max_characters

    async def scores(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        with self._meter.call({"threadkeep.texts": len(documents)}):
            return await self._reranker.scores(query, documents)


class MeasuredSummarizer:
    """A Summarizer."""

    def __init__(self, summarizer: Summarizer, meter: Meter) -> None:
        self._summarizer = summarizer
        self._meter = meter

    @property
    def model(self) -> str:
        return self._summarizer.model

    async def summarize(self, *, system_prompt: str, prompt: str, max_tokens: int) -> Summary:
        with self._meter.call({"gen_ai.request.model": self.model, "gen_ai.request.max_tokens": max_tokens}):
            return await self._summarizer.summarize(system_prompt=system_prompt, prompt=prompt, max_tokens=max_tokens)

    async def aclose(self) -> None:
        await self._summarizer.aclose()


class Endpoints(Protocol):
    """Webhooks by their names."""

    def allows(self, webhook: str, tenant: str | None) -> bool: ...

    async def post(self, webhook: str, request_id: str, body: bytes) -> bytes: ...


class MeasuredWebhooks:
    """The configured webhooks."""

    def __init__(self, endpoints: Endpoints, meter: Meter) -> None:
        self.allows = endpoints.allows
        self._endpoints = endpoints
        self._meter = meter

    async def post(self, webhook: str, request_id: str, body: bytes) -> bytes:
        with self._meter.call({"threadkeep.request_bytes": len(body)}):
            return await self._endpoints.post(webhook, request_id, body)
