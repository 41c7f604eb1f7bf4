"""The quota of what a tenant stores."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from ..domain.errors import QuotaExceeded
from ..domain.rates import QuotaUse
from ..store.contract.maintenance import Totals

_COUNT_EVERY_S = 30.0
_REMEMBERED = 1_000
"""Tenants whose totals are known. One that is forgotten is counted again."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Stored:
    sessions: int = 0
    events: int = 0
    is_counted: bool = False
    """Whether the database was counted; until then, only what this server admitted."""


class StorageQuota:
    """Limits the sessions and events of a tenant. 0: unlimited.

    The totals are counted in the background, and what this server admits is added. What was not committed yet at a count is
    missing until the next one.
    """

    def __init__(self, count: Callable[[str], Awaitable[Totals]], *, sessions: int, events: int) -> None:
        self._count = count
        self._most = _Stored(sessions, events)
        self._stored: OrderedDict[str, _Stored] = OrderedDict()
        self._wake = asyncio.Event()

    def admit(self, tenant: str, *, sessions: int = 0, events: int = 0) -> None:
        """Counts what a request adds. Raises QuotaExceeded."""
        if not self._most.sessions and not self._most.events:
            return
        stored = self._stored.get(tenant)
        if stored is None:
            stored = self._stored[tenant] = _Stored()
            if len(self._stored) > _REMEMBERED:
                self._stored.popitem(last=False)
            self._wake.set()
        self._stored.move_to_end(tenant)
        if sessions and 0 < self._most.sessions < stored.sessions + sessions:
            raise QuotaExceeded("sessions_per_tenant", self._most.sessions)
        if events and 0 < self._most.events < stored.events + events:
            raise QuotaExceeded("events_per_tenant", self._most.events)
        stored.sessions += sessions
        stored.events += events

    def used(self, tenant: str, *, counted: bool) -> list[QuotaUse]:
        """Returns each limit with what is stored, once that is known. `counted` False leaves it out, and counts nothing."""
        if counted:
            self.admit(tenant)
        stored = self._stored.get(tenant, _Stored())
        known = counted and stored.is_counted
        found = (
            QuotaUse("sessions_per_tenant", self._most.sessions, stored.sessions if known else None),
            QuotaUse("events_per_tenant", self._most.events, stored.events if known else None),
        )
        return [each for each in found if each.limit]

    def give_back(self, tenant: str, *, sessions: int, events: int = 0) -> None:
        """Takes back what was admitted and not stored."""
        if (stored := self._stored.get(tenant)) is not None:
            stored.sessions -= sessions
            stored.events -= events

    async def run(self) -> None:
        """Counts until canceled."""
        while True:
            self._wake.clear()
            try:
                await self.recount()
            except Exception as exc:  # a lost database; the task must keep running
                _log.warning("counting for quotas failed (%s), retrying in %g s", type(exc).__name__, _COUNT_EVERY_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_COUNT_EVERY_S):
                    await self._wake.wait()

    async def recount(self) -> None:
        """Counts what the tenants store that have called."""
        for tenant in list(self._stored):
            known = replace(self._stored[tenant])
            totals = await self._count(tenant)
            if (now := self._stored.get(tenant)) is not None:
                now.sessions += totals.sessions - known.sessions
                now.events += totals.events - known.events
                now.is_counted = True
