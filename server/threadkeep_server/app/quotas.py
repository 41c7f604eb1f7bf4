"""Opens rate limits and quotas."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ..config.quotas import QuotaSettings
from ..domain.rates import RateLimiter, Rates
from ..service.feed.subscriptions import Quota
from ..service.storage_quota import StorageQuota
from ..store.contract.maintenance import MaintenanceStore, Totals
from ..transport.rate_limits import limiting
from ..transport.rpc import Method

_UNLIMITED = 1 << 62


def limits_of(settings: QuotaSettings) -> Callable[[Method], Method] | None:
    """Returns what limits a method; None without limits."""
    caller, tenant = (
        Rates(
            getattr(settings, f"{owner}_requests_per_second"),
            getattr(settings, f"{owner}_bytes_per_second"),
            getattr(settings, f"{owner}_search_seconds_per_second"),
        )
        for owner in ("caller", "tenant")
    )
    rates = RateLimiter(caller, tenant, time.monotonic)
    most = settings.max_streams_per_caller
    if not rates.active and not most:
        return None
    return limiting(rates, Quota("streams", most=_UNLIMITED, most_per_caller=most) if most else None)


@asynccontextmanager
async def open_storage_quota(settings: QuotaSettings, store: MaintenanceStore) -> AsyncIterator[StorageQuota | None]:
    """Counts while the context is open. Yields None without a quota."""
    if not settings.max_sessions_per_tenant and not settings.max_events_per_tenant:
        yield None
        return

    async def count(tenant: str) -> Totals:
        totals = (await store.info(tenant, totals=True)).totals
        return totals or Totals(0, 0)

    quota = StorageQuota(count, sessions=settings.max_sessions_per_tenant, events=settings.max_events_per_tenant)
    counting = asyncio.create_task(quota.run(), name="quota")
    try:
        yield quota
    finally:
        counting.cancel()
