"""Runs policies in the background, on one server at a time."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from typing import Any

from ...domain.errors import ThreadkeepError
from ...domain.model import SECOND_NS
from ...domain.retention.receipts import Outcome
from ...domain.sweeping import Hold
from ...providers.archives.base import StorageFailed
from ...store.contract.maintenance import MaintenanceStore
from .guard import RetentionGuard
from .runner import RetentionRunner
from .stats import RetentionStats, RunOutcome

_log = logging.getLogger(__name__)

NOTE = "retention"
_LEASE_NS = 60 * SECOND_NS


class RetentionWorker:
    """Runs policies every `interval_s` while it runs, over up to `limit` sessions of each tenant. `owner`: a name of this
    server. The lease spares other servers the work; two that run at once lose nothing either."""

    def __init__(
        self,
        store: MaintenanceStore,
        runner: RetentionRunner,
        guard: RetentionGuard,
        owner: str,
        interval_s: float,
        limit: int,
        *,
        clock: Callable[[], int] = time.time_ns,
        stats: RetentionStats | None = None,
    ) -> None:
        self._store = store
        self._runner = runner
        self._guard = guard
        self._owner = owner
        self._interval_s = interval_s
        self._limit = limit
        self._clock = clock
        self.stats = stats or RetentionStats(clock())
        self.hold: Hold | None = None
        """Why the last run did nothing; None if it was free to."""

    async def run(self) -> None:
        """Runs until canceled."""
        while True:
            try:
                await self._guard.look()
                await asyncio.sleep(self._interval_s)
                await self.turn()
            except Exception as exc:  # the next run must not depend on this one
                self.stats.ended(RunOutcome.FAILED, self._clock())
                _log.warning("retention failed; retrying in %g s: %s", self._interval_s, _reason(exc))
                await asyncio.sleep(1.0)

    async def turn(self) -> bool:
        """Runs once over all tenants, unless another server does or the clock may be wrong. Returns whether it ran."""
        hold, selected = await self._guard.look()
        if hold is not None and hold is not self.hold:
            _log.warning("retention deletes nothing for now: %s; check the clock. It continues after sweep_hold", hold.value)
            for tenant in selected:
                await self._runner.refuse(tenant, hold)
        self.hold = hold
        if hold is not None:
            self.stats.ended(RunOutcome.HELD, self._clock())
        if hold is not None or not await self._lead():
            return False
        failed = 0
        for tenant in await self._runner.tenants_to_run():
            if not await self._lead():
                return False
            run = await self._runner.run(tenant, self._limit, alive=self._lead)
            failed += sum(each.outcome is Outcome.FAILED for each in run.receipts)
        self.stats.ended(RunOutcome.FAILED if failed else RunOutcome.DONE, self._clock())
        return True

    async def _lead(self) -> bool:
        """Takes or extends the lease. Returns False if another server has it."""
        text = await self._store.note(NOTE)
        noted: dict[str, Any] = {} if text is None else json.loads(text)
        now = self._clock()
        mine = noted.get("owner") == self._owner
        if not mine and noted.get("until", 0) > now:
            return False
        if mine and noted["until"] - now > _LEASE_NS // 2:
            return True
        value = json.dumps({"owner": self._owner, "until": now + _LEASE_NS})
        return await self._store.put_note(NOTE, value, text)


def _reason(exc: Exception) -> str:
    if isinstance(exc, ThreadkeepError):
        return exc.message
    return str(exc) if isinstance(exc, StorageFailed) else type(exc).__name__
