"""Repositories, and sessions with an agent."""

from __future__ import annotations

import pytest
from strands.types.session import Session, SessionAgent, SessionType

from threadkeep import Client
from threadkeep.integrations.strands import ThreadkeepSessionRepository


@pytest.fixture
def repository(sync_client: Client) -> ThreadkeepSessionRepository:
    return ThreadkeepSessionRepository(sync_client)


@pytest.fixture
def session(repository: ThreadkeepSessionRepository) -> str:
    """A session with the agent "a"."""
    repository.create_session(Session("s", SessionType.AGENT))
    repository.create_agent("s", SessionAgent("a", {"likes": "tea"}, {"removed_message_count": 0}))
    return "s"
