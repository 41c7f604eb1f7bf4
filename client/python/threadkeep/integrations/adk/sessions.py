"""The session service."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from weakref import WeakValueDictionary

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.sessions import Session
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from typing_extensions import override

from ..._async.client import AsyncClient
from ...errors import EventIdConflict, SessionAlreadyExists, SessionNotFound, ThreadkeepError, VersionMismatch
from ...formats import adk
from ...v1.event_service_pb2 import AppendEventsResponse
from ...v1.session_pb2 import SessionRef
from ...values.expect import LogVersion
from ._events import item_of
from ._reading import load, load_all
from ._revision import Revision, expected, only_compacted
from ._state import ScopedState, patch, scoped

_ATTEMPTS = 5
"""Of an append whose session the server compacts meanwhile."""
_STALE = "The session has been modified in storage since it was loaded. Load it again before you append to it."


class ThreadkeepSessionService(BaseSessionService):
    """Keeps ADK's sessions in Threadkeep: `Runner(..., session_service=ThreadkeepSessionService(client))`.

    client: its address and token are used; the app and the user are those of ADK's calls, not the client's.
    ttl: how long a session is kept after its creation; by default the server's default, 60 days. never_expires: without limit.

    An append is a compare-and-swap: it raises StaleSessionError if anybody has written to the session since it was loaded, and
    not if the server has only compacted it. To append the same event again, after an error of the network or of the process,
    stores nothing twice. Every method may raise `threadkeep.ThreadkeepError`, such as Unavailable.
    """

    def __init__(self, client: AsyncClient, *, ttl: timedelta | None = None, never_expires: bool = False) -> None:
        self._client = client
        self._ttl = ttl
        self._never_expires = never_expires
        self._locks: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()

    @override
    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Creates a session; without an id, or with a blank one, the server generates it. Raises AlreadyExistsError.

        Values of the app and of the user are set after it is created; if that fails, it is deleted again.
        """
        first = scoped(state)
        try:
            created = await self._client.create_session(
                _ref(app_name, user_id, session_id or ""),
                ttl=self._ttl,
                never_expires=self._never_expires,
                state=first.session,
            )
        except SessionAlreadyExists:
            raise AlreadyExistsError(f"Session with id {session_id} already exists.") from None
        try:
            await self._share(created.ref, first)
        except ThreadkeepError:
            await self._client.delete_session(created.ref)
            raise
        return await load(self._client, created.ref, GetSessionConfig(num_recent_events=0))

    @override
    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Returns a session as of one moment; None if there is none.

        Its events are those of the active window: all of them, unless Threadkeep has compacted or removed some.
        """
        ref = _ref(app_name, user_id, session_id)
        if not ref.session_id:
            return None
        try:
            return await load(self._client, ref, config or GetSessionConfig())
        except SessionNotFound:
            return None

    @override
    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Returns all sessions of an app, or of a user there, with their state and without events: the least recently updated
        first. It reads page after page, and the state of each user."""
        if user_id == "":
            return ListSessionsResponse()
        return ListSessionsResponse(sessions=await load_all(self._client, app_name, user_id))

    @override
    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Deletes a session and its events. Does nothing if there is none."""
        ref = _ref(app_name, user_id, session_id)
        if ref.session_id:
            await self._client.delete_session(ref)

    @override
    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Returns the state of a user in an app, without prefixes; it may be empty."""
        return dict(await self._client.user_state(user_id, app=app_name).get())

    @override
    async def append_event(self, session: Session, event: Event) -> Event:
        """Appends an event, with its changes of state in all scopes; it is on durable storage when this returns.

        Raises StaleSessionError, SessionNotFoundError, and AlreadyExistsError if another event of the session has this id.
        """
        if event.partial:
            return event
        event.id = event.id or Event.new_id()
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        key = (session.app_name, session.user_id, session.id)
        # Appends of one session object wait for each other: each expects the revision that the one before it left.
        async with self._locks.setdefault(key, asyncio.Lock()):
            known = Revision.of(session)
            revision = await self._append(session, event, known)
            if revision is not None:
                if revision == known:
                    return event  # delivered again: the session has it
                revision.mark(session)
            await super().append_event(session=session, event=event)
            session.last_update_time = event.timestamp
        return event

    async def _append(self, session: Session, event: Event, known: Revision | None) -> Revision | None:
        """Stores the event; returns the revision of the session afterwards, None if it is not known."""
        ref = _ref(session.app_name, session.user_id, session.id)
        stored = adk.event_of(item_of(event))
        delta = scoped(event.actions.state_delta)
        expect = expected(session, known)
        for _ in range(_ATTEMPTS):
            try:
                appended = await self._client.append(
                    ref,
                    stored,
                    expect=expect,
                    state=patch(delta.session),
                    user_state=patch(delta.user),
                    app_state=patch(delta.app),
                )
            except SessionNotFound:
                raise SessionNotFoundError(f"Session {session.id} not found.") from None
            except EventIdConflict:
                raise AlreadyExistsError(f"Another event of session {session.id} has the id {event.id}.") from None
            except VersionMismatch as mismatch:
                known = await only_compacted(self._client, ref, known, mismatch)
                if known is None:
                    break
                expect = LogVersion(known.log_version)
            else:
                return _after(appended, known)
        raise StaleSessionError(_STALE)

    async def _share(self, ref: SessionRef, state: ScopedState) -> None:
        """Sets values of the user and of the app."""
        if state.user:
            await self._client.user_state(ref.user_id, app=ref.app).patch(state.user)
        if state.app:
            await self._client.app_state(ref.app).patch(state.app)


def _after(appended: AppendEventsResponse, known: Revision | None) -> Revision | None:
    """The revision after an append. Without a known one, that of a replay is not known either."""
    if known is not None:
        return known.after(appended)
    return None if appended.events[0].replayed else Revision(appended.log_version, appended.last_seq)


def _ref(app_name: str, user_id: str, session_id: str) -> SessionRef:
    return SessionRef(app=app_name, user_id=user_id, session_id=session_id.strip())
