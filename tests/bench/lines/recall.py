"""Ranked search beside SQLite's own, and search by vectors beside the bare product."""

from __future__ import annotations

import asyncio
import functools
import statistics
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

import numpy as np

from tests.bench.harness import Bench, Result
from tests.bench.lines.base import compared
from tests.bench.questions import KINDS, QUESTIONS
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

EVENT_BYTES = 400
SESSIONS = 50
HITS = 10
USER = "u000"
SLOWER = 3.0
"""Than bare FTS5, that a ranked search may be."""

VECTORS, DIMENSIONS, NEAREST = 100_000, 384, 10
DEARER = 1.3
"""Than the product of the matrix and the query, that the search may be."""
_CALLS = 9


def ranked(bench: Bench, engine: str) -> list[Line]:
    """Questions of rare words, of common ones and of both, in scopes of several sizes."""
    lines: list[Line] = []
    for size in bench.scale.recall_sizes:
        lines += _ranked(bench, engine, size)
    return lines


def _ranked(bench: Bench, engine: str, size: int) -> list[Line]:
    each = size // SESSIONS
    sessions = [(f"s{number:05d}", USER, number * each, each) for number in range(SESSIONS)]
    with bench.database(engine) as database, bench.server(database, index=True) as server:
        bench.load(server, sessions, size=EVENT_BYTES)
        indexed_in = bench.wait_for_index(server, size)
        bench.say(f"building the bare FTS5 table of {size:,} events")
        path = str(database.directory / "bare.db")
        job = {"path": path, "sessions": sessions, "per_user": size, "size": EVENT_BYTES}
        bench.driver.run("make_fts5", 120 + size * 0.002, **job)
        subjects: dict[str, Callable[[], Result]] = {}
        for kind in KINDS:
            asked = {"kind": kind, "hits": HITS, "user": USER, "in_flight": 1, "min_count": QUESTIONS}
            subjects[f"{kind}, bare"] = functools.partial(bench.measure, None, "bare_ranked", path=path, **asked)
            subjects[f"{kind}, server"] = functools.partial(bench.measure, server, "ranked", **asked)
        results = bench.interleave(f"ranked search of {size:,} events on {engine}", subjects)
        echo = bench.measure(bench.echo, "bytes", size=1000, in_flight=1)
    mine, bare = (_mixed(results, side) for side in ("server", "bare"))
    text = f"ranked search in {size:,} events, mean of kinds of questions ÷ bare FTS5 BM25"
    note = f"the index caught up {indexed_in:,.0f} s after the load; an empty call takes {duration(echo['p50'])}"
    first = compared("ranked", engine, text, "p50", mine, bare, at_most(SLOWER), note)
    sides = {kind: (results[f"{kind}, server"], results[f"{kind}, bare"]) for kind in KINDS}
    return [first, *(compared("ranked", engine, f"  {kind}", "p50", *both) for kind, both in sides.items())]


def _mixed(results: dict[str, list[Result]], side: str) -> list[Result]:
    """The mean over the kinds of questions of their medians, for each round."""
    rounds = zip(*(results[f"{kind}, {side}"] for kind in KINDS), strict=True)
    return [{"p50": statistics.fmean(result["p50"] for result in each)} for each in rounds]


# --- vectors


class _Filled:
    """What a search by vectors asks of a store, with all answers at hand: what is left is the search."""

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
    """In this process: no server, no database."""
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
    text = f"search of {VECTORS:,} vectors of {DIMENSIONS} dimensions, as a server does ÷ bare product"
    note = f"{duration(medians(results['search'])['p50'] - medians(base)['p50'])} more, of which the thread and the event loop"
    return [
        compared("vectors", engine, text, "p50", results["search"], base, at_most(DEARER), note),
        compared("vectors", engine, "  choosing the best of the product alone", "p50", results["top"], base, at_most(DEARER)),
    ]


def _search(matrix: Vectors, runner: asyncio.Runner) -> tuple[Callable[[], Coroutine[Any, Any, None]], Vectors]:
    """One search with everything cached, and the embedding of what it asks for."""
    store, text = cast("Store", _Filled(matrix)), "where did we leave the bicycle"
    embedder = HashingEmbedder(DIMENSIONS)
    matrices = VectorCache(MatrixCache(matrix.nbytes * 2), time.time_ns)
    search = VectorSearch(store, VectorModel(store, embedder), matrices, EmbeddingBacklog(store, embedder.model))

    async def once() -> None:
        found = await search.events("", UserScope(USER), text, ALL, NEAREST)
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
