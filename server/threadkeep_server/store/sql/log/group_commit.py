"""Group commit: waiting writes, of all sessions, are committed in one transaction.

While one group commits the next one gathers, so groups grow with the load and an idle server adds no delay.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ....domain.errors import RateLimited, ServerDraining, StoreUnavailable
from ....telemetry.meters import StoreMeters
from ....telemetry.spans import recorded
from .commit_spans import commit_span
from .group_unit import Outcome, Request
from .outcome_counts import count_outcome
from .set_aside import Committer, SetAside, Waiting

Parts = Callable[[Sequence[Request]], Sequence[Sequence[int]] | None]

_GROUP_REQUESTS = 512
_GROUP_BYTES = 8 << 20
_LATELY_S = 0.25
LOCK_WAIT_MS = 500
"""The longest wait of a group for the locks of other transactions."""


class Writer:
    """The only committer of a store. Sessions that another transaction has locked for long are set aside, so that the writes
    of others continue. `parts`: splits a group, by places, into some that are committed one after the other;
    None: not."""

    def __init__(
        self, committer: Committer, *, max_pending_bytes: int, parts: Parts | None = None, meters: StoreMeters | None = None
    ) -> None:
        self._committer = committer
        self._meters = meters or StoreMeters()
        self._parts = parts
        self._max_pending_bytes = max_pending_bytes
        self._aside = SetAside(committer, self._attempt, self._settle)
        self._waiting: deque[Waiting] = deque()
        self._pending_bytes = 0
        self._wake = asyncio.Event()
        # Stored, because looking up the running loop costs a system call per append.
        self._loop = asyncio.get_running_loop()
        self._closing = False
        self._ended = False
        self._last_commit = 0.0
        self.failure: tuple[str, float] | None = None
        """Why the database failed at the last group, and when, by time.monotonic(); None if it did not."""

    def write(self, request: Request) -> asyncio.Future[Any]:
        """Accepts the request; the future has its outcome. Raises RateLimited, and ServerDraining after the last commit, at
        once; all other errors are set on the future."""
        if self._ended:
            raise ServerDraining
        size = request.size
        # A single request may exceed the limit, or it could never be served.
        if self._pending_bytes and self._pending_bytes + size > self._max_pending_bytes:
            raise RateLimited("pending_appends")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._pending_bytes += size
        self._waiting.append((request, future, size, recorded(), time.monotonic()))
        self._wake.set()
        return future

    def busy(self) -> bool:
        """Whether writes came in within the last 0.25 s."""
        return bool(self._waiting) or time.monotonic() - self._last_commit < _LATELY_S

    async def run(self) -> None:
        """Commits group after group until closed and empty."""
        while True:
            while self._waiting:
                await self._commit_parts(self._next_group())
            if self._closing:
                await self._aside.finish()
                self._ended = True
                return
            self._wake.clear()
            await self._wake.wait()

    def close(self) -> None:
        """Lets `run` end once everything accepted is committed."""
        self._closing = True
        self._wake.set()

    def _next_group(self) -> list[Waiting]:
        """Returns the next requests to commit."""
        group: list[Waiting] = []
        total = 0
        while self._waiting and len(group) < _GROUP_REQUESTS and total < _GROUP_BYTES:
            waiting = self._waiting.popleft()
            _, future, size, *_ = waiting
            total += size
            if future.cancelled():  # its caller canceled before the commit
                self._pending_bytes -= size
            elif not self._aside.takes(waiting):
                group.append(waiting)
        return group

    async def _commit_parts(self, group: Sequence[Waiting]) -> None:
        parts = None if self._parts is None else self._parts([request for request, *_ in group])
        if parts is None:
            await self._commit_group(group)
            return
        for part in parts:
            # What an earlier part set aside holds up later requests of its sessions.
            await self._commit_group([group[place] for place in part if not self._aside.takes(group[place])])

    async def _commit_group(self, group: Sequence[Waiting]) -> None:
        """Commits a group without the requests that it sets aside."""
        wait_ms = LOCK_WAIT_MS
        if self._aside:  # not one more wait for a transaction that has locked several sessions
            group = await self._aside.without_held(group)
        while group and not await self._attempt(group, wait_ms):
            left = await self._aside.without_held(group)
            if len(left) == len(group):
                wait_ms = 0  # what was locked is free by now, or is no session
            group = left

    async def _attempt(self, group: Sequence[Waiting], wait_ms: int) -> bool:
        """Settles the group, unless it would have to wait for a lock for longer; see Locks.acquire."""
        began = time.monotonic()
        try:
            with commit_span(group):
                outcomes = await self._committer.commit([request for request, *_ in group], wait_ms)
        except Exception as exc:  # any error must reach the callers, and the next group must be served
            if wait_ms and self._committer.waited_for_lock(exc):
                return False
            await self._failed(group, exc)
            return True
        self._last_commit = now = time.monotonic()
        self.failure = None
        meters = self._meters
        meters.commit_duration.add(now - began)
        meters.commit_size.add(len(group))
        for waiting, outcome in zip(group, outcomes, strict=True):
            count_outcome(meters, waiting[0], outcome, waiting[2], now - waiting[4])
            self._settle(waiting, outcome)
        return True

    async def _failed(self, group: Sequence[Waiting], exc: Exception) -> None:
        """Fails all requests if the database failed; otherwise commits each alone."""
        problem = self._committer.problem(exc)
        if problem is not None:
            self.failure = problem, time.monotonic()
            self._meters.commit_failures.add()
        elif len(group) > 1:
            for member in group:
                await self._attempt([member], 0)
            return
        for waiting in group:
            self._settle(waiting, exc if problem is None else StoreUnavailable(problem))

    def _settle(self, waiting: Waiting, outcome: Outcome | Exception) -> None:
        _, future, size, *_ = waiting
        self._pending_bytes -= size
        if future.done():
            return
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
