"""Composition of the feed: tail, subscriptions, consumers and retention."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from threadkeep.messages import new_event_id

from ..config.settings import Settings
from ..domain.model import SECOND_NS
from ..feed.live.tail import Tail
from ..service.feed.consumers import ConsumerService
from ..service.feed.feed_retention import FeedRetention
from ..service.feed.subscriptions import Quota, SubscriptionService
from ..store.contract.store import Store
from ..transport.auth import DEFAULT_TENANT
from ..transport.http.metrics import Sources
from .compaction import end


@dataclass(frozen=True, slots=True)
class FeedServices:
    """The use cases of the feed. `drain` ends every stream with a resume token."""

    tail: Tail
    subscriptions: SubscriptionService
    consumers: ConsumerService

    def sources(self, store: Store) -> Sources:
        """Returns the sources of the metrics."""
        info = partial(store.info, DEFAULT_TENANT, totals=False)
        stalled = lambda: store.feed_stalled_s  # noqa: E731
        return Sources(store.feed_state, info, self.tail.stats, self.consumers.members, stalled_s=stalled)

    def drain(self) -> None:
        self.tail.drain()
        self.consumers.drain()


@asynccontextmanager
async def open_feed(settings: Settings, store: Store) -> AsyncIterator[FeedServices]:
    """Follows the feed while the context is open."""
    async with AsyncExitStack() as stack:
        tail = Tail(
            store,
            poll=settings.feed_poll_interval.total_seconds(),
            heartbeat=settings.watch_heartbeat.total_seconds(),
        )
        retention = FeedRetention(store, time.time_ns, retention=int(settings.feed_retention.total_seconds() * SECOND_NS))
        for work in (tail.run(), retention.run()):
            stack.push_async_callback(end, asyncio.create_task(work))
        quota = Quota("subscriptions", most=settings.max_subscriptions, most_per_caller=settings.max_subscriptions_per_caller)
        lease = int(settings.consumer_lease.total_seconds() * SECOND_NS)
        consumers = ConsumerService(store, tail, quota, time.time_ns, new_event_id, lease)
        stack.push_async_callback(consumers.close)
        yield FeedServices(tail, SubscriptionService(store, tail, quota), consumers)
