"""Expired sessions and notes, in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ...domain.model import Session
from ...domain.sweeping import SweepFacts
from ..contract.codec import Codec
from ..contract.maintenance import ServerRow, Signs
from ..contract.sessions import EXPIRED, Expired
from .logs import InMemoryLogs, Log


class InMemoryMaintenance(InMemoryLogs):
    def __init__(self, codec: Codec, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__(codec, clock)
        self._notes: dict[str, str] = {}

    async def sweep_facts(self, now: int) -> SweepFacts:
        stored = [change.time for change in self._feed] or [log.session.create_time for log in self._logs.values()]
        newest = max(stored, default=None)
        return SweepFacts(len(self._expired(None, EXPIRED, now)), len(self._logs), newest)

    async def expired_sessions(
        self, tenant: str | None, now: int, limit: int, skip: int = 0, which: Expired = EXPIRED
    ) -> Sequence[tuple[str, Session]]:
        found = self._expired(tenant, which, now)
        return [(owner, log.session) for owner, log in found[skip : skip + limit]]

    def _expired(self, tenant: str | None, which: Expired, now: int) -> list[tuple[str, Log]]:
        """Returns expired sessions, the first to expire first."""
        found = [
            (expire_time, log.number, owner, log)
            for (owner, ref), log in self._logs.items()
            if tenant in (None, owner)
            and which.app in (None, ref.app)
            and which.user_id in (None, ref.user_id)
            and (expire_time := log.session.expire_time) is not None
            and expire_time <= which.until(now)
        ]
        return [(owner, log) for _, _, owner, log in sorted(found, key=lambda each: each[:2])]

    async def delete_seen(self, tenant: str, seen: Session, now: int) -> bool:
        log = self._find(tenant, seen.ref)
        if log is None or (log.session.uid, log.session.last_seq) != (seen.uid, seen.last_seq):
            return False
        if log.session.expire_time is None or log.session.expire_time > now:
            return False
        self._drop(tenant, log, now, expired=True)
        return True

    async def delete_unchanged(self, tenant: str, seen: Session, state_version: int, now: int) -> bool:
        log = self._find(tenant, seen.ref)
        if log is None or log.session != seen or log.state.totals.version != state_version:
            return False
        self._drop(tenant, log, now, expired=False)
        return True

    async def tenants(self) -> Sequence[str]:
        return sorted({owner for owner, _ in self._logs})

    async def note(self, name: str) -> str | None:
        return self._notes.get(name)

    async def put_server(self, own: ServerRow, forget_after: int) -> Signs:
        return Signs([own], own.seen_time)

    async def remove_server(self, server_id: str) -> None:
        return None

    async def put_note(self, name: str, value: str, expected: str | None) -> bool:
        if self._notes.get(name) != expected:
            return False
        self._notes[name] = value
        return True
