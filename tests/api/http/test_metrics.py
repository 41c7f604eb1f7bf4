"""The metrics page: its contents, access, and behavior without a database."""

from __future__ import annotations

import asyncio
import http.client
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.clock import NOW, Clock
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, session_with
from threadkeep_server.domain.errors import StoreUnavailable
from threadkeep_server.domain.feed import BEGINNING, FeedState, Position
from threadkeep_server.domain.model import SECOND_NS, Caller
from threadkeep_server.feed.live.tail import Tail, TailStats
from threadkeep_server.providers.rerankers.base import RerankCounts
from threadkeep_server.store.contract.maintenance import StoreInfo
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.transport.auth import Authenticator
from threadkeep_server.transport.http import metrics as page
from threadkeep_server.transport.http.metrics import CompactionStats, EmbeddingStats, Metrics, Sources
from threadkeep_server.transport.http.server import http_app, serve_http

OF_THE_DATABASE = {
    "threadkeep_feed_head",
    "threadkeep_feed_unsettled_changes",
    "threadkeep_feed_oldest_change_age_seconds",
    "threadkeep_search_index_lag_batches",
    "threadkeep_feed_tail_lag_changes",
}
OF_THE_SERVER = {
    "threadkeep_start_time_seconds",
    'threadkeep_subscriptions{state="live"}',
    'threadkeep_subscriptions{state="catching_up"}',
    "threadkeep_subscription_fell_behind_total",
    "threadkeep_subscription_channels",
    "threadkeep_subscription_kept_bytes",
    "threadkeep_consumer_members",
    "threadkeep_embedding_waiting",
    "threadkeep_embedding_failures_total",
    "threadkeep_compaction_webhook_plans_total",
    "threadkeep_compaction_webhook_failures_total",
    "threadkeep_compaction_requests_unanswered_total",
    "threadkeep_compaction_requests_waiting",
}
FEED = FeedState(BEGINNING, Position(900, 120), 3, NOW - 90 * SECOND_NS)
STORE = StoreInfo("store", "", "sqlite", "FULL", 3, indexed=True, index_lag=7, totals=None)
PLANS = CompactionStats(plans=21, failures=22, waiting=23, unanswered=24)
TAIL = TailStats(5, 2, 4, 3, 2048, Position(890, 110))


@dataclass
class Facts:
    """The values of the sources. A failure is raised instead, after the database has been read."""

    feed: FeedState = FEED
    store: StoreInfo = STORE
    tail: TailStats = TAIL
    embedding: EmbeddingStats | None = field(default_factory=lambda: EmbeddingStats(waiting=12, failures=3))
    failure: Exception | None = None
    hangs: bool = False
    requested: int = 0
    monotonic: float = 0.0
    clock: Clock = field(default_factory=Clock)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def sources(self) -> Sources:
        return Sources(self._feed, self._store, lambda: self.tail, lambda: 6, lambda: self.embedding, compaction=lambda: PLANS)

    def metrics(self) -> Metrics:
        return Metrics(self.sources(), clock=self.clock, monotonic=lambda: self.monotonic)

    async def samples(self) -> dict[str, float]:
        return parsed(await self.metrics().page())

    async def _feed(self) -> FeedState:
        self.requested += 1
        self.begun.set()
        await asyncio.sleep(60 if self.hangs else 0)
        if self.failure is not None:
            raise self.failure
        return self.feed

    async def _store(self) -> StoreInfo:
        return self.store


def parsed(text: bytes) -> dict[str, float]:
    """Returns values by sample: its name and its labels. Without those of the process, which the library gives."""
    samples = {}
    for family in text_string_to_metric_families(text.decode()):
        assert family.documentation
        if family.name.startswith("process_"):
            continue
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            samples[sample.name + (f"{{{labels}}}" if labels else "")] = sample.value
    return samples


@asynccontextmanager
async def served(metrics: Metrics | None, tokens: dict[str, Caller] | None = None) -> AsyncIterator[int]:
    async def ready() -> None:
        pass

    app = http_app([], Authenticator(tokens or {}), ready=ready, max_bytes=1000, metrics=metrics)
    async with serve_http(app, "127.0.0.1", 0) as port:
        yield port


def _get(port: int, path: str, **headers: str) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.getheader("content-type", ""), response.read()
    finally:
        connection.close()


async def test_every_metric_has_its_name_and_value() -> None:
    assert await Facts().samples() == {
        "threadkeep_up": 1,
        "threadkeep_start_time_seconds": NOW / SECOND_NS,
        "threadkeep_feed_head": 120,
        "threadkeep_feed_unsettled_changes": 3,
        "threadkeep_feed_oldest_change_age_seconds": 90,
        "threadkeep_search_index_lag_batches": 7,
        'threadkeep_subscriptions{state="live"}': 3,
        'threadkeep_subscriptions{state="catching_up"}': 2,
        "threadkeep_subscription_fell_behind_total": 4,
        "threadkeep_subscription_channels": 3,
        "threadkeep_subscription_kept_bytes": 2048,
        "threadkeep_feed_tail_lag_changes": 10,
        "threadkeep_consumer_members": 6,
        "threadkeep_embedding_waiting": 12,
        "threadkeep_embedding_failures_total": 3,
        "threadkeep_compaction_webhook_plans_total": 21,
        "threadkeep_compaction_webhook_failures_total": 22,
        "threadkeep_compaction_requests_waiting": 23,
        "threadkeep_compaction_requests_unanswered_total": 24,
    }


