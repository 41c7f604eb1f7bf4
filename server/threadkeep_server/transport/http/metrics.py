"""The /metrics page in the text format of Prometheus.

It requires no token. Therefore it contains only counts: no tenant, user or session, not even as a label.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ...domain.errors import ThreadkeepError
from ...domain.feed import FeedState, Position
from ...domain.model import SECOND_NS
from ...feed.live.tail import TailStats
from ...providers.rerankers.base import RerankCounts
from ...store.contract.maintenance import StoreInfo
from ..call_stats import Durations

_log = logging.getLogger(__name__)

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_TIMEOUT_S = 5.0
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


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of the metrics. `feed` and `store` read the database. A source that is None is left out."""

    feed: Callable[[], Awaitable[FeedState]]
    store: Callable[[], Awaitable[StoreInfo]]
    tail: Callable[[], TailStats] | None = None
    consumer_members: Callable[[], int] | None = None
    embedding: Callable[[], EmbeddingStats | None] = lambda: None
    reranked: RerankCounts | None = None
    audit_lost: Callable[[], int] | None = None
    sweep_held: Callable[[], bool] | None = None
    stalled_s: Callable[[], float] | None = None
    failed_logins: Callable[[], int] | None = None
    compaction: Callable[[], CompactionStats] | None = None
    calls: Callable[[], Mapping[str, Durations]] | None = None


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
        facts = await self._read_database()
        registry = CollectorRegistry()
        registry.register(_Once(self._families(facts)))
        return generate_latest(registry)

    async def _read_database(self) -> tuple[FeedState, StoreInfo] | None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                return await self._sources.feed(), await self._sources.store()
        except (ThreadkeepError, TimeoutError, asyncio.CancelledError):  # canceled: the server is shutting down
            return None
        except Exception as exc:
            _log.warning("reading metrics from the database failed (%s); the page omits them", type(exc).__name__)
            return None

    def _families(self, facts: tuple[FeedState, StoreInfo] | None) -> Iterator[Metric]:
        yield _gauge("up", "Whether the database answers.", facts is not None)
        yield _gauge("start_time_seconds", "Time at which this server started, in seconds since 1970.", self._started)
        if facts is not None:
            feed, store = facts
            yield from self._of_feed(feed)
            if store.indexed:
                yield _gauge("search_index_lag_batches", "Batches that the search index has not processed.", store.index_lag)
        if self._sources.tail is not None:
            yield from _of_tail(self._sources.tail(), None if facts is None else facts[0].head)
        if self._sources.consumer_members is not None:
            yield _gauge("consumer_members", "Members of consumers on this server.", self._sources.consumer_members())
        if (embedding := self._sources.embedding()) is not None:
            yield from _of_embedding(embedding)
        if self._sources.reranked is not None:
            yield from _of_reranker(self._sources.reranked)
        yield from self._of_work()

    def _of_work(self) -> Iterator[Metric]:
        if self._sources.calls is not None:
            yield _of_calls(self._sources.calls())
        if self._sources.compaction is not None:
            yield from _of_compaction(self._sources.compaction())
        if self._sources.audit_lost is not None:
            text = "Records that the audit log lost."
            yield CounterMetricFamily("threadkeep_audit_lost_records_total", text, value=self._sources.audit_lost())
        if self._sources.failed_logins is not None:
            text = "Calls with a credential that was not accepted."
            yield CounterMetricFamily("threadkeep_failed_logins_total", text, value=self._sources.failed_logins())

        if self._sources.stalled_s is not None:
            text = "For how long changes have not been delivered because of an open transaction; 0 if they are."
            yield _gauge("feed_stalled_seconds", text, self._sources.stalled_s())
        if self._sources.sweep_held is not None:
            text = "Whether expired sessions are kept because the clock may be wrong."
            yield _gauge("sweep_held", text, self._sources.sweep_held())

    def _of_feed(self, feed: FeedState) -> Iterator[Metric]:
        yield _gauge("feed_head", "Number of the last change that can be delivered.", feed.head.change)
        yield _gauge(
            "feed_unsettled_changes",
            "Committed changes that cannot be delivered yet, because an earlier one may still be committed.",
            feed.unsettled,
        )
        age = 0 if feed.oldest_time is None else max(0, self._clock() - feed.oldest_time)
        yield _gauge("feed_oldest_change_age_seconds", "Age of the oldest change kept; 0 if there is none.", age / SECOND_NS)


def _of_tail(tail: TailStats, head: Position | None) -> Iterator[Metric]:
    states = GaugeMetricFamily("threadkeep_subscriptions", "Subscriptions on this server.", labels=["state"])
    states.add_metric(["live"], max(0, tail.subscribers - tail.behind))
    states.add_metric(["catching_up"], tail.behind)
    yield states
    text = "How often a live subscription fell behind and continued from the log."
    yield CounterMetricFamily("threadkeep_subscription_fell_behind_total", text, value=tail.fell_behind)
    yield _gauge("subscription_channels", "Distinct scopes and filters of the subscriptions on this server.", tail.channels)
    yield _gauge("subscription_kept_bytes", "Messages kept for live subscriptions, in bytes.", tail.kept_bytes)
    if head is not None and tail.subscribers:  # without subscribers the tail sleeps and has no lag
        lag = max(0, head.change - tail.position.change) if tail.position < head else 0
        yield _gauge("feed_tail_lag_changes", "Approximate number of settled changes that this server has not read.", lag)


def _of_embedding(stats: EmbeddingStats) -> Iterator[Metric]:
    yield _gauge("embedding_waiting", "Events and memories without an embedding, as last counted.", stats.waiting)
    text = "Failed requests to the embedder."
    yield CounterMetricFamily("threadkeep_embedding_failures_total", text, value=stats.failures)


def _of_reranker(counts: RerankCounts) -> Iterator[Metric]:
    text = "Searches with hits for the reranker."
    yield CounterMetricFamily("threadkeep_reranker_searches_total", text, value=counts.answers)
    text = "Those that were answered without the reranker, since it failed or did not answer in time."
    yield CounterMetricFamily("threadkeep_reranker_failures_total", text, value=counts.failures)


def _of_compaction(stats: CompactionStats) -> Iterator[Metric]:
    counters = {
        "webhook_plans": ("Plans requested from webhooks.", stats.plans),
        "webhook_failures": ("Plans of webhooks that were not received or not valid.", stats.failures),
        "requests_unanswered": ("Compactions that policies left to consumers and none made in time.", stats.unanswered),
    }
    for name, (text, value) in counters.items():
        yield CounterMetricFamily(f"threadkeep_compaction_{name}_total", text, value=value)
    text = "Sessions whose compaction was requested from a consumer and is not checked yet."
    yield _gauge("compaction_requests_waiting", text, stats.waiting)


def _of_calls(durations: Mapping[str, Durations]) -> Metric:
    text = "How long calls took on this server, by RPC; without streams."
    family = HistogramMetricFamily("threadkeep_call_duration_seconds", text, labels=["rpc"])
    for rpc, each in sorted(durations.items()):
        family.add_metric([rpc], buckets=each.cumulative(), sum_value=each.seconds)
    return family


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"threadkeep_{name}", text, value=value)


class _Once(Collector):
    """The metrics of one page."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families
