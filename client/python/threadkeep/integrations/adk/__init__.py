"""Sessions and memory of Google's Agent Development Kit, kept by a server of Threadkeep.

runner = Runner(agent=agent, app_name="shop", session_service=ThreadkeepSessionService(client))
"""

from __future__ import annotations

from .._versions import require

require("google-adk", ">=2.12,<3", extra="adk")

from .memory import ThreadkeepMemoryService  # noqa: E402 - a clear message about the version comes first
from .sessions import ThreadkeepSessionService  # noqa: E402

__all__ = ["ThreadkeepMemoryService", "ThreadkeepSessionService"]
