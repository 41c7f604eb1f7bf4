"""LangGraph: checkpoints and the long-term store of graphs, kept by a server of Threadkeep.

`pip install "threadkeep[langgraph]"`
"""

from __future__ import annotations

from .._versions import require

require("langgraph", ">=1.2,<2", extra="langgraph")
require("langgraph-checkpoint", ">=4.3,<5", extra="langgraph")

from .saver import ThreadkeepSaver  # noqa: E402
from .store import ThreadkeepStore  # noqa: E402

__all__ = ["ThreadkeepSaver", "ThreadkeepStore"]
