"""Sessions that other transactions have locked for long: a server that is frozen, or a person in a console.

A group commit would wait for them, and so would all other sessions. Their requests wait here, in order, and are committed when
the sessions are free.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, Protocol

from ....domain.errors import StoreUnavailable
from ....telemetry.spans import Span
from ..engine.base import SessionName
from .group_unit import Outcome, Request, names_of

LONGEST_WAIT_S = 10.0
"""Then a request fails; its caller may repeat it."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
_TRY_MS = 100
_AT_ONCE = 512

_log = logging.getLogger(__name__)

Waiting = tuple[Request, asyncio.Future[Any], int, Span | None, float]
"""A request, the future of its outcome, its size, the span of its caller if it is recorded, and when it was accepted."""
Attempt = Callable[[Sequence[Waiting], int], Awaitable[bool]]
Settle = Callable[[Waiting, Outcome | Exception], None]


class Committer(Protocol):
    """What commits groups."""

    async def commit(self, requests: Sequence[Request], wait_ms: int) -> Sequence[Outcome]:
        """Runs a group in a transaction. `wait_ms`: see Locks.acquire."""
        ...

    async def held(self, names: Collection[SessionName]) -> Collection[SessionName]:
        """See Locks.held."""
        ...

    def waited_for_lock(self, error: BaseException) -> bool:
        """See Engine.waited_for_lock."""
        ...

    def problem(self, error: BaseException) -> str | None:
        """See Engine.problem."""
        ...


class SetAside:
    """The sessions that are set aside, each with its requests. `attempt` settles requests unless a lock holds them up."""

    def __init__(self, committer: Committer, attempt: Attempt, settle: Settle) -> None:
        self._committer = committer
        self._attempt = attempt
        self._settle = settle
        self._loop = asyncio.get_running_loop()
        # A session stays, even without requests, until it is free: its next request would hold up a group again.
        self._queues: dict[SessionName, deque[tuple[float, Waiting]]] = {}
        self._work: asyncio.Task[None] | None = None
        self._finishing = False

    def __bool__(self) -> bool:
        return bool(self._queues)

    def takes(self, waiting: Waiting) -> bool:
        """Takes the request if its session is set aside."""
        for name in names_of(waiting[0]) if self._queues else ():
            if (queue := self._queues.get(name)) is not None:
                queue.append((self._loop.time(), waiting))
                return True
        return False

    async def without_held(self, group: Sequence[Waiting]) -> Sequence[Waiting]:
        """Sets aside the sessions of the group that another transaction has locked. Returns the other requests."""
        held = await self._held({name for request, *_ in group for name in names_of(request)})
        if not held:
            return group
        if not self._queues:
            _log.warning(
                "another transaction of the database has locked %d sessions; their writes wait, others continue: look for it "
                "in pg_stat_activity",
                len(held),
            )
        for name in held:
            self._queues.setdefault(name, deque())
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._commit_the_free(), name="sessions set aside")
        return [waiting for waiting in group if not self.takes(waiting)]

    async def finish(self) -> None:
        """Returns when no request is left."""
        self._finishing = True
        if self._work is not None:
            await self._work

    async def _held(self, names: Collection[SessionName]) -> Collection[SessionName]:
        try:
            return await self._committer.held(names)
        except Exception as exc:  # the database failed; the next commit reports it
            _log.info("looking for locked sessions failed: %s", type(exc).__name__)
            return ()

    async def _commit_the_free(self) -> None:
        pause = _FIRST_PAUSE_S
        while any(self._queues.values()) or (self._queues and not self._finishing):
            await asyncio.sleep(pause)
            self._give_up()
            free = self._queues.keys() - set(await self._held(self._queues.keys()))
            committed = await self._commit(free)
            pause = _FIRST_PAUSE_S if committed else min(2 * pause, _LONGEST_PAUSE_S)

    async def _commit(self, free: Collection[SessionName]) -> bool:
        """Commits the next requests of these sessions. Forgets those without requests. Returns whether there were some."""
        taken: dict[SessionName, list[tuple[float, Waiting]]] = {}
        room = _AT_ONCE
        for name in free:
            queue = self._queues[name]
            taken[name] = [queue.popleft() for _ in range(min(room, len(queue)))]
            room -= len(taken[name])
        group = [waiting for batch in taken.values() for _, waiting in batch]
        if group and not await self._attempt(group, _TRY_MS):
            for name, batch in taken.items():
                self._queues[name].extendleft(reversed(batch))
            return False
        for name in free:
            if not self._queues[name]:
                del self._queues[name]
        return bool(group)

    def _give_up(self) -> None:
        """Fails the requests that have waited for too long."""
        late = self._loop.time() - LONGEST_WAIT_S
        for (_, session_id), queue in self._queues.items():
            while queue and queue[0][0] < late:
                problem = f"another transaction of the database has locked session {session_id!r}"
                self._settle(queue.popleft()[1], StoreUnavailable(problem))
