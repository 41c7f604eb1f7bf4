"""What advisors of this kit read from a request's context, and the places that advisors take in a chain."""

from __future__ import annotations

HIGHEST_PRECEDENCE = -(2**31)
"""The outermost place: a lower order is further out."""
LOWEST_PRECEDENCE = 2**31 - 1
CHAT_MEMORY_ORDER = HIGHEST_PRECEDENCE + 200
"""Of a memory outside of the loop of tools."""
TOOL_CALLING_ORDER = HIGHEST_PRECEDENCE + 300
SESSION_MEMORY_ORDER = HIGHEST_PRECEDENCE + 1000
"""Inside of the loop of tools: every round is stored as it happens."""

SESSION = "threadkeep.session"
"""Required by a SessionMemoryAdvisor: the session's id, or a SessionRef."""
USER = "threadkeep.user_id"
"""Whose session it must be; by default the SDK client's."""
MEMORY = "threadkeep.memory"
"""A MemoryProvider or ContextSpec for this request, in place of the advisor's."""
RUN = "threadkeep.run"
"""A run's id: what an idempotent generator of event ids tells runs apart by."""
AUTO_TOOLS = "threadkeep.auto_tool_calling"
"""False: no ToolCallingAdvisor is added to this request."""
RESUME = "threadkeep.resume"
"""True: go on with the session's last turn, which was interrupted; there is no new message."""
