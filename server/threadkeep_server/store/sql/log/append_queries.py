"""The appends of a group commit, to any sessions.

The names of the sessions are locked. First this finds or creates and locks the sessions, then looks up the event ids, then
decides each request, then writes everything. A request that fails gets its error and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ....domain.errors import AmbiguousSession, EventIdConflict, SessionNotFound, ThreadkeepError, VersionMismatch
from ....domain.model import NO_USAGE, POSITION_STEP, Counters, EventDraft, SessionRef, Usage
from ...contract.codec import Codec
from ...contract.events import Appended, AppendedEvent, AppendRequest
from ..engine.statements import Statements
from ..schema.tables import APPENDED, INSERTED, events, sessions
from . import append_statements
from .rows import event_row, named
from .session_writes import SessionWrites

Outcome = Appended | ThreadkeepError
_Keys = dict[tuple[str, SessionRef], int]


@dataclass(slots=True)
class _Head:
    """A locked session while the group is decided."""

    id: int
    window_version: int = 0
    log_version: int = 0
    last_seq: int = 0
    update_time: int = 0
    window_events: int = 0
    window_turns: int = 0
    window_bytes: int = 0
    window_tokens: int = 0
    usage: Usage = NO_USAGE
    """The usage of the events that the group adds."""
    created: bool = False
    last_event_id: str | None = None

    def advance(self, draft: EventDraft) -> None:
        """Counts one more event."""
        self.last_seq += 1
        self.window_events += 1
        self.window_turns += draft.turn_start
        self.window_bytes += len(draft.body)
        self.window_tokens += draft.token_estimate
        if draft.usage is not NO_USAGE:
            self.usage += draft.usage

    def row(self) -> dict[str, Any]:
        """Returns the parameters of the statement that stores it."""
        return {
            "id": self.id,
            "log_version": self.log_version,
            "last_seq": self.last_seq,
            "update_time": self.update_time,
            "window_events": self.window_events,
            "window_turns": self.window_turns,
            "window_bytes": self.window_bytes,
            "window_tokens": self.window_tokens,
        }

    def change(self, request: AppendRequest, first: int, size: int) -> dict[str, Any]:
        """Returns the parameters of the statement that adds the append to the feed."""
        return {
            "kind": APPENDED,
            "session": self.id,
            "time": request.now,
            "first": first,
            "last": self.last_seq,
            "size": size,
            "log_version": self.log_version,
            "window_version": self.window_version,
            "last_seq": self.last_seq,
            "window_events": self.window_events,
            "window_turns": self.window_turns,
            "window_bytes": self.window_bytes,
            "window_tokens": self.window_tokens,
        }

    def usage_row(self) -> dict[str, Any]:
        """Returns the parameters of the statement that adds the usage."""
        usage = self.usage
        return {
            "key": self.id,
            "usage_input": usage.input,
            "usage_output": usage.output,
            "usage_total": usage.total,
            "usage_cached": usage.cached,
            "usage_reasoning": usage.reasoning,
        }


@dataclass(slots=True)
class _Known:
    """An event that is stored, or that this group will store."""

    seq: int
    body: bytes


@dataclass(slots=True)
class _Group:
    """The session rows that were known before, and the rows that the group will write."""

    keys: _Keys
    heads: dict[int, _Head] = field(default_factory=dict)
    known: dict[tuple[int, str], _Known] = field(default_factory=dict)
    touched: dict[int, _Head] = field(default_factory=dict)
    learned: _Keys = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)


class AppendQueries:
    """Appends a group of requests on a connection."""

    def __init__(self, codec: Codec, statements: Statements, writes: SessionWrites) -> None:
        self._codec = codec
        self._writes = writes
        self._statements = append_statements.AppendStatements(statements)

    def __call__(self, connection: Connection, requests: Sequence[AppendRequest], known: _Keys) -> tuple[list[Outcome], _Keys]:
        """Returns the outcomes, and the rows of refs that were not known. A known row may have been deleted."""
        group = _Group(known)
        keys = self._resolve(connection, requests, group)
        self._load_known(connection, requests, keys, group)
        outcomes: list[Outcome] = []
        for request, key in zip(requests, keys, strict=True):
            outcomes.append(key if isinstance(key, ThreadkeepError) else self._decide(connection, request, group, key))
        if group.events:
            heads = [head.row() for head in group.touched.values()]
            usages = [head.usage_row() for head in group.touched.values() if head.usage is not NO_USAGE]
            self._statements.write(connection, group.events, heads, usages, group.changes)
        return outcomes, group.learned

    # --- sessions

    def _resolve(self, connection: Connection, requests: Sequence[AppendRequest], group: _Group) -> list[int | ThreadkeepError]:
        names = [(request.tenant, request.ref) for request in requests]
        group.heads |= self._lock(connection, {group.keys[name] for name in names if name in group.keys})
        return [self._key(connection, request, group) for request in requests]

    def _key(self, connection: Connection, request: AppendRequest, group: _Group) -> int | ThreadkeepError:
        name = (request.tenant, request.ref)
        key = group.keys.get(name)
        if key is not None and key in group.heads:
            return key
        found = connection.execute(sa.select(sessions.c.id).where(named(*name)).limit(2)).scalars().all()
        if len(found) > 1:
            return AmbiguousSession(request.ref.session_id)
        if not found and request.create is not None:
            if (mismatch := _unmet(connection, request, _NOTHING)) is not None:
                return mismatch
            created = (request.tenant, request.create.ref)
            found = [self._writes.insert(connection, {created: request.create})[created]]
            group.heads |= self._lock(connection, set(found))
            group.heads[found[0]].created = True
        if not found:
            return SessionNotFound(request.ref)
        key = int(found[0])
        if key not in group.heads:
            group.heads |= self._lock(connection, {key})
        if key not in group.heads:
            return SessionNotFound(request.ref)
        if not request.ref.is_bare:  # another session may get the same bare id
            group.learned[name] = key
        return key

    def _lock(self, connection: Connection, keys: set[int]) -> dict[int, _Head]:
        return {row.id: _head(row) for row in self._statements.lock(connection, sorted(keys))}

    # --- events

    def _load_known(
        self,
        connection: Connection,
        requests: Sequence[AppendRequest],
        keys: Sequence[int | ThreadkeepError],
        group: _Group,
    ) -> None:
        wanted = [
            (key, draft.event_id)
            for request, key in zip(requests, keys, strict=True)
            if isinstance(key, int) and group.heads[key].last_seq
            for draft in request.drafts
            if not draft.generated_id
        ]
        for row in self._statements.known(connection, wanted):
            group.known[row.session, row.event_id] = _Known(row.seq, row.body[: row.size])

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
        window = Counters(head.window_events, head.window_turns, head.window_bytes, head.window_tokens)
        return Appended(answers, head.log_version, head.last_seq, window, created)

    def _stage(self, request: AppendRequest, group: _Group, head: _Head, fresh: Sequence[EventDraft]) -> None:
        first, bytes_before = head.last_seq + 1, head.window_bytes
        for draft in fresh:
            head.advance(draft)
            group.known[head.id, draft.event_id] = _Known(head.last_seq, draft.body)
            seq = head.last_seq
            group.events.append(event_row(self._codec, draft, head.id, seq, request.now, seq * POSITION_STEP))
        head.log_version += 1
        head.update_time = max(head.update_time, request.now)
        head.last_event_id = fresh[-1].event_id
        group.touched[head.id] = head
        group.changes.append(head.change(request, first, head.window_bytes - bytes_before))


# A session that does not exist, as preconditions see it.
_NOTHING = _Head(0)


def _head(row: Row[Any]) -> _Head:
    return _Head(
        row.id,
        row.window_version,
        row.log_version,
        row.last_seq,
        row.update_time,
        row.window_events,
        row.window_turns,
        row.window_bytes,
        row.window_tokens,
    )


def _unmet(connection: Connection, request: AppendRequest, head: _Head) -> VersionMismatch | None:
    """Returns the unmet precondition, if there is one."""
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
    # The last event by seq has its own position, unless a compaction inserted it elsewhere.
    appended = events.c.position == head.last_seq * POSITION_STEP
    inserted = sa.and_(sa.text(INSERTED), events.c.seq == head.last_seq)
    for place in (appended, inserted):
        found = connection.execute(sa.select(events.c.event_id).where(events.c.session == head.id, place)).scalar()
        if found is not None:
            return str(found)
    raise AssertionError("a log without its last event")
