"""Imports a file: in batches, several sessions at a time, each session in order, and nothing twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .. import AsyncClient, CreateOptions
from ..errors import (
    EventIdConflict,
    RateLimited,
    SessionAlreadyExists,
    SessionNotFound,
    ThreadkeepError,
    Unavailable,
    VersionMismatch,
)
from ..v1 import event_pb2
from ..v1.event_service_pb2 import AppendEventsResponse
from .formats import EventItem, Item, Malformed, Origin, SessionStart

_EVENTS = 500
_BYTES = 1024 * 1024
_IN_FLIGHT = 16
_TRIES = 20
_TOO_LATE_NS = 30 * 1_000_000_000  # an expiry this close would pass during the import


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that was not imported."""

    origin: Origin
    text: str
    reason: str = ""
    field: str = ""
    error: ThreadkeepError | None = None
    fatal: bool = False


@dataclass(slots=True)
class Tally:
    """The result of an import."""

    sessions_created: int = 0
    sessions_found: int = 0
    sessions_renewed: int = 0
    events_added: int = 0
    events_found: int = 0
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class _Target:
    """A session during its import. `last_id` and `stored` are set for restored sessions.

    `spoiled`: the record of its first event could not be read, so the session is not created without events.
    """

    start: SessionStart
    last_id: str = ""
    stored: int | None = None
    opened: bool = False
    failed: bool = False
    spoiled: bool = False
    previous: asyncio.Task[None] | None = None
    events: list[EventItem] = field(default_factory=list)
    size: int = 0


