"""The group commit's unit of work: many appends, of any sessions, in one transaction.

Sessions are locked first (in one order, so that groups of two servers cannot deadlock), then ids are looked up, then each
request is decided in turn, then everything is written. A request that fails is answered with its error and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ...domain.errors import AmbiguousSession, EventIdConflict, RecollectError, SessionNotFound, VersionMismatch
from ...domain.model import Counters, EventDraft, NewSession, SessionRef, Usage
from ..base import Appended, AppendedEvent, AppendRequest, Codec
from .rows import counters_of, named, usage_of
from .schema import APPENDED, POSITION_STEP, changes, events, sessions
from .session_units import insert_session

Outcome = Appended | RecollectError
_KEYS_REMEMBERED = 100_000


@dataclass(slots=True)
class _Head:
    """A locked session while the group is decided."""

    key: int
    log_version: int
    last_seq: int
    window: Counters
    usage: Usage
    update_time: int
    created: bool = False
    last_event_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    """An event that is stored, or will be by this group."""

    seq: int
    body: bytes


@dataclass(slots=True)
class _Group:
    """What the group will write."""

    heads: dict[int, _Head] = field(default_factory=dict)
    known: dict[tuple[int, str], _Known] = field(default_factory=dict)
    touched: dict[int, _Head] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)


class AppendUnit:
    """Callable on a connection with a group of requests. Remembers which row a ref means: a row's id is never reused, and a
    remembered row that is gone is looked up again."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._keys: dict[tuple[str, SessionRef], int] = {}

    def __call__(self, connection: Connection, requests: Sequence[AppendRequest]) -> list[Outcome]:
        group = _Group()
        keys = self._resolve(connection, requests, group)
        self._load_known(connection, requests, keys, group)
        outcomes: list[Outcome] = []
        for request, key in zip(requests, keys, strict=True):
            outcomes.append(key if isinstance(key, RecollectError) else self._decide(connection, request, group, key))
        _write(connection, group)
        return outcomes

    # --- sessions

    def _resolve(self, connection: Connection, requests: Sequence[AppendRequest], group: _Group) -> list[int | RecollectError]:
        remembered = {self._keys[name] for request in requests if (name := (request.tenant, request.ref)) in self._keys}
        group.heads |= _lock(connection, remembered)
        return [self._key(connection, request, group) for request in requests]

    def _key(self, connection: Connection, request: AppendRequest, group: _Group) -> int | RecollectError:
        name = (request.tenant, request.ref)
        key = self._keys.get(name)
        if key is not None and key in group.heads:
            return key
        self._keys.pop(name, None)
        found = connection.execute(sa.select(sessions.c.id).where(named(*name)).limit(2)).scalars().all()
        if len(found) > 1:
            return AmbiguousSession(request.ref.session_id)
        if not found and request.create is not None:
            if (mismatch := _unmet(connection, request, _NOTHING)) is not None:
                return mismatch
            found = self._create(connection, request, request.create, group)
        if not found:
            return SessionNotFound(request.ref)
        key = int(found[0])
        if key not in group.heads:
            group.heads |= _lock(connection, {key})
        if key not in group.heads:
            return SessionNotFound(request.ref)
        self._remember(name, key)
        return key

    def _create(self, connection: Connection, request: AppendRequest, new: NewSession, group: _Group) -> Sequence[int]:
        created = insert_session(connection, request.tenant, new)
        if created is None:  # another server was faster; its session is as good
            return connection.execute(sa.select(sessions.c.id).where(named(request.tenant, request.ref))).scalars().all()
        group.heads |= _lock(connection, {created})
        group.heads[created].created = True
        return [created]

    def _remember(self, name: tuple[str, SessionRef], key: int) -> None:
        if name[1].is_bare:
            return  # another session may come to bear the same id
        if len(self._keys) >= _KEYS_REMEMBERED:
            del self._keys[next(iter(self._keys))]
        self._keys[name] = key

    # --- events

    def _load_known(
        self,
        connection: Connection,
        requests: Sequence[AppendRequest],
        keys: Sequence[int | RecollectError],
        group: _Group,
    ) -> None:
        wanted: dict[int, list[str]] = {}
        for request, key in zip(requests, keys, strict=True):
            if isinstance(key, int) and group.heads[key].last_seq:
                wanted.setdefault(key, []).extend(draft.event_id for draft in request.drafts if not draft.generated_id)
        for key, ids in wanted.items():
            if ids:
                statement = sa.select(events.c.event_id, events.c.seq, events.c.size, events.c.body).where(
                    events.c.session == key, events.c.event_id.in_(ids)
                )
                for row in connection.execute(statement):
                    group.known[key, row.event_id] = _Known(row.seq, row.body[: row.size])

    def _decide(self, connection: Connection, request: AppendRequest, group: _Group, key: int) -> Outcome:
        head = group.heads[key]
        fresh: list[EventDraft] = []
        for index, draft in enumerate(request.drafts):
            stored = group.known.get((key, draft.event_id))
            if stored is None:
                fresh.append(draft)
            elif stored.body != draft.body and not request.ignore_existing:
                return EventIdConflict(f"events[{index}].event_id", draft.event_id, stored.seq)
        if fresh:
            mismatch = _unmet(connection, request, head)
            if mismatch is not None:
                return mismatch
            self._stage(request, group, head, fresh)
        fresh_ids = {draft.event_id for draft in fresh}
        answers = [
            AppendedEvent(draft.event_id, group.known[key, draft.event_id].seq, draft.event_id not in fresh_ids)
            for draft in request.drafts
        ]
        created, head.created = head.created, False
        return Appended(answers, head.log_version, head.last_seq, head.window, created)

    def _stage(self, request: AppendRequest, group: _Group, head: _Head, fresh: Sequence[EventDraft]) -> None:
        first = head.last_seq + 1
        for draft in fresh:
            head.last_seq += 1
            head.window += draft.counters
            head.usage += draft.usage
            group.known[head.key, draft.event_id] = _Known(head.last_seq, draft.body)
            group.events.append(self._event_row(draft, head, request.now))
        head.log_version += 1
        head.update_time = max(head.update_time, request.now)
        head.last_event_id = fresh[-1].event_id
        group.touched[head.key] = head
        group.changes.append(
            {"kind": APPENDED, "session": head.key, "time": request.now, "first": first, "last": head.last_seq}
        )

    def _event_row(self, draft: EventDraft, head: _Head, now: int) -> dict[str, Any]:
        return {
            "session": head.key,
            "seq": head.last_seq,
            "position": head.last_seq * POSITION_STEP,
            "event_id": draft.event_id,
            "time": now if draft.event_time is None else draft.event_time,
            "role": int(draft.role),
            "author": draft.author,
            "author_role": draft.author_role,
            "branch": draft.branch,
            "synthetic": draft.synthetic,
            "turn_start": draft.turn_start,
            "archived": False,
            "size": len(draft.body),
            "tokens": draft.token_estimate,
            "body": self._codec.seal(draft, head.last_seq, now),
        }


