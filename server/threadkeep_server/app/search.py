"""Composition of search and memory: embedder, background embedding, memory, ingestion and tools."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

from ..config.settings import ConfigError, Settings
from ..domain.model import SECOND_NS
from ..domain.validation import Limits
from ..providers.embedders.base import Embedder
from ..providers.embedders.factory import open_embedders
from ..providers.embedders.options import EmbedderOptions
from ..providers.measured import MeasuredEmbedder, MeasuredReranker, Meter
from ..providers.rerankers.base import RerankCounts
from ..providers.rerankers.bounded import BoundedReranker
from ..providers.rerankers.factory import open_reranker
from ..providers.rerankers.options import RerankerOptions
from ..search.vectors import MatrixCache
from ..service.memory.ingestion import AutoIngestion
from ..service.memory.memories import MemoryService
from ..service.search.embedding import EmbeddingWorker
from ..service.search.embedding_backlog import EmbeddingBacklog
from ..service.search.literal_search import LiteralSearch
from ..service.search.ranked_search import RankedSearch
from ..service.search.search_slots import SearchSlots
from ..service.search.vector_cache import VectorCache
from ..service.search.vector_model import VectorModel
from ..service.search.vector_search import VectorSearch
from ..service.server import EmbeddingFacts
from ..service.sessions import BeforeDelete
from ..service.tools.tools import RecallTools
from ..store.contract.codec import Codec
from ..store.contract.store import Store
from ..store.contract.vectors import Source
from ..telemetry.meters import Meters
from ..transport.http.metrics import EmbeddingStats, Sources
from ..transport.wire.memory_text import MemoryTextReader
from .compaction import end

_QUERY_S = 10.0
# Events can be embedded once they are indexed, for which there is no notification.
_POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class SearchServices:
    """The use cases of search and memory. `before_delete`: called before expired sessions are deleted, None: nothing; `facts`:
    the state of embedding, None without an embedder; `reranked`: the searches that were reranked, None without a reranker."""

    literal: LiteralSearch
    ranked: RankedSearch
    memory: MemoryService
    tools: RecallTools
    before_delete: BeforeDelete | None
    facts: EmbeddingFacts | None
    reranked: RerankCounts | None = None

    def measured(self, sources: Sources) -> Sources:
        """Returns the sources of metrics, with those of search."""
        return replace(sources, embedding=self.stats, reranked=self.reranked)

    def stats(self) -> EmbeddingStats | None:
        """Returns the metrics of embedding; None without an embedder."""
        worker = None if self.facts is None else self.facts.worker
        return None if worker is None else EmbeddingStats(worker.waiting, worker.failures)


@asynccontextmanager
async def open_search(
    settings: Settings, store: Store, codec: Codec, limits: Limits, meters: Meters
) -> AsyncIterator[SearchServices]:
    """Runs embedding and ingestion while the context is open. Raises ConfigError."""
    async with AsyncExitStack() as stack:
        options = _embedder_options(settings)
        # A search waits for the embedding of its query, for a short time only.
        timeout = min(options.timeout, _QUERY_S)
        soon = replace(options, timeout=timeout, deadline=_QUERY_S, max_attempts=2, backoff=0.1)
        opened = await asyncio.to_thread(_embedders, options, soon)
        vectors, facts = None, None
        added: Callable[[], None] = _no_embedder
        if opened is not None:
            meter = Meter(meters.provider_duration, "embedder")
            embedder, questions = (MeasuredEmbedder(each, meter) for each in opened)
            stack.push_async_callback(questions.aclose)
            stack.push_async_callback(embedder.aclose)
            matrices = VectorCache(MatrixCache(settings.vector_cache_bytes), time.time_ns)
            counts = EmbeddingBacklog(store, embedder.model)
            vectors = VectorSearch(store, VectorModel(store, questions), matrices, counts)
            model = VectorModel(store, embedder)
            worker = EmbeddingWorker(store, model, sources=_sources(settings), batch=settings.embedder_batch, poll_s=_POLL_S)
            facts = EmbeddingFacts(counts, worker)
            added = worker.wake
            stack.push_async_callback(end, asyncio.create_task(worker.run(), name="embedding"))
        reranker = await asyncio.to_thread(_reranker, settings)
        if reranker is not None:
            stack.push_async_callback(reranker.aclose)
        counts_of_reranker = None if reranker is None else reranker.counts
        measured = None if reranker is None else MeasuredReranker(reranker, Meter(meters.provider_duration, "reranker"))
        most, most_per_caller = settings.max_searches, settings.max_searches_per_caller
        slots = SearchSlots(most=most, most_per_caller=most_per_caller, durations=meters.search_duration)
        reader = MemoryTextReader()
        memory = MemoryService(
            store,
            limits,
            reader,
            vectors,
            time.time_ns,
            enabled=settings.memory,
            added=added,
            slots=slots,
            reranker=measured,
        )
        ingestion = _ingestion(settings, store, memory)
        if ingestion is not None:
            stack.push_async_callback(end, asyncio.create_task(ingestion.run(), name="ingestion"))
        literal = LiteralSearch(store, limits, codec.texts, slots)
        of_events = vectors if settings.embed_events else None
        ranked = RankedSearch(store, limits, codec.texts, of_events, time.time_ns, slots, measured)
        tools = RecallTools(store, literal, ranked, memory, reader)
        before_delete = ingestion.before_delete if ingestion and "on_expiry" in settings.memory_ingestions else None
        yield SearchServices(literal, ranked, memory, tools, before_delete, facts, counts_of_reranker)


def _no_embedder() -> None:
    """Called for new memories without an embedder."""


def _sources(settings: Settings) -> list[Source]:
    wanted = {Source.EVENTS: settings.embed_events, Source.MEMORIES: settings.memory}
    return [source for source, on in wanted.items() if on]


def _ingestion(settings: Settings, store: Store, memory: MemoryService) -> AutoIngestion | None:
    wanted = settings.memory_ingestions
    if not wanted or not settings.memory:
        return None
    idle = int(settings.memory_idle.total_seconds() * SECOND_NS) if "on_idle" in wanted else None
    return AutoIngestion(store, memory, time.time_ns, uuid.uuid4().hex, on_compaction="on_compaction" in wanted, idle_ns=idle)


def _embedder_options(settings: Settings) -> EmbedderOptions:
    try:
        return EmbedderOptions(
            provider=settings.embedder,
            model=settings.embedder_model,
            base_url=settings.embedder_base_url,
            api_key=settings.embedder_api_key,
            dimensions=settings.embedder_dimensions,
            batch=settings.embedder_batch,
            timeout=settings.embedder_timeout.total_seconds(),
            max_characters=settings.embedder_max_characters,
            query_prefix=settings.embedder_query_prefix,
            document_prefix=settings.embedder_document_prefix,
            query_type=settings.embedder_query_type,
            document_type=settings.embedder_document_type,
            path=settings.embedder_path,
            pooling=settings.embedder_pooling,
            max_tokens=settings.embedder_max_tokens,
            threads=settings.embedder_threads,
        )
    except ValueError as error:
        raise ConfigError([f"embedder: {error}"]) from None


def _embedders(options: EmbedderOptions, soon: EmbedderOptions) -> tuple[Embedder, Embedder] | None:
    try:
        return open_embedders(options, soon)
    except ValueError as error:
        raise ConfigError([f"embedder: {error}"]) from None


def _reranker(settings: Settings) -> BoundedReranker | None:
    try:
        options = RerankerOptions(
            provider=settings.reranker,
            model=settings.reranker_model,
            base_url=settings.reranker_base_url,
            api_key=settings.reranker_api_key,
            path=settings.reranker_path,
            max_tokens=settings.reranker_max_tokens,
            threads=settings.reranker_threads,
            top=settings.reranker_top,
            deadline=settings.reranker_deadline.total_seconds(),
            max_characters=settings.reranker_max_characters,
            concurrency=settings.reranker_concurrency,
        )
        return open_reranker(options)
    except ValueError as error:
        raise ConfigError([f"reranker: {error}"]) from None
