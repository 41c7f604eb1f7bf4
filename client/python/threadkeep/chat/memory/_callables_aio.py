"""Triggers and strategies of one's own. `_callables_threads` is the synchronous counterpart."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from ...v1.compaction_pb2 import CompactionPlan, CompactionStrategy, CompactionTrigger
from ...v1.session_pb2 import WindowCounters
from ...values.context import Context
from ..runtime.threads import in_new_thread

Planned = CompactionPlan | str | None
"""A plan (see `compaction.plan`), a summary that replaces all events of the context, or None: nothing to compact."""
Trigger = CompactionTrigger | Callable[[WindowCounters], bool | Awaitable[bool]]
"""Called with the counters of the window after a reply. A plain function runs in a thread."""
Strategy = CompactionStrategy | Callable[[Context], Planned | Awaitable[Planned]]
"""Called with the session's context. A plain function runs in a thread."""


def check_callable(function: object, argument: str) -> None:
    """Accepts functions of both kinds."""


async def called(function: Callable[[Any], Any], value: object) -> Any:
    """Returns the result of the function. Raises its errors."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await function(value)
    found = await asyncio.wrap_future(in_new_thread(lambda: function(value)))
    return await found if inspect.isawaitable(found) else found
