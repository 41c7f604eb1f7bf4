"""Fixtures: the services, and an app of each test's own."""

from __future__ import annotations

import uuid

import pytest

from threadkeep import AsyncClient
from threadkeep.integrations.adk import ThreadkeepMemoryService, ThreadkeepSessionService


@pytest.fixture
def app() -> str:
    """The app of one test. ADK wants an identifier."""
    return f"test_{uuid.uuid4().hex}"


@pytest.fixture
def service(client: AsyncClient) -> ThreadkeepSessionService:
    """The service that is tested."""
    return ThreadkeepSessionService(client)


@pytest.fixture
def memory(client: AsyncClient) -> ThreadkeepMemoryService:
    """The memory service that is tested."""
    return ThreadkeepMemoryService(client)
