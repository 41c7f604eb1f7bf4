"""Snapshots of agent sessions."""

from __future__ import annotations

from agent_framework import AgentSession, SessionStore

from ... import AsyncClient, AsyncSessionHandle, CreateOptions
from ...errors import SessionNotFound
from ...formats.openai import json_text

KEY = "agent_framework.session"
"""The key of the session's state that has the snapshot."""


class ThreadkeepSessionStore(SessionStore):
    """Snapshots of `AgentSession`: each is a value of the state of the session with its id, next to that session's history.

    client: says the app and the user of sessions. create: how a session is created if it has no history yet, for example
    {"ttl": timedelta(days=30)}; by default it expires as the server says.

    A snapshot has at most 1 MiB of JSON. The last writer wins, as the framework specifies. Types of the state that are not JSON
    need the framework's `register_state_type`. Errors of calls are `ThreadkeepError`.
    """

    def __init__(self, client: AsyncClient, *, create: CreateOptions | None = None) -> None:
        super().__init__()
        self._client = client
        self._create: CreateOptions = create or {}

    async def get(self, session_id: str) -> AgentSession | None:
        """Return a copy of the snapshot, or None. Raises ValueError for an empty id, AmbiguousSession."""
        try:
            state = await self._handle(session_id).state().get([KEY])
        except SessionNotFound:
            return None
        return AgentSession.from_dict(state[KEY]) if KEY in state else None

    async def set(self, session_id: str, session: AgentSession) -> None:
        """Store a snapshot in place of an earlier one. Raises ValueError for an empty id, TypeError for a subclass of
        AgentSession or a state that is not JSON, InvalidField."""
        handle = self._handle(session_id)
        if type(session) is not AgentSession:
            raise TypeError(f"the store keeps AgentSession itself, not {type(session).__name__}: it could not restore it")
        snapshot = {KEY: json_text(session.to_dict())}
        try:
            await handle.state().patch(set_json=snapshot)
        except SessionNotFound:
            await handle.create(return_existing=True, **self._create)
            await handle.state().patch(set_json=snapshot)

    async def delete(self, session_id: str) -> None:
        """Delete the session: its snapshot and its history. Does nothing if there is none. Raises ValueError for an empty id,
        PermissionDenied (it needs the role admin)."""
        await self._handle(session_id).delete()

    def _handle(self, session_id: str) -> AsyncSessionHandle:
        self.validate_session_id(session_id)
        return self._client.session(session_id)
