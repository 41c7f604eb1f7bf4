"""pydantic-ai: a store of conversations over a server of Threadkeep."""

from __future__ import annotations

from .._versions import require

require("pydantic-ai-slim", ">=2.66,<3", extra="pydantic-ai")

from .store import ThreadkeepConversationStore  # noqa: E402 - after the check of the version

__all__ = ["ThreadkeepConversationStore"]
