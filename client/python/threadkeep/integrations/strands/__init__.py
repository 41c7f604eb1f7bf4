"""Strands Agents: a session repository, a storage and a memory store over a server of Threadkeep."""

from __future__ import annotations

from .._versions import require

require("strands-agents", ">=1.60,<2", extra="strands")

# After the check of the version.
from .memory import ThreadkeepMemoryStore  # noqa: E402
from .repository import ThreadkeepSessionRepository  # noqa: E402
from .session_manager import ThreadkeepSessionManager  # noqa: E402
from .storage import ThreadkeepStorage  # noqa: E402

__all__ = ["ThreadkeepMemoryStore", "ThreadkeepSessionManager", "ThreadkeepSessionRepository", "ThreadkeepStorage"]
