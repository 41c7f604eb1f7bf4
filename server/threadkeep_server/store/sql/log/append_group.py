"""A group of appends while it is decided: the sessions as they were found, and the rows to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....domain.errors import EventIdConflict, StateTooLarge, ThreadkeepError, VersionMismatch
from ....domain.model import NO_USAGE, POSITION_STEP, Counters, EventDraft, SessionRef, Usage
from ....domain.state.state import StateScope, delta_field, state_name
from ...contract.events import Appended, AppendedEvent, AppendRequest
from ..encryption.codec import StoredCodec
from ..schema.history import COUNTED_EVERY
from ..schema.tables import APPENDED
from ..state.group import Key, Planned, StateGroup, shared_name
from ..state.records import sealed
from .rows import event_row

Outcome = Appended | ThreadkeepError
Name = tuple[str, SessionRef]
"""A tenant and a session."""
Keys = Mapping[Name, int]
"""The row ids of sessions."""


@dataclass(slots=True)
class Head:
    """A locked session while the group is decided. `user_id`: its owner, which may be another one than in the name by which
    its row was remembered."""

    id: int
    user_id: str = ""
    window_version: int = 0
    log_version: int = 0
    last_seq: int = 0
    update_time: int = 0
    window_events: int = 0
    window_turns: int = 0
    window_bytes: int = 0
    window_tokens: int = 0
    window_content: int = 0
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
        self.window_content += draft.content_bytes
        if draft.usage is not NO_USAGE:
            self.usage += draft.usage

    def counters(self) -> str:
        """Returns the counters of the window as JSON."""
        return f"[{self.window_events},{self.window_turns},{self.window_bytes},{self.window_tokens}]"

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
            "window_content": self.window_content,
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


LastEventId = Callable[[Head], str]


@dataclass(slots=True)
class Known:
    """An event that is stored, or that this group will store."""

    seq: int
    body: bytes


@dataclass(slots=True)
class Group:
    """The session rows that were known before, and the rows that the group will write."""

    keys: Keys
    heads: dict[int, Head] = field(default_factory=dict)
    known: dict[tuple[int, str], Known] = field(default_factory=dict)
    touched: dict[int, Head] = field(default_factory=dict)
    learned: dict[Name, int] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    states: StateGroup | None = None
    """Loaded if a request changes state."""
    state_versions: dict[int, int] = field(default_factory=dict)
    """Of the stored states of the locked sessions, 0 without one, if they were read."""

    def decide(self, codec: StoredCodec, request: AppendRequest, key: int, last_event_id: LastEventId) -> Outcome:
        """Returns the outcome, and stages what the request writes."""
        head = self.heads[key]
        fresh: list[EventDraft] = []
        for index, draft in enumerate(request.drafts):
            stored = self.known.get((key, draft.event_id))
            if stored is None:
                fresh.append(draft)
            elif stored.body != draft.body and not request.ignore_existing:
                return EventIdConflict(f"events[{index}].event_id", draft.event_id, stored.seq)
        if fresh:
            mismatch = unmet(request, head, last_event_id)
            if mismatch is not None:
                return mismatch
            planned = self._plan(request, key) if request.state is not None else []
            if isinstance(planned, StateTooLarge):
                return planned
            self._stage(codec, request, head, fresh)
            if planned:
                self._change_state(codec, request, head, planned)
        fresh_ids = {draft.event_id for draft in fresh}
        answers = [
            AppendedEvent(draft.event_id, self.known[key, draft.event_id].seq, draft.event_id not in fresh_ids)
            for draft in request.drafts
        ]
        created, head.created = head.created, False
        window = Counters(head.window_events, head.window_turns, head.window_bytes, head.window_tokens)
        return Appended(answers, head.log_version, head.last_seq, window, created)

    def _stage(self, codec: StoredCodec, request: AppendRequest, head: Head, fresh: Sequence[EventDraft]) -> None:
        first, bytes_before = head.last_seq + 1, head.window_bytes
        head.log_version += 1
        tenant, session, now, version = request.tenant, head.id, request.now, head.log_version
        for draft in fresh:
            head.advance(draft)
            self.known[session, draft.event_id] = Known(head.last_seq, draft.body)
            seq = head.last_seq
            counters = None if seq % COUNTED_EVERY else head.counters()
            row = event_row(codec, tenant, draft, session, seq, now, seq * POSITION_STEP, version, counters)
            self.events.append(row)
        head.update_time = max(head.update_time, request.now)
        head.last_event_id = fresh[-1].event_id
        self.touched[head.id] = head
        self.changes.append(head.change(request, first, head.window_bytes - bytes_before))

    def _plan(self, request: AppendRequest, key: int) -> list[tuple[StateScope, Planned]] | StateTooLarge:
        """Returns what the request changes in each scope, or why it must not."""
        assert self.states is not None and request.state is not None  # noqa: S101, PT018 - see AppendQueries
        found: list[tuple[StateScope, Planned]] = []
        for scope, patch in request.state.items():
            planned = self.states.plan(state_key(request, scope, key), patch, delta_field(scope))
            if isinstance(planned, StateTooLarge):
                return planned
            if planned is not None:
                found.append((scope, planned))
        return found

    def _change_state(
        self, codec: StoredCodec, request: AppendRequest, head: Head, planned: Sequence[tuple[StateScope, Planned]]
    ) -> None:
        """After `_stage`: that of the session is part of the append's change."""
        assert self.states is not None  # noqa: S101 - it has planned
        for scope, each in planned:
            if scope is StateScope.SESSION:
                record = self.states.apply(each, scope, head.log_version)
                self.changes[-1]["state"] = sealed(codec, request.tenant, record)
            else:
                record = self.states.apply(each, scope, 0)
                self.states.report(each.holder, state_name(scope, request.ref), record, request.now)


def state_key(request: AppendRequest, scope: StateScope, key: int) -> Key:
    """Returns the key of a scope that the request changes. `key`: that of its session."""
    return key if scope is StateScope.SESSION else shared_name(request.tenant, state_name(scope, request.ref))


def unmet(request: AppendRequest, head: Head, last_event_id: LastEventId) -> VersionMismatch | None:
    """Returns the unmet precondition, if there is one."""
    expected = request.expected_log_version
    if expected is not None and expected != head.log_version:
        return VersionMismatch(request.ref, expected=str(expected), actual=str(head.log_version))
    if request.expected_last_event_id is None:
        return None
    if head.last_event_id is None:
        head.last_event_id = last_event_id(head)
    if request.expected_last_event_id != head.last_event_id:
        return VersionMismatch(request.ref, expected=request.expected_last_event_id, actual=head.last_event_id)
    return None
