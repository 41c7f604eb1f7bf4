"""Vector search, compared with the bare product of the matrix and the query."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

import numpy as np

from tests.bench.harness import Bench, Result
from tests.bench.lines.base import compared
from tests.bench.report import Line, at_most, duration, medians
from threadkeep_server.domain.filters import ALL
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.providers.embedders.base import Vectors
from threadkeep_server.providers.embedders.hashing import HashingEmbedder
from threadkeep_server.search.vectors import MatrixCache, normalize, top
from threadkeep_server.service.search.embedding_backlog import EmbeddingBacklog
from threadkeep_server.service.search.vector_cache import VectorCache
from threadkeep_server.service.search.vector_model import VectorModel
from threadkeep_server.service.search.vector_search import VectorSearch
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.contract.vectors import Embedded

USER = "u000"
VECTORS, DIMENSIONS, NEAREST = 100_000, 384, 10
MOST = 1.3
"""A search may take this many times as long as the product of the matrix and the query."""
_CALLS = 9


class _Filled:
    """The part of a store that vector search calls. It answers at once, so that only the search is measured."""

    def __init__(self, vectors: Vectors) -> None:
        self._block = Embedded(np.arange(1, len(vectors) + 1), np.zeros(len(vectors), np.int64), vectors)

    async def vector_model(self, name: str, dimension: int) -> int:
        return 1

    async def nearest(self, *_: object) -> None:
        """There is no index of vectors."""

    async def event_vectors(self, tenant: str, scope: object, model: int, after: int, limit: int) -> Embedded:
        some, block = slice(after, after + limit), self._block
        return Embedded(block.keys[some], block.sessions[some], block.vectors[some])

    async def events_by_key(self, tenant: str, scope: object, keys: Sequence[int], wanted: object) -> list[_Found]:
        return [_Found(key) for key in keys]


class _Found:
    def __init__(self, key: int) -> None:
        self.key = key


def vectors(bench: Bench, engine: str) -> list[Line]:
    """Runs in this process: no server, no database."""
    bench.say(f"making {VECTORS:,} vectors")
    source = np.random.default_rng(7)
    matrix = normalize(source.standard_normal((VECTORS, DIMENSIONS), np.float32))
    with asyncio.Runner() as runner:
        search, query = _search(matrix, runner)
        results = bench.interleave(
            "vector search",
            {
                "product": lambda: _usual(lambda: matrix @ query),
                "top": lambda: _usual(lambda: top(matrix, query, NEAREST)),
                "search": lambda: _usual(lambda: runner.run(search())),
            },
        )
    base = results["product"]
    text = f"search of {VECTORS:,} vectors of {DIMENSIONS} dimensions, as in a server ÷ bare product"
    note = f"{duration(medians(results['search'])['p50'] - medians(base)['p50'])} more, of which the thread and the event loop"
    return [
        compared("vectors", engine, text, "p50", results["search"], base, at_most(MOST), note),
        compared("vectors", engine, "  choosing the best of the product alone", "p50", results["top"], base, at_most(MOST)),
    ]


def _search(matrix: Vectors, runner: asyncio.Runner) -> tuple[Callable[[], Coroutine[Any, Any, None]], Vectors]:
    """Returns a search with everything cached, and the embedding of its query."""
    store, text = cast("Store", _Filled(matrix)), "where did we leave the bicycle"
    embedder = HashingEmbedder(DIMENSIONS)
    matrices = VectorCache(MatrixCache(matrix.nbytes * 2), time.time_ns)
    search = VectorSearch(store, VectorModel(store, embedder), matrices, EmbeddingBacklog(store, embedder.model))

    async def once() -> None:
        found, _ = await search.events("", UserScope(USER), text, ALL, NEAREST)
        if len(found) != NEAREST:
            raise ValueError(f"{len(found)} found, not {NEAREST}")

    runner.run(once())
    return once, runner.run(embedder.embed([text], query=True))[0]


def _usual(call: Callable[[], object]) -> Result:
    taken = []
    for _ in range(_CALLS):
        before = time.perf_counter()
        call()
        taken.append(time.perf_counter() - before)
    return {"p50": statistics.median(taken)}
