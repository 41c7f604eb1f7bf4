"""Stores of Microsoft's Agent Framework over a server of Threadkeep: `pip install "threadkeep[agent-framework]"`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._versions import require

require("agent-framework-core", ">=1.20,<2", extra="agent-framework")

from .checkpoints import ThreadkeepCheckpointStorage  # noqa: E402
from .history import ThreadkeepHistoryProvider  # noqa: E402

if TYPE_CHECKING:
    from .sessions import ThreadkeepSessionStore

__all__ = ["ThreadkeepCheckpointStorage", "ThreadkeepHistoryProvider", "ThreadkeepSessionStore"]


def __getattr__(name: str) -> Any:
    """Imports the session store on first use: the framework warns of its experimental base class."""
    if name == "ThreadkeepSessionStore":
        from .sessions import ThreadkeepSessionStore

        return ThreadkeepSessionStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
