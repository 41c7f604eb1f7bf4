"""Group commit: waiting writes, of all sessions, are committed in one transaction.

While one group commits the next one gathers, so groups grow with the load and an idle server adds no delay.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ....domain.errors import RateLimited, StoreUnavailable
from .group_unit import Outcome, Request

Commit = Callable[[Sequence[Request]], Awaitable[Sequence[Outcome]]]
_Waiting = tuple[Request, asyncio.Future[Any]]

_GROUP_REQUESTS = 512
_GROUP_BYTES = 8 << 20
_LATELY_S = 0.25


class Writer:
    """The only committer of a store. `commit` runs a group in a transaction; `problem` explains why a database failed."""

    def __init__(self, commit: Commit, problem: Callable[[BaseException], str | None], *, max_pending_bytes: int) -> None:
        self._commit = commit
        self._problem = problem
        self._max_pending_bytes = max_pending_bytes
        self._waiting: deque[_Waiting] = deque()
        self._pending_bytes = 0
        self._wake = asyncio.Event()
        # Stored, because looking up the running loop costs a system call per append.
        self._loop = asyncio.get_running_loop()
        self._closing = False
        self._last_commit = 0.0
        self.failure: tuple[str, float] | None = None
        """Why the database failed at the last group, and when, by time.monotonic(); None if it did not."""

    def write(self, request: Request) -> asyncio.Future[Any]:
        """Accepts the request; the future has its outcome. Raises RateLimited at once; all other errors are set on the
        future."""
        size = request.size
        # A single request may exceed the limit, or it could never be served.
        if self._pending_bytes and self._pending_bytes + size > self._max_pending_bytes:
            raise RateLimited("pending_appends")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._pending_bytes += size
        self._waiting.append((request, future))
        self._wake.set()
        return future

    def busy(self) -> bool:
        """Whether writes came in within the last 0.25 s."""
        return bool(self._waiting) or time.monotonic() - self._last_commit < _LATELY_S

    async def run(self) -> None:
        """Commits group after group until closed and empty."""
        while True:
            while self._waiting:
                group, size = self._next_group()
                await self._commit_group(group)
                self._pending_bytes -= size
            if self._closing:
                return
            self._wake.clear()
            await self._wake.wait()

    def close(self) -> None:
        """Lets `run` end once everything accepted is committed."""
        self._closing = True
        self._wake.set()

    def _next_group(self) -> tuple[list[_Waiting], int]:
        """Returns the next requests to commit, and the bytes of all requests removed from the queue."""
        group: list[_Waiting] = []
        size = 0
        while self._waiting and len(group) < _GROUP_REQUESTS and size < _GROUP_BYTES:
            request, future = self._waiting.popleft()
            size += request.size
            if not future.cancelled():  # its caller canceled before the commit
                group.append((request, future))
        return group, size

    async def _commit_group(self, group: Sequence[_Waiting]) -> None:
        if not group:
            return
        try:
            outcomes = await self._commit([request for request, _ in group])
        except Exception as exc:  # any error must reach the callers, and the next group must be served
            await self._failed(group, exc)
            return
        self._last_commit = time.monotonic()
        self.failure = None
        for (_, future), outcome in zip(group, outcomes, strict=True):
            _settle(future, outcome)

    async def _failed(self, group: Sequence[_Waiting], exc: Exception) -> None:
        """Fails all requests if the database failed; otherwise commits each alone."""
        problem = self._problem(exc)
        if problem is not None:
            self.failure = problem, time.monotonic()
            for _, future in group:
                _settle(future, StoreUnavailable(problem))
        elif len(group) == 1:
            _settle(group[0][1], exc)
        else:
            for member in group:
                await self._commit_group([member])


def _settle(future: asyncio.Future[Any], outcome: Outcome | Exception) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
