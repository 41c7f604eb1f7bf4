"""The session repository."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Any

from strands.session import SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from ... import Client, State, StateVersion, errors, event_filter
from ...formats.fields import FieldError
from ...formats.split import emptied
from ...formats.strands import events_of, session_message_of
from ...v1.event_pb2 import SessionEvent
from .messages import Stored, numbered

if TYPE_CHECKING:
    from strands.multiagent.base import MultiAgentBase

_SESSION, _AGENT, _MULTI_AGENT = "strands.session", "strands.agent/", "strands.multi_agent/"
"""Keys of the session's state; an id follows the last two."""
_ATTEMPTS = 10


class ThreadkeepSessionRepository(SessionRepository):
    """Sessions, agents and messages of Strands in sessions of the client's user.

    Agents and multi-agents are values of a session's state, each at most 1 MiB of JSON. A message is an event, whose id is made
    of the agent's id and the message's number: a repeated write stores nothing twice, and a second writer of an agent gets a
    SessionException. The first agent of a session writes on the root, where agents of other frameworks write too; each further
    one has a branch of its own.

    erase_redacted: whether an update of a message erases what it replaces, which needs the role admin. By default that stays in
    the history of the session, outside the window, and a redacted message keeps its original, as Strands' own repositories do.
    """

    def __init__(self, client: Client, *, erase_redacted: bool = False) -> None:
        self._client = client
        self._erase = erase_redacted
        self._branches: dict[tuple[str, str], str] = {}

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Create a session. Raises SessionException if it exists."""
        try:
            self._client.create_session(session.session_id, state={_SESSION: session.to_dict()})
        except errors.SessionAlreadyExists:
            raise SessionException(f"Session {session.session_id} already exists") from None
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """The session; None if there is none. One that another framework created is a session too."""
        try:
            state = self._state(session_id, [_SESSION])
            if _SESSION in state:
                return Session.from_dict(state[_SESSION])
            found = self._client.get_session(session_id)
        except errors.SessionNotFound:
            return None
        created, updated = (each.ToDatetime(UTC).isoformat() for each in (found.create_time, found.update_time))
        return Session(session_id, SessionType.AGENT, created, updated)

    def delete_session(self, session_id: str, **kwargs: Any) -> None:
        """Delete a session with its agents and messages. Raises SessionException if there is none."""
        self._branches = {key: branch for key, branch in self._branches.items() if key[0] != session_id}
        if not self._client.delete_session(session_id).deleted:
            raise SessionException(f"Session {session_id} does not exist")

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Add an agent to a session, on a branch of its own unless it is the first one."""
        agent_id = session_agent.agent_id
        for _ in range(_ATTEMPTS):
            agents = self._agents(session_id)
            known = agents.get(_AGENT + agent_id)
            branch = known["branch"] if known is not None else _branch_of(agent_id) if agents else ""
            document = {"branch": branch, "agent": session_agent.to_dict()}
            try:
                handle = self._client.session(session_id).state()
                handle.patch({_AGENT + agent_id: document}, expect=StateVersion(agents.version))
            except errors.VersionMismatch:  # another agent, which may have taken the root
                continue
            self._branches[session_id, agent_id] = branch
            return
        raise SessionException(f"Agent {agent_id} was not added to session {session_id}: its state changes all the time")

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """The agent; None if there is none."""
        document = self._value(session_id, _AGENT + agent_id)
        return None if document is None else SessionAgent.from_dict(document["agent"])

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Replace an agent, which keeps the time of its creation. Raises SessionException if there is none."""
        key = _AGENT + session_agent.agent_id
        document = self._value(session_id, key)
        if document is None:
            raise SessionException(f"Agent {session_agent.agent_id} in session {session_id} does not exist")
        session_agent.created_at = document["agent"]["created_at"]
        self._client.session(session_id).state().patch({key: document | {"agent": session_agent.to_dict()}})

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Append a message. Raises SessionException if another writer took its number, or without a session."""
        event_id = f"{agent_id}/{session_message.message_id}"
        try:
            self._client.append(session_id, self._events(session_id, agent_id, event_id, session_message))
        except errors.EventIdConflict:
            raise SessionException(
                f"Message {session_message.message_id} of agent {agent_id} in session {session_id} has another writer"
            ) from None

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: Any) -> SessionMessage | None:
        """The message; None if there is none."""
        found = self._find(session_id, agent_id, message_id)
        return None if found is None else found.message

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Replace a message in its place; it keeps the time of its creation. Raises SessionException if there is none."""
        found = self._find(session_id, agent_id, session_message.message_id)
        if found is None:
            raise SessionException(f"Message {session_message.message_id} does not exist")
        session_message.created_at = found.message.created_at
        written = session_message
        if self._erase and session_message.redact_message is not None:
            written = SessionMessage.from_dict(session_message.to_dict() | {"message": session_message.redact_message})
        before = self._events(session_id, agent_id, found.event_id, found.message)
        events = self._events(session_id, agent_id, found.event_id, written)
        events[-1].ClearField("usage")  # counted already
        events += [emptied(each) for each in before if each.event_id not in {event.event_id for event in events}]
        self._client.append(session_id, events, if_exists="replace", erase_replaced=self._erase)

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """The messages of an agent, oldest first, without the first `offset`. Raises SessionException without a session."""
        found = [stored.message for stored in self._messages(session_id, agent_id) if stored.message.message_id >= offset]
        return found if limit is None else found[:limit]

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Add the state of a multi-agent. Raises SessionException without a session."""
        try:
            self._client.session(session_id).state().patch({_MULTI_AGENT + multi_agent.id: multi_agent.serialize_state()})
        except errors.SessionNotFound:
            raise SessionException(f"Session {session_id} does not exist") from None

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> dict[str, Any] | None:
        """The state of a multi-agent; None if there is none."""
        return self._value(session_id, _MULTI_AGENT + multi_agent_id)

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Replace the state of a multi-agent. Raises SessionException if there is none."""
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent state {multi_agent.id} in session {session_id} does not exist")
        self.create_multi_agent(session_id, multi_agent)

    def has_foreign_conversation(self, session_id: str) -> bool:
        """Whether a session has events and no agent of Strands."""
        return not self._agents(session_id) and bool(self._client.events_page(session_id, page_size=1).events)

    def _state(self, session_id: str, keys: Sequence[str]) -> State:
        return self._client.session(session_id).state().get(keys)

    def _value(self, session_id: str, key: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] | None = self._state(session_id, [key]).get(key)
        except errors.SessionNotFound:
            return None
        return found

    def _agents(self, session_id: str) -> State:
        try:
            return self._client.session(session_id).state().get(key_prefix=_AGENT)
        except errors.SessionNotFound:
            raise SessionException(f"Session {session_id} does not exist") from None

    def _branch(self, session_id: str, agent_id: str) -> str:
        """The branch of an agent; the root for the first one."""
        agents = self._agents(session_id)
        known = agents.get(_AGENT + agent_id)
        if known is None:
            return _branch_of(agent_id) if agents else ""
        self._branches[session_id, agent_id] = branch = str(known["branch"])
        return branch

    def _events(self, session_id: str, agent_id: str, event_id: str, message: SessionMessage) -> list[SessionEvent]:
        known = self._branches.get((session_id, agent_id))
        branch = self._branch(session_id, agent_id) if known is None else known
        try:
            return events_of(message.to_dict(), event_id, author=agent_id, branch=branch)
        except FieldError as error:
            raise SessionException(f"Message {message.message_id} of agent {agent_id}: {error}") from None

    def _messages(self, session_id: str, agent_id: str) -> list[Stored]:
        branch = self._branch(session_id, agent_id)
        own = event_filter(view="active", branch=branch, branch_match="exact")
        return numbered(self._client.events(session_id, own, page_size=1000))

    def _find(self, session_id: str, agent_id: str, message_id: int) -> Stored | None:
        """A message by the id of its event, else by its place among those of others."""
        try:
            event = self._client.get_event(session_id, f"{agent_id}/{message_id}")
        except errors.SessionNotFound:
            return None
        except errors.EventNotFound:
            return next((each for each in self._messages(session_id, agent_id) if each.message.message_id == message_id), None)
        own = session_message_of(event.pb)
        return None if own is None else Stored(event.id, SessionMessage.from_dict(own))


def _branch_of(agent_id: str) -> str:
    """The branch of an agent: one segment for every id."""
    return agent_id.replace("%", "%25").replace(".", "%2E")
