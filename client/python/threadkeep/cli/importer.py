"""Imports a file: in batches, several sessions at a time, each session in order, and nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from .. import AsyncClient
from ..errors import EventIdConflict, ThreadkeepError, Unavailable, VersionMismatch
from ..v1 import session_pb2
from .formats import EventItem, Item, Malformed, Origin, SessionStart, StateItem, WindowItem
from .session_writer import MOST_EVENTS, Problem, SessionWriter, Tally, Target, elsewhere

_BYTES = 1024 * 1024
_IN_FLIGHT = 16


class Importer:
    """Imports items. With `skip` it continues after a problem, without the rest of that session. `exact`: events that were
    appended together are appended together, and others not."""

    def __init__(
        self, client: AsyncClient, *, skip: bool = False, exact: bool = False, advance: Callable[[Tally], None] | None = None
    ) -> None:
        self.tally = Tally()
        self._exact = exact
        self._client = client
        self._sessions = SessionWriter(client, self.tally)
        self._skip = skip
        self._advance = advance or (lambda tally: None)
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._most_events, self._most_bytes = MOST_EVENTS, _BYTES

    async def run(self, files: Iterable[Iterable[Item]]) -> Tally:
        """Reads and sends until the end or the first problem. Sent events stay; another run continues."""
        limits = (await self._client.info()).limits
        self._most_events = min(MOST_EVENTS, limits.max_batch_events or MOST_EVENTS)
        self._most_bytes = min(_BYTES, limits.max_batch_bytes or _BYTES)
        try:
            for items in files:
                await self._file(items)
        finally:
            while self._tasks:
                await asyncio.wait(self._tasks)
        return self.tally

    async def _file(self, items: Iterable[Item]) -> None:
        target: Target | None = None
        for item in items:
            if self._stopped:
                return
            if isinstance(item, Malformed):
                await self._malformed(item, target)
            elif isinstance(item, StateItem):
                await self._state(target, item)
            elif isinstance(item, SessionStart):
                if target is not None:
                    await self._flush(target, last=True)
                target = Target(item)
            elif target is not None:
                await self._item(target, item)
        if target is not None and not self._stopped:
            await self._flush(target, last=True)

    async def _item(self, target: Target, item: EventItem | WindowItem) -> None:
        if isinstance(item, WindowItem):
            await self._flush(target)
            placed, target.placed = target.placed, []
            await self._spawn(target, item.origin, partial(self._sessions.change_window, target, item.change, placed))
            return
        if item.placed:
            target.placed.append(item)
            return
        size = item.event.ByteSize()
        if target.events:
            last = target.events[-1]
            full = len(target.events) >= self._most_events or target.size + size > self._most_bytes
            separate = item.if_exists != last.if_exists or (self._exact and item.recorded != last.recorded)
            if full or separate or (item.if_exists and item.event.event_id in target.ids):
                await self._flush(target)
        target.events.append(item)
        target.ids.add(item.event.event_id)
        target.size += size

    async def _state(self, target: Target | None, item: StateItem) -> None:
        """The state of a session is set after its events."""
        chain = target
        if target is None or item.ref != target.start.session.ref:
            chain = Target(SessionStart(item.origin, session_pb2.Session(ref=item.ref)))
        elif not target.failed:
            await self._flush(target, last=True)
        if chain is not None:
            await self._spawn(chain, item.origin, partial(self._sessions.set_state, item))

    async def _malformed(self, item: Malformed, target: Target | None) -> None:
        if target is not None and not item.unrelated:
            target.spoiled = target.spoiled or not (target.events or target.previous)
        if target is not None and not self._skip:
            await self._flush(target, last=True)
        self._problem(Problem(item.origin, item.problem, "MALFORMED", item.field, fatal=item.fatal))

    async def _flush(self, target: Target, *, last: bool = False) -> None:
        """Sends waiting items. A session without events is created at its end, if none of them was unreadable."""
        if target.failed or not (target.events or (last and target.previous is None and not target.spoiled)):
            return
        events, target.events, target.ids, target.size = target.events, [], set(), 0
        work = partial(self._sessions.append, target, events) if events else partial(self._sessions.create, target)
        await self._spawn(target, events[0].origin if events else target.start.origin, work)

    async def _spawn(self, target: Target, origin: Origin, work: Callable[[], Awaitable[None]]) -> None:
        """Does the work after what the session has before it."""
        await self._room.acquire()
        task = asyncio.create_task(self._deliver(target, origin, work, target.previous))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        target.previous = task
        await asyncio.sleep(0)

    async def _deliver(
        self, target: Target, origin: Origin, work: Callable[[], Awaitable[None]], previous: asyncio.Task[None] | None
    ) -> None:
        try:
            if previous is not None:
                await previous
            if not target.failed:
                await work()
        except (ThreadkeepError, ValueError, TypeError) as error:
            target.failed = True
            self._problem(self._explained(error, target, origin))
        finally:
            self._room.release()
            self._advance(self.tally)

    def _problem(self, problem: Problem) -> None:
        self.tally.problems.append(problem)
        if not self._skip or isinstance(problem.error, Unavailable):
            self._stopped = True

    def _explained(self, error: Exception, target: Target, origin: Origin) -> Problem:
        if not isinstance(error, ThreadkeepError):
            return Problem(origin, str(error), "INVALID_VALUE")
        text = error.message
        session_id = target.start.session.ref.session_id
        if isinstance(error, VersionMismatch):
            text = f"the server's session {session_id!r} holds other events than the file; {elsewhere(target)}"
        elif isinstance(error, EventIdConflict):
            text = (
                f"event {error.event_id!r} of session {session_id!r} is stored with other content, from another file; "
                "import this one for another --user, or with another --prefix"
            )
        return Problem(origin, text, error.reason, error.metadata.get("field", ""), error)