# What a session that does not exist yet would look like to a precondition.
_NOTHING = _Head(0, 0, 0, Counters(), Usage(), 0)

_HEAD_COLUMNS = [
    column
    for column in sessions.c
    if column.name.startswith(("window_", "usage_")) or column.name in ("id", "log_version", "last_seq", "update_time")
]


def _lock(connection: Connection, keys: set[int]) -> dict[int, _Head]:
    if not keys:
        return {}
    statement = sa.select(*_HEAD_COLUMNS).where(sessions.c.id.in_(sorted(keys))).order_by(sessions.c.id)
    return {row.id: _head(row) for row in connection.execute(statement.with_for_update())}


def _head(row: Row[Any]) -> _Head:
    return _Head(row.id, row.log_version, row.last_seq, counters_of(row), usage_of(row), row.update_time)


def _unmet(connection: Connection, request: AppendRequest, head: _Head) -> VersionMismatch | None:
    """The precondition that does not hold, if one does not."""
    expected = request.expected_log_version
    if expected is not None and expected != head.log_version:
        return VersionMismatch(request.ref, expected=str(expected), actual=str(head.log_version))
    if request.expected_last_event_id is None:
        return None
    if head.last_event_id is None:
        head.last_event_id = _last_event_id(connection, head)
    if request.expected_last_event_id != head.last_event_id:
        return VersionMismatch(request.ref, expected=request.expected_last_event_id, actual=head.last_event_id)
    return None


def _last_event_id(connection: Connection, head: _Head) -> str:
    if not head.last_seq:
        return ""
    # The last event by seq stands at its own position, unless a compaction inserted it elsewhere.
    appended = events.c.position == head.last_seq * POSITION_STEP
    inserted = sa.and_(sa.text(f"position % {POSITION_STEP} <> 0"), events.c.seq == head.last_seq)
    for place in (appended, inserted):
        found = connection.execute(sa.select(events.c.event_id).where(events.c.session == head.key, place)).scalar()
        if found is not None:
            return str(found)
    raise AssertionError("a log without its last event")


def _write(connection: Connection, group: _Group) -> None:
    if not group.events:
        return
    connection.execute(events.insert(), group.events)
    connection.execute(_UPDATE_HEAD, [_head_values(head) for head in group.touched.values()])
    connection.execute(changes.insert(), group.changes)


_UPDATED = [column.name for column in _HEAD_COLUMNS if column.name not in ("id", "window_version")]
_UPDATE_HEAD = (
    sessions.update()
    .where(sessions.c.id == sa.bindparam("key"))
    .values({name: sa.bindparam(f"new_{name}") for name in _UPDATED})
)


def _head_values(head: _Head) -> dict[str, Any]:
    window, usage = head.window, head.usage
    return {
        "key": head.key,
        "new_log_version": head.log_version,
        "new_last_seq": head.last_seq,
        "new_update_time": head.update_time,
        "new_window_events": window.events,
        "new_window_turns": window.turns,
        "new_window_bytes": window.bytes,
        "new_window_tokens": window.tokens,
        "new_usage_input": usage.input,
        "new_usage_output": usage.output,
        "new_usage_total": usage.total,
        "new_usage_cached": usage.cached,
        "new_usage_reasoning": usage.reasoning,
    }
