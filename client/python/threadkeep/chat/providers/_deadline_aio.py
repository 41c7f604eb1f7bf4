"""One deadline over everything that a call to a model waits for. `_deadline_threads` is the same for blocking calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx2


class AsyncDeadline:
    """Begins to count when it is made. What it bounds raises TimeoutError once `seconds` are over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def bound(self) -> asyncio.Timeout:
        """Around whatever is awaited, but never around a yield."""
        return asyncio.timeout(self.left)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def body(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """What the response brings, as it comes."""
        async with aclosing(response.aiter_bytes()) as chunks:
            while True:
                async with self.bound():
                    chunk = await anext(chunks, None)
                if chunk is None:
                    return
                yield chunk