async def test_searches_with_a_reranker_are_counted() -> None:
    counts = RerankCounts(answers=7, failures=2)
    samples = parsed(await Metrics(replace(Facts().sources(), reranked=counts)).page())
    found = samples["threadkeep_reranker_searches_total"], samples["threadkeep_reranker_failures_total"]
    assert found == (7, 2)


async def test_an_empty_feed_has_age_zero() -> None:
    samples = await Facts(feed=FeedState(BEGINNING, BEGINNING, 0, None)).samples()
    assert (samples["threadkeep_feed_head"], samples["threadkeep_feed_oldest_change_age_seconds"]) == (0, 0)


@pytest.mark.parametrize(
    ("position", "lag"),
    [(Position(900, 120), 0), (Position(901, 119), 0), (Position(890, 125), 0), (Position(899, 119), 1)],
)
async def test_the_tail_lag_counts_settled_changes_and_is_never_negative(position: Position, lag: int) -> None:
    """On PostgreSQL the order differs from the order of the numbers."""
    facts = Facts(tail=replace(TAIL, position=position))
    assert (await facts.samples())["threadkeep_feed_tail_lag_changes"] == lag


async def test_metrics_without_a_source_are_left_out() -> None:
    facts = Facts(tail=replace(TAIL, subscribers=0, behind=0), store=replace(STORE, indexed=False), embedding=None)
    samples = await facts.samples()
    assert not [name for name in samples if "embedding" in name], "there is no embedder"
    assert "threadkeep_feed_tail_lag_changes" not in samples, "the tail rests"
    assert "threadkeep_search_index_lag_batches" not in samples
    assert samples['threadkeep_subscriptions{state="live"}'] == 0


@pytest.mark.parametrize("failure", [StoreUnavailable("the disk is full"), RuntimeError("postgresql://u:hush@host")])
async def test_the_page_without_a_database_has_the_metrics_of_the_server(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    facts = Facts(failure=failure)
    async with served(facts.metrics()) as port:
        status, _, text = await asyncio.to_thread(_get, port, "/metrics")
    samples = parsed(text)
    assert status == 200
    assert samples.pop("threadkeep_up") == 0
    assert set(samples) == OF_THE_SERVER
    assert "hush" not in caplog.text + text.decode()
    warned = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warned) == isinstance(failure, RuntimeError), "internal errors are logged here, a lost database elsewhere"


async def test_a_database_that_hangs_is_waited_for_with_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_TIMEOUT_S", 0.01)
    async with asyncio.timeout(60):
        samples = await Facts(hangs=True).samples()
    assert samples["threadkeep_up"] == 0
    assert not OF_THE_DATABASE & set(samples)


async def test_a_server_that_shuts_down_still_returns_the_page() -> None:
    facts = Facts(hangs=True)
    pending = asyncio.create_task(facts.metrics().page())
    await asyncio.wait_for(facts.begun.wait(), 30)
    pending.cancel()
    assert parsed(await pending)["threadkeep_up"] == 0


async def test_the_database_is_read_at_most_once_per_second() -> None:
    facts = Facts()
    metrics = facts.metrics()
    pages = await asyncio.gather(*(metrics.page() for _ in range(10)))
    assert (len(set(pages)), facts.requested) == (1, 1)
    facts.feed = replace(FEED, unsettled=99)
    facts.monotonic = 0.9
    assert await metrics.page() == pages[0]
    facts.monotonic = 1.0
    assert parsed(await metrics.page())["threadkeep_feed_unsettled_changes"] == 99
    assert facts.requested == 2


async def test_the_page_requires_no_token_and_has_the_prometheus_format() -> None:
    async with served(Facts().metrics(), {"tok-1": Caller("acme", "ann")}) as port:
        status, kind, text = await asyncio.to_thread(_get, port, "/metrics")
        home = await asyncio.to_thread(_get, port, "/")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert parsed(text)["threadkeep_up"] == 1
    assert b"/metrics (for Prometheus)" in home[2]


async def test_a_port_without_metrics_has_no_metrics_page() -> None:
    async with served(None) as port:
        assert (await asyncio.to_thread(_get, port, "/metrics"))[0] == 404
        assert b"/metrics" not in (await asyncio.to_thread(_get, port, "/"))[2]


async def test_the_page_of_a_store_and_a_tail_contains_no_names() -> None:
    store = InMemoryStore(CODEC)
    tail = Tail(store)
    metrics = Metrics(Sources(store.feed_state, lambda: store.info(TENANT, totals=False), tail.stats), clock=Clock())
    await session_with(store, draft("one"), draft("two"), session_id="hush-session", user="hush-user", app="hush-app")
    text = await metrics.page()
    samples = parsed(text)
    assert samples["threadkeep_up"] == 1
    assert samples["threadkeep_feed_head"] == (await store.feed_head()).change == 3
    assert samples["threadkeep_feed_unsettled_changes"] == 0
    assert b"hush" not in text
    assert TENANT.encode() not in text
