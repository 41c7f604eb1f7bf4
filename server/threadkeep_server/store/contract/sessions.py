"""Sessions: part of the Store contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...domain.model import NewSession, Session, SessionChange, SessionRef
from ...domain.sweeping import SweepFacts


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """Selects sessions by create_time, newest first; of the same time, the last created first. `cursor` is opaque: that of the
    previous page."""

    app: str | None = None
    user_id: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    limit: int = 100
    cursor: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class SessionPage:
    sessions: Sequence[Session]
    cursor: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Expired:
    """Selects expired sessions: those of an app and a user (None: any) whose expire_time is at or before `before`."""

    app: str | None = None
    user_id: str | None = None
    before: int | None = None

    def until(self, now: int) -> int:
        """Returns the latest expire_time that is selected."""
        return now if self.before is None else min(self.before, now)


EXPIRED = Expired()
"""All expired sessions."""


class SessionStore(Protocol):
    """Creates, reads, updates and deletes sessions."""

    async def create_session(self, tenant: str, new: NewSession, *, return_existing: bool) -> tuple[Session, bool]:
        """Creates the session; the flag is true if this call created it. Of concurrent creators of one ref exactly one wins.

        Raises SessionAlreadyExists unless return_existing, which returns the stored session unchanged.
        """
        ...

    async def get_session(self, tenant: str, ref: SessionRef) -> Session:
        """Returns the session, expired or not. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def list_sessions(self, tenant: str, query: SessionQuery) -> SessionPage:
        """Returns the sessions that match app, user and every label, in the order of SessionQuery."""
        ...

    async def update_session(self, tenant: str, ref: SessionRef, change: SessionChange) -> Session:
        """Returns the session after the update: see domain.session_updates. Never changes events, versions or create_time.
        Raises SessionNotFound, AmbiguousSession, VersionMismatch, InvalidField."""
        ...

    async def delete_session(self, tenant: str, ref: SessionRef) -> int | None:
        """Deletes the session and its log. Returns the number of events, None if there is no session. Raises
        AmbiguousSession."""
        ...

    async def sweep_facts(self, now: int) -> SweepFacts:
        """Returns what is known before expired sessions are deleted. Cheap if few have expired."""
        ...

    async def expired_sessions(
        self, tenant: str | None, now: int, limit: int, skip: int = 0, which: Expired = EXPIRED
    ) -> Sequence[tuple[str, Session]]:
        """Returns up to `limit` of these sessions whose expire_time <= now (tenant None: of all), each with its tenant: the
        first to expire first, without the first `skip`."""
        ...

    async def delete_expired(self, tenant: str | None, now: int, limit: int, which: Expired = EXPIRED) -> int:
        """Deletes up to `limit` of these sessions whose expire_time <= now (tenant None: of all) and returns their number. A
        session that is extended at the same time survives; several servers may sweep at once."""
        ...

    async def delete_seen(self, tenant: str, seen: Session, now: int) -> bool:
        """Deletes an expired session like delete_expired, unless it was extended or appended to since it was read. Returns
        whether it was deleted."""
        ...
