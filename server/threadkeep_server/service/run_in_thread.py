"""Runs large work in a thread, so that it does not delay other calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

MOST_EVENTS = 1000
"""The most events that work on each of them processes on the event loop."""


async def run_in_thread(size: int, most: int, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Returns the result of `work`; runs it in a thread if `size` exceeds `most`. Both are in the unit that the duration of the
    work depends on."""
    if size <= most:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)
