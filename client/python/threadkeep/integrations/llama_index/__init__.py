"""Chat store and memory blocks of LlamaIndex over a server of Threadkeep: `pip install "threadkeep[llama-index]"`."""

from __future__ import annotations

from .._versions import require

require("llama-index-core", ">=0.14.24,<0.15", extra="llama-index")

from .blocks import ThreadkeepMemoryBlock, ThreadkeepRecallBlock  # noqa: E402
from .chat_store import ThreadkeepChatStore  # noqa: E402

__all__ = ["ThreadkeepChatStore", "ThreadkeepMemoryBlock", "ThreadkeepRecallBlock"]
