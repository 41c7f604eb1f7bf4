"""The /metrics page in the text format of Prometheus.

It requires no token. Therefore it contains only counts: no tenant, user or session, not even as a label.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...domain.errors import ThreadkeepError
from ...domain.feed import FeedState, Position
from ...domain.model import SECOND_NS
from ...feed.live.tail import TailStats
from ...providers.rerankers.base import RerankCounts
from ...service.retention.stats import SESSION_OUTCOMES, RetentionStats, RunOutcome
from ...store.contract.maintenance import PoolUse, StoreInfo
from ...telemetry import definitions as of
from ...telemetry.connections import open_connections
from ...telemetry.instruments import Reading, reading
from ...telemetry.meters import Meters
from ...telemetry.prometheus import page_of

_log = logging.getLogger(__name__)

_TIMEOUT_S = 5.0
_PYTHON = platform.python_version()
# The page is generated at most this often.
_FRESH_S = 1.0


@dataclass(frozen=True, slots=True)
class EmbeddingStats:
    """`waiting`: documents without an embedding, as last counted; `failures`: failed requests to the embedder."""

    waiting: int
    failures: int


@dataclass(frozen=True, slots=True)
class CompactionStats:
    """`plans`: plans requested from webhooks; `failures`: those that failed. `waiting`: those requested from consumers and not
    checked yet; `unanswered`: those that no consumer made in time."""

    plans: int
    failures: int
    waiting: int
    unanswered: int


class _Facts(NamedTuple):
    """What was read from the database."""

    feed: FeedState
    store: StoreInfo
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of the metrics. `feed` and `store` read the database. A source that is None is left out."""

    feed: Callable[[], Awaitable[FeedState]]
    store: Callable[[], Awaitable[StoreInfo]]
    tail: Callable[[], TailStats] | None = None
    consumer_members: Callable[[], int] | None = None
    embedding: Callable[[], EmbeddingStats | None] = lambda: None
    reranked: RerankCounts | None = None
    retention: RetentionStats | None = None
    audit_lost: Callable[[], int] | None = None
    sweep_held: Callable[[], bool] | None = None
    stalled_s: Callable[[], float] | None = None
    failed_logins: Callable[[], int] | None = None
    compaction: Callable[[], CompactionStats] | None = None
    calls_in_flight: Callable[[], int] | None = None
    pool: Callable[[], PoolUse] | None = None
    stored_bytes: Callable[[], Awaitable[int | None]] | None = None
    ports: Mapping[str, int] | None = None
    version: str = ""
    meters: Meters | None = None


