"""Work that is felt by other calls only where there is much of it: then it is done beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

MOST_EVENTS = 1000
"""That are gone through at once by what looks at each of them."""


async def run_in_thread(size: int, most: int, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """What `work` returns; done in a thread where its `size` is more than the `most` that others may wait for. Both are in
    whatever the work's time goes with."""
    if size <= most:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
