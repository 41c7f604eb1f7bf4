"""Sessions: part of the Store contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from ...domain.model import NewSession, Session, SessionChange, SessionRef, StoredEvent
from ...domain.removals import Operation
from ...domain.state.state import StatePage
from ...domain.sweeping import SweepFacts


class SessionOrder(Enum):
    """The order of a list. Sessions of the same time are in the order of their creation, in the same direction."""

    CREATED_LAST = "created last"
    CREATED_FIRST = "created first"
    UPDATED_LAST = "updated last"
    UPDATED_FIRST = "updated first"

    @property
    def by_update(self) -> bool:
        return self in (SessionOrder.UPDATED_LAST, SessionOrder.UPDATED_FIRST)

    @property
    def ascending(self) -> bool:
        return self in (SessionOrder.CREATED_FIRST, SessionOrder.UPDATED_FIRST)


MOST_COUNTED = 10_000
"""More sessions are not counted."""


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """Selects sessions in an order. `cursor` is opaque: that of the previous page; `offset`: the number of sessions to skip
    after it. `updated_after` and `updated_before` are exclusive. `forked_from`: the id of their parent. `count`: with the
    number of all that match; `newest`: with the newest event of each, of at most `max_bytes` together; `states`: with the state
    of each, of at most half of `max_bytes`."""

    app: str | None = None
    user_id: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    limit: int = 100
    cursor: tuple[int, int] | None = None
    order: SessionOrder = SessionOrder.CREATED_LAST
    updated_after: int | None = None
    updated_before: int | None = None
    prefix: str = ""
    forked_from: str = ""
    offset: int = 0
    count: bool = False
    newest: bool = False
    states: bool = False
    max_bytes: int = 1 << 62


@dataclass(frozen=True, slots=True)
class SessionPage:
    """`total`: of all that match, at most MOST_COUNTED + 1; None unless wanted. `newest`: the last event in window order of
    each session, None if it has no event or the event does not fit; empty unless wanted. `states`: of each session, whole, or
    without values and with `more` if it does not fit; empty unless wanted. `places`: the cursor after each session."""

    sessions: Sequence[Session]
    cursor: tuple[int, int] | None = None
    total: int | None = None
    newest: Sequence[StoredEvent | None] = ()
    states: Sequence[StatePage] = ()
    places: Sequence[tuple[int, int]] = ()


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

    async def create_session(
        self, tenant: str, new: NewSession, *, return_existing: bool, unique: bool = False
    ) -> tuple[Session, bool]:
        """Creates the session; the flag is true if this call created it. Of concurrent creators of one ref exactly one wins.

        Raises SessionAlreadyExists unless return_existing, which returns the stored session unchanged; with `unique` also if
        another user of the app has the session_id.
        """
        ...

    async def get_session(self, tenant: str, ref: SessionRef) -> Session:
        """Returns the session, expired or not. Raises SessionNotFound, AmbiguousSession."""
        ...

    async def list_sessions(self, tenant: str, query: SessionQuery) -> SessionPage:
        """Returns the sessions that match every condition, in the order of the query. The cost of a page does not grow with the
        number of sessions, but with those that conditions on labels, prefix or time pass over, and by update with those updated
        in the same minute."""
        ...

    async def update_session(
        self, tenant: str, ref: SessionRef, change: SessionChange, operation: Operation | None = None
    ) -> Session:
        """Returns the session after the update: see domain.updates.session_updates. Never changes events, versions or
        create_time. A known operation changes nothing. Raises SessionNotFound, AmbiguousSession, OperationConflict,
        VersionMismatch, InvalidField."""
        ...

    async def delete_session(self, tenant: str, ref: SessionRef, uid: str = "") -> int | None:
        """Deletes the session and its log. Returns the number of events, None if there is no session. Raises
        AmbiguousSession, VersionMismatch if the session has not this `uid`; empty: any."""
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

    async def delete_unchanged(self, tenant: str, seen: Session, state_version: int, now: int) -> bool:
        """Deletes a session, expired or not, if nothing of it has changed since it was read: neither its log nor its window,
        metadata, labels, expiry or owner, nor its state, which then had this version. Returns whether it was deleted."""
        ...

    async def tenants(self) -> Sequence[str]:
        """Returns the tenants that have sessions, in order. Costs a scan of an index."""
        ...
