"""Reads sessions from the server as ADK's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from google.adk.sessions import Session
from google.adk.sessions.base_session_service import GetSessionConfig

from ..._async.client import AsyncClient
from ...errors import PermissionDenied
from ...filters import Filter, event_filter
from ...formats.adk import nanoseconds_of, seconds_of
from ...v1.event_pb2 import SessionEvent
from ...v1.session_pb2 import Session as StoredSession
from ...v1.session_pb2 import SessionRef
from ...values.loaded import LoadedSession
from ...values.state import State, state_of
from ._events import events_of, time_of
from ._revision import Revision
from ._state import merged

_EVENTS_AT_ONCE = 1_000
_SESSIONS_AT_ONCE = 200
_CALLS_AT_ONCE = 16

A = TypeVar("A")
B = TypeVar("B")


async def load(client: AsyncClient, ref: SessionRef, config: GetSessionConfig) -> Session:
    """A session with the events that the configuration selects, as of one moment. Raises SessionNotFound."""
    wanted, size = _filter_of(config), 0 if config.num_recent_events else _EVENTS_AT_ONCE
    if config.num_recent_events == 0:
        loaded = await client.load_session(ref, exclude_events=True, with_newest_event=True)
    else:
        loaded = await client.load_session(ref, wanted, page_size=size, with_newest_event=True)
    newest = loaded.newest_event.pb if loaded.newest_event else None
    states = (
        await _whole(loaded.state, client.session(ref).state().get),
        await _whole(loaded.user_state, client.user_state(ref.user_id, app=ref.app).get),
        await _whole(loaded.app_state, client.app_state(ref.app).get),
    )
    session = await _session(client, loaded.session, newest, merged(*states))
    session.events = events_of(await _events(client, loaded, wanted, size))
    return session


async def load_all(client: AsyncClient, app: str, user_id: str | None) -> list[Session]:
    """All sessions of an app, or of a user there, without events: the least recently updated first."""
    listed = await _listed(client, app, user_id)
    users = sorted({stored.ref.user_id for stored, _, _ in listed})

    async def user_state(user: str) -> Mapping[str, Any]:
        return await client.user_state(user, app=app).get()

    of_users = dict(zip(users, await _each(user_state, users), strict=True))
    of_app = await _app_state(client, app) if listed else {}

    async def session(each: tuple[StoredSession, SessionEvent | None, State]) -> Session:
        stored, newest, state = each
        own = await _whole(state, client.session(stored).state().get)
        return await _session(client, stored, newest, merged(own, of_users[stored.ref.user_id], of_app))

    found = await _each(session, listed)
    return sorted(found, key=lambda each: (each.last_update_time, each.user_id, each.id))


async def _listed(client: AsyncClient, app: str, user_id: str | None) -> list[tuple[StoredSession, SessionEvent | None, State]]:
    """The sessions with their newest events and states. The order is that of creation, in which none moves meanwhile."""
    found: list[tuple[StoredSession, SessionEvent | None, State]] = []
    token = ""
    while True:
        page = await client.sessions_page(
            app=app,
            user_id=user_id,
            any_user=user_id is None,
            order="created_first",
            page_size=_SESSIONS_AT_ONCE,
            page_token=token,
            with_newest_event=True,
            with_state=True,
        )
        newest = (each if each.event_id else None for each in page.newest_events)
        found += zip(page.sessions, newest, map(state_of, page.states), strict=True)
        token = page.next_page_token
        if not token:
            return found


async def _events(client: AsyncClient, loaded: LoadedSession, wanted: Filter, size: int) -> list[SessionEvent]:
    """The events of the first page and of those after it, without what was appended since the first."""
    page = loaded.page.pb
    found = list(page.events)
    while page.next_page_token:
        following = await client.events_page(loaded.session, wanted, page_size=size, page_token=page.next_page_token)
        page = following.pb
        found += page.events
    return [each for each in found if each.seq <= loaded.session.last_seq]


async def _session(client: AsyncClient, stored: StoredSession, newest: SessionEvent | None, state: dict[str, Any]) -> Session:
    """The session without events. Its time is that of its newest event, or of its creation."""
    if newest is None and stored.last_seq:  # it did not fit into the response
        newest = (await client.events_page(stored, order="desc", page_size=1)).pb.events[0]
    session = Session(
        app_name=stored.ref.app,
        user_id=stored.ref.user_id,
        id=stored.ref.session_id,
        state=state,
        last_update_time=seconds_of(stored.create_time) if newest is None else time_of(newest),
    )
    Revision(stored.log_version, stored.last_seq).mark(session)
    return session


def _filter_of(config: GetSessionConfig) -> Filter:
    """What the configuration selects: of the window, the events since a time, and of these the newest."""
    after = config.after_timestamp
    return event_filter(
        view="active",
        from_time=nanoseconds_of(after) if after else None,
        exact_last_n=config.num_recent_events or None,
    )


async def _whole(state: State, get: Callable[[], Awaitable[State]]) -> State:
    """The state, which is read again if it did not fit into the response."""
    return state if state.complete else await get()


async def _app_state(client: AsyncClient, app: str) -> Mapping[str, Any]:
    """The state of an app; nothing for a credential that is bound to a user, which may not read it."""
    try:
        return await client.app_state(app).get()
    except PermissionDenied:
        return {}


async def _each(call: Callable[[A], Awaitable[B]], items: Iterable[A]) -> list[B]:
    """The results of calls, in order; a few at a time."""
    slots = asyncio.Semaphore(_CALLS_AT_ONCE)

    async def one(item: A) -> B:
        async with slots:
            return await call(item)

    return await asyncio.gather(*(one(each) for each in items))
