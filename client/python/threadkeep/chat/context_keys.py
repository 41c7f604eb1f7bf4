"""Keys of a request's context that the kit's advisors read, and the orders of advisors in a chain."""

from __future__ import annotations

HIGHEST_PRECEDENCE = -(2**31)
"""Outermost; a lower order is further out."""
LOWEST_PRECEDENCE = 2**31 - 1
CHAT_MEMORY_ORDER = HIGHEST_PRECEDENCE + 200
"""A memory outside of the tool loop."""
TOOL_CALLING_ORDER = HIGHEST_PRECEDENCE + 300
SESSION_MEMORY_ORDER = HIGHEST_PRECEDENCE + 1000
"""Inside of the tool loop: every round is stored when it ends."""

SESSION = "threadkeep.session"
"""Session id or SessionRef. Required by SessionMemoryAdvisor."""
USER = "threadkeep.user_id"
"""User that owns the session. Default: the user of the SDK client."""
MEMORY = "threadkeep.memory"
"""MemoryProvider or ContextSpec of this request, in place of the advisor's."""
RUN = "threadkeep.run"
"""Run id: distinguishes runs in idempotent event ids."""
AUTO_TOOLS = "threadkeep.auto_tool_calling"
"""False adds no ToolCallingAdvisor to this request."""
RESUME = "threadkeep.resume"
"""True resumes the session's last turn, which was interrupted; there is no new message."""