class Importer:
    """Imports items. With `skip` it continues after a problem, without the rest of that session."""

    def __init__(self, client: AsyncClient, *, skip: bool = False, advance: Callable[[Tally], None] | None = None) -> None:
        self.tally = Tally()
        self._client = client
        self._skip = skip
        self._advance = advance or (lambda tally: None)
        self._room = asyncio.Semaphore(_IN_FLIGHT)
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._most_events, self._most_bytes = _EVENTS, _BYTES

    async def run(self, files: Iterable[Iterable[Item]]) -> Tally:
        """Reads and sends until the end or the first problem. Sent events stay; another run continues."""
        limits = (await self._client.info()).limits
        self._most_events = min(_EVENTS, limits.max_batch_events or _EVENTS)
        self._most_bytes = min(_BYTES, limits.max_batch_bytes or _BYTES)
        try:
            for items in files:
                await self._file(items)
        finally:
            while self._tasks:
                await asyncio.wait(self._tasks)
        return self.tally

    async def _file(self, items: Iterable[Item]) -> None:
        target: _Target | None = None
        for item in items:
            if self._stopped:
                return
            if isinstance(item, Malformed):
                await self._malformed(item, target)
            elif isinstance(item, SessionStart):
                if target is not None:
                    await self._flush(target, last=True)
                target = _Target(item)
            elif target is not None:
                size = item.event.ByteSize()
                if target.events and (len(target.events) >= self._most_events or target.size + size > self._most_bytes):
                    await self._flush(target)
                target.events.append(item)
                target.size += size
        if target is not None and not self._stopped:
            await self._flush(target, last=True)

    async def _malformed(self, item: Malformed, target: _Target | None) -> None:
        if target is not None:
            target.spoiled = target.spoiled or not (target.events or target.previous)
            if not self._skip:
                await self._flush(target, last=True)
        self._problem(Problem(item.origin, item.problem, "MALFORMED", item.field, fatal=item.fatal))

    async def _flush(self, target: _Target, *, last: bool = False) -> None:
        """Sends waiting items. A session without events is created at its end, if none of them was unreadable."""
        if target.failed or not (target.events or (last and target.previous is None and not target.spoiled)):
            return
        await self._room.acquire()
        task = asyncio.create_task(self._deliver(target, target.events, target.previous))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        target.previous, target.events, target.size = task, [], 0
        await asyncio.sleep(0)

    async def _deliver(self, target: _Target, items: list[EventItem], previous: asyncio.Task[None] | None) -> None:
        try:
            if previous is not None:
                await previous
            if target.failed:
                return
            if items:
                await self._append(target, items)
            else:
                await self._create(target)
        except (ThreadkeepError, ValueError, TypeError) as error:
            target.failed = True
            origin = items[0].origin if items else target.start.origin
            self._problem(self._explained(error, target, origin))
        finally:
            self._room.release()
            self._advance(self.tally)

    async def _create(self, target: _Target) -> None:
        session, options = target.start.session, self._options(target)
        ref, began = session.ref, session.create_time.ToNanoseconds() if session.HasField("create_time") else None
        try:
            await self._client.create_session(ref.session_id, user_id=ref.user_id, app=ref.app, create_time=began, **options)
            self.tally.sessions_created += 1
        except SessionAlreadyExists:
            self.tally.sessions_found += 1
        target.opened = True

    async def _append(self, target: _Target, items: list[EventItem]) -> None:
        if not target.start.restore:
            await self._send(target, items)
            return
        if target.stored is None:
            try:
                target.stored = (await self._client.get_session(target.start.session.ref)).last_seq
            except SessionNotFound:
                await self._create(target)  # an append would create it too, but with another create_time
                target.stored = 0
        # Stored and new events are sent separately: each request is then either a replay or follows it directly.
        cut = sum(1 for each in items if each.seq <= target.stored)
        for part in (items[:cut], items[cut:]):
            if part:
                await self._send(target, part)
                target.last_id = part[-1].event.event_id

    async def _send(self, target: _Target, items: list[EventItem]) -> None:
        answer = await self._patiently(target, [each.event for each in items])
        if not target.opened:
            target.opened = True
            if answer.session_created:
                self.tally.sessions_created += 1
            else:
                self.tally.sessions_found += 1
        found = sum(each.replayed for each in answer.events)
        self.tally.events_found += found
        self.tally.events_added += len(answer.events) - found
        for item, stored in zip(items, answer.events, strict=True):
            if item.seq and stored.seq != item.seq:
                raise ValueError(f"event {stored.event_id} is at seq {stored.seq}, not {item.seq}; {_elsewhere(target)}")

    async def _patiently(self, target: _Target, events: list[event_pb2.SessionEvent]) -> AppendEventsResponse:
        for left in reversed(range(_TRIES)):
            try:
                return await self._client.append(
                    target.start.session.ref,
                    *events,
                    expected_last_event_id=target.last_id if target.start.restore else None,
                    create=False if target.opened else self._options(target),
                )
            except RateLimited as error:
                if not left:
                    raise
                await asyncio.sleep(error.retry_after or 0.5)
        raise AssertionError("unreachable")

    def _options(self, target: _Target) -> CreateOptions:
        session = target.start.session
        options = CreateOptions(metadata=session.metadata_json, labels=dict(session.labels))
        if target.start.never_expires:
            options["never_expires"] = True
        elif session.HasField("expire_time"):
            expires = session.expire_time.ToNanoseconds()
            if expires > time.time_ns() + _TOO_LATE_NS:
                options["expire_time"] = expires
            else:
                self.tally.sessions_renewed += 1
        return options

    def _problem(self, problem: Problem) -> None:
        self.tally.problems.append(problem)
        if not self._skip or isinstance(problem.error, Unavailable):
            self._stopped = True

    def _explained(self, error: Exception, target: _Target, origin: Origin) -> Problem:
        if not isinstance(error, ThreadkeepError):
            return Problem(origin, str(error), "INVALID_VALUE")
        text = error.message
        session_id = target.start.session.ref.session_id
        if isinstance(error, VersionMismatch):
            text = f"the server's session {session_id!r} holds other events than the file; {_elsewhere(target)}"
        elif isinstance(error, EventIdConflict):
            text = (
                f"event {error.event_id!r} of session {session_id!r} is stored with other content, from another file; "
                "import this one for another --user, or with another --prefix"
            )
        return Problem(origin, text, error.reason, error.metadata.get("field", ""), error)


def _elsewhere(target: _Target) -> str:
    ref = target.start.session.ref
    app = f" --app {ref.app}" if ref.app else ""
    return f"import into an empty server, or delete it: threadkeep sessions delete {ref.session_id} --user {ref.user_id}{app}"
