"""Points in the history of a session, as callers name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..domain.errors import EventNotFound
from ..domain.filters import EventFilter
from ..domain.model import SessionRef
from ..store.contract.events import EventQuery, EventStore
from ..store.contract.history import AsOf
from ..store.contract.sessions import SessionStore


@dataclass(frozen=True, slots=True)
class Point:
    """The last thing that a fork or a rewind contains. At most one is set; none is the present."""

    at: AsOf | None = None
    event_id: str = ""
    invocation_id: str = ""


class PointStore(EventStore, SessionStore, Protocol):
    """The part of the store that finds points."""


async def moment_of(store: PointStore, tenant: str, ref: SessionRef, point: Point) -> AsOf | None:
    """Raises EventNotFound for an unknown event or invocation, SessionNotFound, AmbiguousSession."""
    if point.event_id:
        return AsOf(seq=(await store.get_event(tenant, ref, point.event_id)).seq, prefix="at_")
    if point.invocation_id:
        return AsOf(seq=await _end_of(store, tenant, ref, point.invocation_id), prefix="at_")
    return point.at


async def _end_of(store: PointStore, tenant: str, ref: SessionRef, invocation_id: str) -> int:
    """Returns the seq of the last event of an invocation, in window order."""
    wanted = EventFilter(invocation_ids=frozenset([invocation_id]))
    query = EventQuery(wanted, descending=True, limit=1)
    while True:
        page = await store.list_events(tenant, ref, query)
        if page.events:
            return page.events[0].seq
        if page.cursor is None:
            await store.get_session(tenant, ref)  # a list of an unknown session is empty
            raise EventNotFound(ref, invocation_id)
        query = EventQuery(wanted, descending=True, limit=1, cursor=page.cursor)