class Metrics:
    """Generates the page on request, at most once per second. `clock` returns nanoseconds, like the times of changes."""

    def __init__(
        self, sources: Sources, *, clock: Callable[[], int] = time.time_ns, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._monotonic = monotonic
        self._started = clock() / SECOND_NS
        self._one_at_a_time = asyncio.Lock()
        self._page = b""
        self._fresh_until = float("-inf")

    async def page(self) -> bytes:
        """Returns the page. If the database does not answer, `threadkeep_up` is 0 and the metrics from it are left out."""
        async with self._one_at_a_time:
            if self._monotonic() >= self._fresh_until:
                self._page = await self._generate()
                self._fresh_until = self._monotonic() + _FRESH_S
            return self._page

    async def _generate(self) -> bytes:
        return page_of(await self.readings())

    async def readings(self) -> list[Reading]:
        """Returns the values of all metrics. If the database does not answer, those from it are left out."""
        facts, ports = await self._read_database(), self._sources.ports
        connections = await asyncio.to_thread(open_connections, ports) if ports else None
        return list(self._readings(facts, connections))

    async def _read_database(self) -> _Facts | None:
        sources = self._sources
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                stored = None if sources.stored_bytes is None else await sources.stored_bytes()
                return _Facts(await sources.feed(), await sources.store(), stored)
        except (ThreadkeepError, TimeoutError, asyncio.CancelledError):  # canceled: the server is shutting down
            return None
        except Exception as exc:
            _log.warning("reading metrics from the database failed (%s); the page omits them", type(exc).__name__)
            return None

    def _readings(self, facts: _Facts | None, connections: Mapping[str, int] | None) -> Iterator[Reading]:
        sources = self._sources
        yield reading(of.UP, facts is not None)
        yield reading(of.START_TIME, self._started)
        if sources.version:
            yield reading(of.BUILD_INFO, 1, sources.version, _PYTHON, "" if facts is None else facts.store.engine)
        if facts is not None:
            yield from self._of_feed(facts.feed)
            yield from _of_store(facts)
        if connections is not None:
            yield Reading(of.CONNECTIONS, {(port,): number for port, number in connections.items()})
        if sources.tail is not None:
            yield from _of_tail(sources.tail(), None if facts is None else facts.feed.head)
        yield from self._of_models()
        yield from self._of_work()
        if sources.meters is not None:
            yield from sources.meters.readings()

    def _of_models(self) -> Iterator[Reading]:
        sources = self._sources
        if (embedding := sources.embedding()) is not None:
            yield reading(of.EMBEDDING_WAITING, embedding.waiting)
            yield reading(of.EMBEDDING_FAILURES, embedding.failures)
        if sources.reranked is not None:
            yield reading(of.RERANKER_SEARCHES, sources.reranked.answers)
            yield reading(of.RERANKER_FAILURES, sources.reranked.failures)
        if sources.compaction is not None:
            yield from _of_compaction(sources.compaction())

    def _of_work(self) -> Iterator[Reading]:
        sources = self._sources
        if sources.pool is not None and (pool := sources.pool()).most:
            yield Reading(of.POOL, {("used",): pool.used, ("most",): pool.most})
        if sources.retention is not None:
            yield from _of_retention(sources.retention)
        for definition, source in (
            (of.CONSUMER_MEMBERS, sources.consumer_members),
            (of.CALLS_IN_FLIGHT, sources.calls_in_flight),
            (of.AUDIT_LOST, sources.audit_lost),
            (of.FAILED_LOGINS, sources.failed_logins),
            (of.FEED_STALLED, sources.stalled_s),
            (of.SWEEP_HELD, sources.sweep_held),
        ):
            if source is not None:
                yield reading(definition, source())

    def _of_feed(self, feed: FeedState) -> Iterator[Reading]:
        yield reading(of.FEED_HEAD, feed.head.change)
        yield reading(of.FEED_UNSETTLED, feed.unsettled)
        age = 0 if feed.oldest_time is None else max(0, self._clock() - feed.oldest_time)
        yield reading(of.FEED_OLDEST, age / SECOND_NS)


def _of_store(facts: _Facts) -> Iterator[Reading]:
    if facts.store.indexed:
        yield reading(of.INDEX_LAG, facts.store.index_lag)
    if facts.bytes is not None:
        yield reading(of.STORED, facts.bytes)


def _of_tail(tail: TailStats, head: Position | None) -> Iterator[Reading]:
    live = max(0, tail.subscribers - tail.behind)
    yield Reading(of.SUBSCRIPTIONS, {("live",): live, ("catching_up",): tail.behind})
    yield reading(of.FELL_BEHIND, tail.fell_behind)
    yield reading(of.SUBSCRIPTION_CHANNELS, tail.channels)
    yield reading(of.SUBSCRIPTION_KEPT, tail.kept_bytes)
    if head is not None and tail.subscribers:  # without subscribers the tail sleeps and has no lag
        lag = max(0, head.change - tail.position.change) if tail.position < head else 0
        yield reading(of.FEED_TAIL_LAG, lag)


def _of_retention(stats: RetentionStats) -> Iterator[Reading]:
    yield Reading(of.RETENTION_SESSIONS, {(each,): stats.sessions[each] for each in SESSION_OUTCOMES})
    yield Reading(of.RETENTION_RUNS, {(each.value,): stats.runs[each] for each in RunOutcome})
    yield reading(of.RETENTION_SUCCESS, stats.last_success / SECOND_NS)


def _of_compaction(stats: CompactionStats) -> Iterator[Reading]:
    yield reading(of.WEBHOOK_PLANS, stats.plans)
    yield reading(of.WEBHOOK_FAILURES, stats.failures)
    yield reading(of.REQUESTS_UNANSWERED, stats.unanswered)
    yield reading(of.REQUESTS_WAITING, stats.waiting)
