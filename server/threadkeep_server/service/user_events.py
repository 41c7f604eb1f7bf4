"""Events of a user, over all sessions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..domain.errors import InvalidField
from ..domain.filters import EventFilter
from ..domain.model import Caller, SessionRef, StoredEvent
from ..domain.validation import Limits
from ..store.contract.events import Cursor, EventQuery, EventStore
from ..store.contract.sessions import SessionOrder, SessionQuery, SessionStore
from .access import own_app, own_user

# Of one page.
_MOST_SESSIONS = 100
_SECONDS = 2.0

Place = tuple[int, int]


class UserCursor(NamedTuple):
    """Where a list continues: after the session at `before` (None: at the first one); in the session at `inside`, if it still
    exists, after the place `events`."""

    before: Place | None = None
    inside: Place | None = None
    events: Cursor | None = None


@dataclass(frozen=True, slots=True)
class UserEventQuery:
    user_id: str
    app: str | None = None
    filter: EventFilter = field(default_factory=EventFilter)
    limit: int = 100
    cursor: UserCursor | None = None


@dataclass(slots=True)
class UserEventPage:
    """Events with their sessions."""

    events: list[tuple[SessionRef, StoredEvent]] = field(default_factory=list)
    cursor: UserCursor | None = None


class Store(EventStore, SessionStore, Protocol):
    """What this use case reads."""


class UserEventService:
    """Reads the logs of a user's sessions one after the other, each by its index."""

    def __init__(self, store: Store, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock

    async def list(self, caller: Caller, query: UserEventQuery) -> UserEventPage:
        """Raises InvalidField, PermissionDenied."""
        app, user_id = own_app(caller, query.app, "app"), own_user(caller, query.user_id, "user_id")
        if not user_id:
            raise InvalidField("user_id", "is required")
        if query.filter.has_window:
            raise InvalidField("filter", "must not have a window; use page_size and page_token")
        at = query.cursor or UserCursor()
        wanted = SessionQuery(app, user_id, limit=_MOST_SESSIONS, cursor=at.before, order=SessionOrder.CREATED_FIRST)
        found = await self._store.list_sessions(caller.tenant, wanted)
        reader = _Reader(self._store, caller.tenant, query, self._limits.max_response_bytes)
        end = self._clock() + _SECONDS
        before = at.before
        for session, place in zip(found.sessions, found.places, strict=True):
            if session.last_seq:
                stopped = await reader.read(session.ref, at.events if place == at.inside else None)
                if stopped is not None:
                    return UserEventPage(reader.events, UserCursor(before, place, stopped))
            before = place
            if (reader.full or self._clock() >= end) and place != found.places[-1]:
                return UserEventPage(reader.events, UserCursor(before))
        return UserEventPage(reader.events, None if found.cursor is None else UserCursor(found.cursor))


class _Reader:
    """Collects the events of a page."""

    def __init__(self, store: EventStore, tenant: str, query: UserEventQuery, room: int) -> None:
        self._store = store
        self._tenant = tenant
        self._query = query
        self._room = room
        self.events: list[tuple[SessionRef, StoredEvent]] = []

    @property
    def full(self) -> bool:
        return len(self.events) >= self._query.limit or self._room <= 0

    async def read(self, ref: SessionRef, cursor: Cursor | None) -> Cursor | None:
        """Adds the events of a session. Returns where the page ends within it; None if it has all."""
        left = self._query.limit - len(self.events)
        query = EventQuery(self._query.filter, limit=left, max_bytes=max(1, self._room), cursor=cursor)
        page = await self._store.list_events(self._tenant, ref, query)
        size = sum(len(event.body) for event in page.events)
        if self.events and size > self._room:
            return cursor or Cursor(0)
        self.events += [(ref, event) for event in page.events]
        self._room -= size
        return page.cursor
