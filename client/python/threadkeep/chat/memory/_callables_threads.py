"""Triggers and strategies of one's own. `_callables_aio` is the asynchronous counterpart."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...v1.compaction_pb2 import CompactionPlan, CompactionStrategy, CompactionTrigger
from ...v1.session_pb2 import WindowCounters
from ...values.context import Context

Planned = CompactionPlan | str | None
"""A plan (see `compaction.plan`), a summary that replaces all events of the context, or None: nothing to compact."""
Trigger = CompactionTrigger | Callable[[WindowCounters], bool]
"""Called with the counters of the window after a reply."""
Strategy = CompactionStrategy | Callable[[Context], Planned]
"""Called with the session's context."""


def check_callable(function: object, argument: str) -> None:
    """Raises TypeError for a coroutine function."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        raise TypeError(f"{argument} is a coroutine function, which cannot be awaited here; use AsyncSessionMemoryAdvisor")


def called(function: Callable[[Any], Any], value: object) -> Any:
    """Returns the result of the function. Raises its errors, and TypeError for an awaitable."""
    found = function(value)
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise TypeError("the function returned an awaitable, which cannot be awaited here; use AsyncSessionMemoryAdvisor")
    return found
