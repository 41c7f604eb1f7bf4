"""The session manager of an agent."""

from __future__ import annotations

from typing import Any

from strands.session import RepositorySessionManager
from strands.types.agent import LocalAgent
from strands.types.session import SessionAgent

from ... import Client
from .repository import ThreadkeepSessionRepository


class ThreadkeepSessionManager(RepositorySessionManager):
    """Keeps an agent in a session: `Agent(session_manager=ThreadkeepSessionManager("trip", client))`.

    An agent that begins in a session with a conversation of another framework continues that conversation.
    """

    def __init__(self, session_id: str, client: Client, **kwargs: Any) -> None:
        repository = ThreadkeepSessionRepository(client)
        super().__init__(session_id, repository, **kwargs)
        self._repository = repository

    def initialize(self, agent: LocalAgent, **kwargs: Any) -> None:
        """Restores the agent from the session, or adds it to it."""
        if not self._is_new_session and not agent.messages and self._repository.has_foreign_conversation(self.session_id):
            self._repository.create_agent(self.session_id, SessionAgent.from_agent(agent))
        super().initialize(agent, **kwargs)
