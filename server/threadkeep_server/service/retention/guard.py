"""Decides whether retention may delete now: what a wrong clock takes, nothing brings back."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from ...domain.sweeping import FEW_SESSIONS, Hold, SweepGuard
from ...store.contract.maintenance import MaintenanceStore
from ...store.contract.sessions import SessionStore
from .runner import RetentionRunner


class GuardedStore(SessionStore, MaintenanceStore, Protocol):
    """The part of the store that the guard and the worker use."""


class Look(NamedTuple):
    """What a look at the clock found. `hold`: why nothing may be deleted now. `selected`: how many sessions of each tenant
    policies select; tenants without any are left out."""

    hold: Hold | None
    selected: Mapping[str, int]


class RetentionGuard:
    """The guard of the sweeps, with the sessions that policies select in the place of the expired ones. `clock` and `monotonic`
    return nanoseconds."""

    def __init__(
        self,
        store: GuardedStore,
        runner: RetentionRunner,
        guard: SweepGuard,
        *,
        clock: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._store = store
        self._runner = runner
        self._guard = guard
        self._clock = clock
        self._monotonic = monotonic

    async def look(self) -> Look:
        """Returns whether something may be deleted now. Call it regularly, also if there is nothing to delete."""
        by_tenant: Counter[str] = Counter()
        for tenant in await self._runner.tenants():
            async for _ in self._runner.find(tenant):
                by_tenant[tenant] += 1
        now, selected = self._clock(), by_tenant.total()
        facts = await self._store.sweep_facts(now)
        total = await self._total() if selected > FEW_SESSIONS else 0
        return Look(self._guard.held(facts._replace(expired=selected, sessions=total), now, self._monotonic()), by_tenant)

    async def _total(self) -> int:
        counted = [(await self._store.info(each, totals=True)).totals for each in await self._store.tenants()]
        return sum(each.sessions for each in counted if each is not None)
