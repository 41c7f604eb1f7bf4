"""Work that is felt by other calls only where a window is large: then it is done beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

_MOST_EVENTS_AT_ONCE = 1000


async def aside(events: int, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """What `work` returns, which goes through so many events."""
    if events <= _MOST_EVENTS_AT_ONCE:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
