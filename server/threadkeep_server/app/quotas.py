"""Opens rate limits and quotas."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ..config.quotas import QuotaSettings
from ..domain.model import Caller
from ..domain.rates import QuotaUse, RateLimiter, Rates
from ..domain.roles import ADMIN, OPS
from ..service.feed.subscriptions import Quota
from ..service.storage_quota import StorageQuota
from ..store.contract.maintenance import MaintenanceStore, Totals
from ..transport.rate_limits import limiting
from ..transport.rpc import Method

_UNLIMITED = 1 << 62


@dataclass(frozen=True, slots=True)
class Quotas:
    """The limits of calls and of storage. None: there is no such limit."""

    rates: RateLimiter
    streams: Quota | None
    most_streams: int
    storage: StorageQuota | None

    def limiting(self) -> Callable[[Method], Method] | None:
        """Returns what limits a method; None without limits."""
        return limiting(self.rates, self.streams) if self.rates.active or self.streams else None

    def used(self, caller: Caller) -> list[QuotaUse]:
        """Returns the limits with what is used of them. What all callers of the tenant use is for those who may count totals:
        it would reveal the activity of others."""
        counts = not caller.is_bound and bool(caller.roles & {ADMIN, OPS})
        found = self.rates.used(caller, tenant=counts) if self.rates.active else []
        if self.streams is not None:
            found.append(QuotaUse("streams_per_caller", self.most_streams, self.streams.held_by(caller)))
        return found + ([] if self.storage is None else self.storage.used(caller.tenant, counted=counts))


def quotas_of(settings: QuotaSettings, storage: StorageQuota | None) -> Quotas:
    """Returns the quotas of the settings."""
    caller, tenant = (
        Rates(
            getattr(settings, f"{owner}_requests_per_second"),
            getattr(settings, f"{owner}_bytes_per_second"),
            getattr(settings, f"{owner}_search_seconds_per_second"),
        )
        for owner in ("caller", "tenant")
    )
    most = settings.max_streams_per_caller
    streams = Quota("streams", most=_UNLIMITED, most_per_caller=most) if most else None
    return Quotas(RateLimiter(caller, tenant, time.monotonic), streams, most, storage)


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
