"""One deadline for all waits of a model call. `_deadline_threads` is the synchronous counterpart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx2


class AsyncDeadline:
    """Starts when it is created. Bounded waits raise TimeoutError after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def bound(self) -> asyncio.Timeout:
        """Returns a context manager for awaits; do not yield inside of it."""
        return asyncio.timeout(self.left)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def body(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """Yields the body of a response in chunks."""
        async with aclosing(response.aiter_bytes()) as chunks:
            while True:
                async with self.bound():
                    chunk = await anext(chunks, None)
                if chunk is None:
                    return
                yield chunk
