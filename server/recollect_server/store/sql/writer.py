"""Group commit: appends that wait, of all sessions, go into one transaction.

While one group commits the next gathers, so groups grow with the load and an idle server waits for nobody. A transaction
costs as much as several appends in it, so under load a group also waits a moment for those who will append again.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from ...domain.errors import RateLimited, RecollectError, StoreUnavailable
from ..base import Appended, AppendRequest
from .append_unit import Outcome

Commit = Callable[[Sequence[AppendRequest]], Awaitable[list[Outcome]]]
_Waiting = tuple[AppendRequest, int, asyncio.Future[Appended]]

_GROUP_REQUESTS = 512
_GROUP_BYTES = 8 << 20
_LATELY_S = 0.25
# Under load, that is with this many appends lately, a group waits so long, unless so many bytes make it worth its while.
_LOAD = 8
_GATHER_S = 0.005
_GATHER_BYTES = 128 << 10


class Writer:
    """The one committer of a store. `commit` runs a group in a transaction; `problem` explains why a database failed."""

    def __init__(self, commit: Commit, problem: Callable[[BaseException], str | None], *, max_pending_bytes: int) -> None:
        self._commit = commit
        self._problem = problem
        self._max_pending_bytes = max_pending_bytes
        self._waiting: deque[_Waiting] = deque()
        self._pending_bytes = 0
        # `run` waits for this many, or for the event being set for another reason.
        self._wanted = 1
        self._wake = asyncio.Event()
        # Kept, for asking which loop runs costs a system call, and this is asked for each append.
        self._loop = asyncio.get_running_loop()
        self._closing = False
        self._last_commit = 0.0

    def append(self, request: AppendRequest) -> asyncio.Future[Appended]:
        """Takes the request in. Raises RateLimited at once; everything else comes with the future."""
        size = request.size
        # A single request may be larger than the whole allowance, or it could never be served.
        if self._pending_bytes and self._pending_bytes + size > self._max_pending_bytes:
            raise RateLimited("pending_appends")
        future: asyncio.Future[Appended] = self._loop.create_future()
        self._pending_bytes += size
        self._waiting.append((request, size, future))
        if len(self._waiting) >= self._wanted or self._pending_bytes >= _GATHER_BYTES:
            self._wake.set()
        return future

    def busy(self) -> bool:
        """Whether appends came in lately."""
        return bool(self._waiting) or time.monotonic() - self._last_commit < _LATELY_S

    async def run(self) -> None:
        """Commits group after group until closed and empty."""
        lately = 0
        while True:
            while self._waiting:
                await self._gather(lately)
                group, size = self._next_group()
                await self._commit_group(group)
                self._pending_bytes -= size
                lately = len(group) + len(self._waiting)
            if self._closing:
                return
            await self._until(1)

    def close(self) -> None:
        """Lets `run` end once everything accepted is committed."""
        self._closing = True
        self._wake.set()

    async def _gather(self, lately: int) -> None:
        """Waits a moment for as many as there were lately: callers that were just answered mostly append again. Where these
        are few, or it is a while ago, it waits for nobody: one would lose more than the company saves."""
        if lately < _LOAD or time.monotonic() - self._last_commit > _LATELY_S:
            return
        timer = self._loop.call_later(_GATHER_S, self._wake.set)
        await self._until(lately * 3 // 4)
        timer.cancel()

    async def _until(self, wanted: int) -> None:
        """Waits for so many appends, or for the event."""
        if len(self._waiting) >= wanted or self._pending_bytes >= _GATHER_BYTES or self._closing:
            return
        self._wanted = wanted
        self._wake.clear()
        await self._wake.wait()
        self._wanted = 1

    def _next_group(self) -> tuple[list[_Waiting], int]:
        """The requests to commit next, and the bytes of all that were taken out of the queue."""
        group: list[_Waiting] = []
        size = 0
        while self._waiting and len(group) < _GROUP_REQUESTS and size < _GROUP_BYTES:
            waiting = self._waiting.popleft()
            size += waiting[1]
            if not waiting[2].cancelled():  # its caller gave up before anything was done
                group.append(waiting)
        return group, size

    async def _commit_group(self, group: Sequence[_Waiting]) -> None:
        if not group:
            return
        try:
            outcomes = await self._commit([request for request, _, _ in group])
        except Exception as exc:  # whatever it is, the callers must hear of it and the next group must be served
            await self._failed(group, exc)
            return
        self._last_commit = time.monotonic()
        for (_, _, future), outcome in zip(group, outcomes, strict=True):
            _settle(future, outcome)

    async def _failed(self, group: Sequence[_Waiting], exc: Exception) -> None:
        """The transaction failed as a whole: for the database's sake all fail; else each is tried alone."""
        problem = self._problem(exc)
        if problem is not None:
            for _, _, future in group:
                _settle(future, StoreUnavailable(problem))
        elif len(group) == 1:
            _settle(group[0][2], exc)
        else:
            for member in group:
                await self._commit_group([member])


def _settle(future: asyncio.Future[Appended], outcome: Appended | RecollectError | Exception) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
