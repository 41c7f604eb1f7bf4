"""The regular deletion of expired sessions and memories."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Protocol

from ..domain.model import SECOND_NS
from ..domain.sweeping import Hold, SweepGuard
from ..store.contract.memories import MemoriesStore
from ..store.contract.sessions import SessionStore
from .sessions import SessionService

_log = logging.getLogger(__name__)


_COUNTED_MEMORIES = 1_000


class SweptStore(SessionStore, MemoriesStore, Protocol):
    """The part of the store that sweeps use."""


class Sweeper:
    """Deletes expired sessions and memories every `interval_s` while it runs. `clock` and `monotonic` return nanoseconds."""

    def __init__(
        self,
        sessions: SessionService,
        store: SweptStore,
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
        """Deletes the expired sessions and memories of all tenants, unless the clock may be wrong. Returns the number of
        sessions."""
        if await self.look() is not None:
            return 0
        swept = await self._sessions.sweep()
        if swept:
            _log.info("deleted %d expired sessions", swept)
        await self._sweep_memories()
        return swept

    async def _sweep_memories(self) -> None:
        """Deletes in parts, and rests for as long as each took, so that others have half of the time."""
        now, total = self._clock(), 0
        while True:
            began = self._monotonic()
            deleted = await self._store.sweep_memories(now)
            if not deleted:
                break
            total += deleted
            await asyncio.sleep((self._monotonic() - began) / SECOND_NS)
        if total:
            _log.info("deleted %d expired memories", total)

    async def look(self) -> Hold | None:
        """Returns why nothing may be deleted now, and logs it once."""
        now = self._clock()
        memories = await self._store.count_expired_memories(now, _COUNTED_MEMORIES)
        facts = (await self._store.sweep_facts(now))._replace(memories=memories)
        hold = self._guard.held(facts, now, self._monotonic())
        if hold is not None and hold is not self.hold:
            _log.warning(
                "%d sessions and %d memories have expired and are kept for now: %s; check the clock. They are deleted after "
                "sweep_hold, or at the next start with sweep_hold = 0",
                facts.expired,
                facts.memories,
                hold.value,
            )
        self.hold = hold
        return hold
