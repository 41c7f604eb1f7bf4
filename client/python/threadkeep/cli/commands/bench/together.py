"""Many small calls, some at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")

_AT_A_TIME = 16


async def each(items: Iterable[Item], do: Callable[[Item], Awaitable[None]]) -> None:
    """Does it for each item, 16 at a time. Ends with the first error and raises it."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await do(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_A_TIME):
                group.create_task(worker())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
