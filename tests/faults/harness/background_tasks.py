"""Tasks that run until the context ends. None may end earlier."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any


class BackgroundTasks:
    def __init__(self, tasks: list[asyncio.Task[None]]) -> None:
        self._tasks = tasks

    async def until(self, done: Callable[[], bool], seconds: float = 90) -> None:
        """Waits for the condition; fails if a task ends."""
        async with asyncio.timeout(seconds):
            while not done():
                self.check()
                await asyncio.sleep(0.005)

    def check(self) -> None:
        for task in self._tasks:
            assert not task.done(), task.exception()


@contextlib.asynccontextmanager
async def background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[BackgroundTasks]:
    """Runs the coroutines as tasks and cancels them at the end."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield BackgroundTasks(tasks)
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, BaseException) and not isinstance(ended, asyncio.CancelledError):
                raise ended
