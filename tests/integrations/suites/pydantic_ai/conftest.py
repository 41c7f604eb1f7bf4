"""Stores of conversations."""

from __future__ import annotations

import pytest

from threadkeep import AsyncClient
from threadkeep.integrations.pydantic_ai import ThreadkeepConversationStore


@pytest.fixture
def store(client: AsyncClient) -> ThreadkeepConversationStore:
    return ThreadkeepConversationStore(client)


@pytest.fixture
def other(client: AsyncClient) -> ThreadkeepConversationStore:
    """The store of another process, which has seen nothing yet."""
    return ThreadkeepConversationStore(client)
