"""Writers with random changes of sessions, and a ledger of their results."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, NamedTuple

import threadkeep
from threadkeep import LogVersion, compaction
from threadkeep.errors import (
    EventNotFound,
    NothingToCompact,
    SessionAlreadyExists,
    SessionNotFound,
    VersionMismatch,
)
from threadkeep.v1 import compaction_pb2 as cp
from threadkeep.v1 import event_removal_pb2 as rm
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.event_service_pb2 import AppendEventsResponse
from threadkeep.v1.session_pb2 import Session, SessionRef

from .facts import Ref
from .streams import named

NEEDLE = "needle"
MORTAL = "s3"
"""Sessions with this id are deleted and expire; others live as long as the workload."""
REFS = [
    named(session_id, app=app, user=user)
    for app, user in (("shop", "ann"), ("shop", "bob"), ("", "ann"))
    for session_id in ("s1", "s2", MORTAL)
]
CURTAIN = '{"curtain":true}'
_SLIDING = cp.CompactionStrategy(sliding_window=cp.SlidingWindow(max_events=5))
# Errors caused by changes of other writers between two calls.
_RACES = (SessionNotFound, SessionAlreadyExists, VersionMismatch, NothingToCompact, EventNotFound)

_numbers = count(1)


def key_of(ref: SessionRef) -> Ref:
    return ref.app, ref.user_id, ref.session_id


def labels_of(ref: SessionRef) -> dict[str, str]:
    """The team label of a session, constant for its life."""
    return {"team": "red" if ref.session_id == "s1" else "blue"}


@dataclass(frozen=True)
class Appended:
    ref: Ref
    event_ids: tuple[str, ...]
    answer: AppendEventsResponse


class Removed(NamedTuple):
    ref: Ref
    log_version: int
    kind: rm.RemovalKind.ValueType
    event_ids: tuple[str, ...] = ()
    through_seq: int = 0


@dataclass
class Ledger:
    """The results of writers. `updated` by uid, `deleted` by name. `removed`: by name, log version and kind, with
    the ids of what left, or the last seq at a clear."""

    appended: list[Appended] = field(default_factory=list)
    removed: list[Removed] = field(default_factory=list)
    compacted: dict[str, cp.Compaction] = field(default_factory=dict)
    updated: dict[str, list[Session]] = field(default_factory=dict)
    created: dict[str, Session] = field(default_factory=dict)
    deleted: Counter[Ref] = field(default_factory=Counter)
    expired: int = 0
    races: Counter[str] = field(default_factory=Counter)


class Writer:
    """One of several writers to the same sessions. The seed determines its actions, not their interleaving."""

    def __init__(self, client: threadkeep.AsyncClient, ledger: Ledger, seed: int) -> None:
        self._client = client
        self._ledger = ledger
        self._rng = random.Random(seed)
        self._acts: Sequence[tuple[int, Callable[[SessionRef], Awaitable[None]]]] = (
            (60, self._append),
            (6, self._apply),
            (5, self._replace),
            (6, self._slide),
            (5, self._pop),
            (1, self._clear),
            (4, self._suffix),
            (5, self._upsert),
            (8, self._patch),
            (8, self._update),
            (4, self._create),
            (3, self._delete),
            (2, self._expire),
        )

    async def write(self, actions: int) -> None:
        weights, acts = zip(*self._acts, strict=True)
        for _ in range(actions):
            (act,) = self._rng.choices(acts, weights)
            try:
                await act(self._rng.choice(REFS))
            except _RACES as error:
                self._ledger.races[error.reason] += 1
            if self._rng.random() < 0.1:
                await asyncio.sleep(self._rng.random() * 0.01)

    async def _append(self, ref: SessionRef) -> None:
        events = self._batch()
        create = threadkeep.CreateOptions(labels=labels_of(ref), never_expires=True)
        delta: dict[str, Any] = {}
        if self._rng.random() < 0.2:
            scopes = self._rng.sample(("state", "user_state", "app_state"), self._rng.choice((1, 2, 3)))
            delta = {scope: {"set": {self._key(): next(_numbers)}} for scope in scopes}
        answer = await self._client.append(ref, *events, create_if_missing=create, **delta)
        self._ledger.appended.append(Appended(key_of(ref), tuple(event.event_id for event in events), answer))

    def _batch(self) -> list[SessionEvent]:
        kind = self._rng.random()
        if kind < 0.15:
            call = f"call-{next(_numbers)}"
            asks = threadkeep.assistant("I look", tool_calls=[threadkeep.tool_call(call, "look", "{}")], author="agent")
            return threadkeep.with_ids(asks, threadkeep.tool_result(call, f"a {NEEDLE}", author="tool"))
        return threadkeep.with_ids(*(self._event() for _ in range(self._rng.choice((1, 1, 1, 2, 5)))))

    def _event(self) -> SessionEvent:
        make = self._rng.choice((threadkeep.user, threadkeep.assistant))
        words = self._rng.choice(("hay", f"hay and a {NEEDLE}", "straw"))
        author, branch = self._rng.choice(("agent", "other")), self._rng.choice(("", "", "a", "a.b", "c"))
        return make(words * self._rng.choice((1, 1, 40)), author=author, branch=branch)

    async def _apply(self, ref: SessionRef) -> None:
        read = await self._client.get_context(ref, max_bytes=1 << 30)
        if not read.events:
            return
        answer = await self._client.apply_compaction(
            ref,
            through_seq=read.session_last_seq,
            inserts=[compaction.insert(*_summary())],
            expected_window_version=read.window_version,
            actor="tests",
        )
        self._compacted(answer.compaction)

    async def _replace(self, ref: SessionRef) -> None:
        read = await self._client.get_context(ref, max_bytes=1 << 30)
        answer = await self._client.replace_events(ref, *_summary(), expect=LogVersion(read.log_version))
        if answer.replaced:
            self._compacted(answer.compaction)

    async def _slide(self, ref: SessionRef) -> None:
        answer = await self._client.compact(ref, _SLIDING)
        if answer.compacted:
            self._compacted(answer.compaction)

    def _compacted(self, record: cp.Compaction) -> None:
        assert record.compaction_id not in self._ledger.compacted
        self._ledger.compacted[record.compaction_id] = record

    async def _pop(self, ref: SessionRef) -> None:
        popped = await self._client.pop(ref, self._rng.choice((1, 1, 3)))
        if popped.events:
            ids = tuple(event.id for event in popped.events)
            self._ledger.removed.append(Removed(key_of(ref), popped.log_version, rm.REMOVAL_KIND_POPPED, ids))

    async def _clear(self, ref: SessionRef) -> None:
        answer = await self._client.clear(ref)
        removed = Removed(key_of(ref), answer.log_version, rm.REMOVAL_KIND_CLEARED, through_seq=answer.last_seq)
        self._ledger.removed.append(removed)

    async def _suffix(self, ref: SessionRef) -> None:
        newest = await self._newest(ref, 2)
        answer = await self._client.replace_suffix(ref, newest, *threadkeep.with_ids(self._event()))
        if newest:
            removed = Removed(key_of(ref), answer.log_version, rm.REMOVAL_KIND_REPLACED, tuple(newest))
            self._ledger.removed.append(removed)

    async def _upsert(self, ref: SessionRef) -> None:
        newest = await self._newest(ref, 4)
        if newest and ref.session_id != MORTAL:  # a later session of the name would get it as a new event
            event = self._event()
            event.event_id = newest[0]
            answer = await self._client.append(ref, event, if_exists="replace")
            if not answer.events[0].replayed:
                removed = Removed(key_of(ref), answer.log_version, rm.REMOVAL_KIND_REPLACED, (event.event_id,))
                self._ledger.removed.append(removed)

    async def _newest(self, ref: SessionRef, count: int) -> list[str]:
        """The ids of the newest active events."""
        wanted = threadkeep.event_filter(exact_last_n=count, view="active")
        return [event.id async for event in self._client.events(ref, wanted)]

    async def _patch(self, ref: SessionRef) -> None:
        client = self._client
        owners = (client.session(ref).state(), client.user_state(ref.user_id, app=ref.app), client.app_state(ref.app))
        state = self._rng.choice((owners[0], *owners))
        if self._rng.random() < 0.3:
            await state.patch(remove=[self._key()])
        else:
            await state.patch({self._key(): next(_numbers)})

    def _key(self) -> str:
        return self._rng.choice("abc")

    async def _update(self, ref: SessionRef) -> None:
        if self._rng.random() < 0.5:
            labels = labels_of(ref) | {"mood": self._rng.choice(("good", "bad"))}
            session = await self._client.update_session(ref, labels=labels)
        else:
            session = await self._client.update_session(ref, metadata={"number": next(_numbers)})
        self._updated(session)

    def _updated(self, session: Session) -> None:
        self._ledger.updated.setdefault(session.uid, []).append(session)

    async def _create(self, ref: SessionRef) -> None:
        session = await self._client.create_session(
            ref.session_id, user_id=ref.user_id, app=ref.app, labels=labels_of(ref), never_expires=True
        )
        self._ledger.created[session.uid] = session

    async def _delete(self, ref: SessionRef) -> None:
        ref = named(MORTAL, app=ref.app, user=ref.user_id)
        answer = await self._client.delete_session(ref)
        self._ledger.deleted[key_of(ref)] += answer.deleted

    async def _expire(self, ref: SessionRef) -> None:
        ref = named(MORTAL, app=ref.app, user=ref.user_id)
        self._updated(await self._client.update_session(ref, ttl=timedelta(milliseconds=1)))
        await asyncio.sleep(0.002)
        answer = await self._client.delete_expired_sessions()
        self._ledger.expired += answer.deleted_sessions

    async def drop_the_curtain(self) -> None:
        """Makes a last deletion of each kind, and a last change of every session, which no filter excludes."""
        for die in (self._delete, self._expire):
            ref = named(MORTAL)
            await self._client.create_session(
                MORTAL, user_id=ref.user_id, app=ref.app, labels=labels_of(ref), return_existing=True
            )
            await die(ref)
        for ref in REFS:
            await self._client.create_session(
                ref.session_id, user_id=ref.user_id, app=ref.app, labels=labels_of(ref), return_existing=True
            )
            self._updated(await self._client.update_session(ref, metadata=CURTAIN))


def _summary() -> list[SessionEvent]:
    fields = {"synthetic": True, "compaction_source": "test"}
    asks = threadkeep.user("What was said?", **fields)  # type: ignore[arg-type]
    tells = threadkeep.assistant(f"Things, and a {NEEDLE}", **fields)  # type: ignore[arg-type]
    return threadkeep.with_ids(asks, tells)
