"""The regular deletion of expired sessions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from ..domain.sweeping import Hold, SweepGuard
from ..store.contract.sessions import SessionStore
from .sessions import SessionService

_log = logging.getLogger(__name__)


class Sweeper:
    """Deletes expired sessions every `interval_s` while it runs. `clock` and `monotonic` return nanoseconds."""

    def __init__(
        self,
        sessions: SessionService,
        store: SessionStore,
        guard: SweepGuard,
        interval_s: float,
        *,
        clock: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._sessions = sessions
        self._store = store
        self._guard = guard
        self._interval_s = interval_s
        self._clock = clock
        self._monotonic = monotonic
        self.hold: Hold | None = None
        """Why the last sweep deleted nothing; None if it was free to."""

    async def run(self) -> None:
        """Sweeps until canceled."""
        while True:
            try:
                await self.look()
                await asyncio.sleep(self._interval_s)
                await self.sweep()
            except Exception as exc:  # the next sweep must not depend on this one
                _log.warning("deleting expired sessions failed; retrying in %g s: %s", self._interval_s, type(exc).__name__)

    async def sweep(self) -> int:
        """Deletes the expired sessions of all tenants, unless the clock may be wrong. Returns their number."""
        if await self.look() is not None:
            return 0
        swept = await self._sessions.sweep()
        if swept:
            _log.info("deleted %d expired sessions", swept)
        return swept

    async def look(self) -> Hold | None:
        """Returns why no session may be deleted now, and logs it once."""
        now = self._clock()
        facts = await self._store.sweep_facts(now)
        hold = self._guard.held(facts, now, self._monotonic())
        if hold is not None and hold is not self.hold:
            _log.warning(
                "%d sessions have expired and are kept for now: %s; check the clock. They are deleted after sweep_hold, or "
                "at the next start with sweep_hold = 0",
                facts.expired,
                hold.value,
            )
        self.hold = hold
        return hold
