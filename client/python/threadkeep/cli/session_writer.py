"""Writes the sessions of an import: creates them, appends their events and makes the changes of their windows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from .. import AsyncClient, AsyncStateHandle, CreateOptions, LastEventId
from ..errors import RateLimited, SessionAlreadyExists, SessionNotFound, ThreadkeepError
from ..filters import event_filter
from ..v1.state_pb2 import StateScope
from .formats import EventItem, Origin, SessionStart, StateItem, WindowChange
from .restoring import StateOutcome, chunks, set_state, take_step
from .window_history import last_moment

T = TypeVar("T")

MOST_EVENTS = 500
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
    states_set: int = 0
    states_kept: int = 0
    states_different: int = 0
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class Target:
    """A session during its import. `last_id` and `stored` are set for restored sessions, `changed`: the window version that it
    had when the import found it; `versions`: those after each of the changes of the file so far, the first one before all of
    them. `events`: those that wait to be sent, and `ids` their ids; `placed`: events for the next of these changes.

    `spoiled`: the record of its first event could not be read, so the session is not created without events.
    """

    start: SessionStart
    last_id: str = ""
    stored: int | None = None
    changed: int = 0
    versions: list[int] = field(default_factory=lambda: [0])
    opened: bool = False
    failed: bool = False
    spoiled: bool = False
    previous: asyncio.Task[None] | None = None
    events: list[EventItem] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    placed: list[EventItem] = field(default_factory=list)
    size: int = 0


class SessionWriter:
    """Writes to sessions, nothing twice, and counts it in `tally`."""

    def __init__(self, client: AsyncClient, tally: Tally) -> None:
        self._client = client
        self._tally = tally

    async def create(self, target: Target) -> None:
        session, options = target.start.session, self._options(target)
        ref, began = session.ref, session.create_time.ToNanoseconds() if session.HasField("create_time") else None
        try:
            await self._client.create_session(
                ref.session_id,
                user_id=ref.user_id,
                app=ref.app,
                create_time=began,
                context_bytes=session.context_bytes,
                parent=session.parent if session.HasField("parent") else None,
                **options,
            )
            self._tally.sessions_created += 1
        except SessionAlreadyExists:
            self._tally.sessions_found += 1
        target.opened = True

    async def append(self, target: Target, items: list[EventItem]) -> None:
        if not target.start.restore:
            await self._send(target, items)
            return
        await self._begin(target)
        # Stored and new events are sent separately: each request is then either a replay or follows it directly.
        cut = sum(1 for each in items if each.seq <= (target.stored or 0))
        for part, found in ((items[:cut], True), (items[cut:], False)):
            if part:
                if found and target.start.window_changed:  # ids may occur twice there, and erased events are not replays
                    await self._find(target, part)
                else:
                    await self._send(target, part)
                target.last_id = part[-1].event.event_id

    async def change_window(self, target: Target, change: WindowChange, placed: list[EventItem]) -> None:
        """Makes a change of the window, unless the session had it before."""
        await self._begin(target)
        ref = target.start.session.ref
        target.versions.append(target.versions[-1] + 1)
        if target.versions[-1] <= target.changed:
            if placed:
                await self._find(target, placed)
        elif change.how == "rewind":
            await self._rewind(target, change)
        else:
            seqs = await self.patiently(partial(take_step, self._client, ref, change, placed, target.last_id))
            self._check(target, placed, seqs)
            self._tally.events_added += len(placed)
        if placed:
            target.last_id = placed[-1].event.event_id

    async def _rewind(self, target: Target, change: WindowChange) -> None:
        """Goes back to a point; state that an earlier import has set stays."""
        ref, version = target.start.session.ref, target.versions[change.changes]
        last = await self.patiently(partial(last_moment, self._client, ref, version, change.through_seq))
        if last.window_version != version:
            raise ValueError(f"the window of the session has changed otherwise than in the file; {elsewhere(target)}")
        state = AsyncStateHandle(self._client, StateScope.STATE_SCOPE_SESSION, ref)
        before = await self.patiently(state.get)
        go_back = partial(self._client.rewind, ref, erase=change.erase, always=True)
        if last.last_seq == change.through_seq:
            await self.patiently(partial(go_back, at_log_version=last.log_version))
        else:  # in the middle of what was appended together
            await self.patiently(partial(go_back, at_seq=change.through_seq))
        after = (await self.patiently(state.get)).texts if before.version else before.texts
        for some in chunks({key: text for key, text in before.texts.items() if after.get(key) != text}):
            await self.patiently(partial(state.patch, set_json=some))

    async def set_state(self, item: StateItem) -> None:
        done = await self.patiently(partial(set_state, self._client, item))
        self._tally.states_set += done is StateOutcome.SET
        self._tally.states_kept += done is not StateOutcome.SET
        self._tally.states_different += done is StateOutcome.DIFFERENT

    @staticmethod
    async def patiently(call: Callable[[], Awaitable[T]]) -> T:
        """Waits while the server limits the rate of calls."""
        for left in reversed(range(_TRIES)):
            try:
                return await call()
            except RateLimited as error:
                if not left:
                    raise
                await asyncio.sleep(error.retry_after or 0.5)
        raise AssertionError("unreachable")

    async def _begin(self, target: Target) -> None:
        """Finds how much of the session is stored; creates it if there is none."""
        if target.stored is not None:
            return
        try:
            session = await self._client.get_session(target.start.session.ref)
            target.stored, target.changed = session.last_seq, session.window_version
        except SessionNotFound:
            await self.create(target)  # an append would create it too, but with another create_time
            target.stored = 0

    async def _find(self, target: Target, items: list[EventItem]) -> None:
        """Checks that the stored events are those of the file."""
        span = event_filter(after_seq=items[0].seq - 1, before_seq=items[-1].seq + 1)
        events = self._client.events(target.start.session.ref, span, page_size=MOST_EVENTS)
        stored = {event.seq: event.id async for event in events}
        if stored != {each.seq: each.event.event_id for each in items}:
            raise ValueError(f"the session holds other events than the file; {elsewhere(target)}")
        if not target.opened:
            target.opened = True
            self._tally.sessions_found += 1
        self._tally.events_found += len(items)

    async def _send(self, target: Target, items: list[EventItem]) -> None:
        if not target.opened and target.start.session.HasField("create_time"):
            await self.patiently(partial(self.create, target))  # an append would create it with another create_time
        append = partial(
            self._client.append,
            target.start.session.ref,
            *(each.event for each in items),
            expect=LastEventId(target.last_id) if target.start.restore else None,
            if_exists=items[0].if_exists or "replay",
            create_if_missing=False if target.opened else self._options(target),
        )
        answer = await self.patiently(append)
        if not target.opened:
            target.opened = True
            if answer.session_created:
                self._tally.sessions_created += 1
            else:
                self._tally.sessions_found += 1
        found = sum(each.replayed for each in answer.events)
        self._tally.events_found += found
        self._tally.events_added += len(answer.events) - found
        self._check(target, items, [stored.seq for stored in answer.events])

    @staticmethod
    def _check(target: Target, items: list[EventItem], seqs: Sequence[int]) -> None:
        for item, seq in zip(items, seqs, strict=False):
            if item.seq and seq != item.seq:
                raise ValueError(f"event {item.event.event_id} is at seq {seq}, not {item.seq}; {elsewhere(target)}")

    def _options(self, target: Target) -> CreateOptions:
        session = target.start.session
        options = CreateOptions(metadata=session.metadata_json, labels=dict(session.labels))
        if target.start.never_expires:
            options["never_expires"] = True
        elif session.HasField("expire_time"):
            expires = session.expire_time.ToNanoseconds()
            if expires > time.time_ns() + _TOO_LATE_NS:
                options["expire_time"] = expires
            else:
                self._tally.sessions_renewed += 1
        return options


def elsewhere(target: Target) -> str:
    """Returns what to do about a session that cannot be continued."""
    ref = target.start.session.ref
    app = f" --app {ref.app}" if ref.app else ""
    return f"import into an empty server, or delete it: threadkeep sessions delete {ref.session_id} --user {ref.user_id}{app}"
