"""The logs in memory, and what every part of the store does with them."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from ...domain import errors
from ...domain.feed import BEGINNING, Change, ChangeKind, Position
from ...domain.model import (
    POSITION_STEP,
    Compaction,
    EventDraft,
    NewSession,
    Session,
    SessionRef,
    StoredEvent,
    Versions,
    WindowEvent,
)
from ...domain.removals import Outcome, given_id, superseded_id
from ...domain.state.state import StatePatch, StateScope, record_of
from ...telemetry.meters import StoreMeters
from ..contract.codec import Codec
from ..contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from ..contract.events import AppendedEvent
from ..contract.feed import change_snapshot
from ..contract.history import AsOf, LogPoint
from ..notifier import CommitNotifier
from .held_state import HeldState


@dataclass(slots=True, kw_only=True)
class Entry(WindowEvent):
    """An event of a log: the facts that filters and windows use, and its bytes as sent and as stored. `key` increases with
    every stored event and is never reused."""

    key: int
    session: int
    sent: bytes
    sealed: bytes
    added_version: int
    archived_version: int = 0
    """0: not archived."""
    erased: bool = False
    past: tuple[tuple[int, int], ...] = ()
    """The log versions from which on, and up to which, it was archived before a rewind."""

    def archived_at(self, version: int) -> int:
        """Returns the log version since which it was archived then; 0: it was not."""
        if 0 < self.archived_version <= version:
            return self.archived_version
        return next((since for since, until in self.past if since <= version < until), 0)

    @property
    def stored(self) -> StoredEvent:
        return StoredEvent(self.seq, self.sealed, self.archived)


@dataclass(slots=True)
class Log:
    """A session and its events in window order. `number` increases with each creation and is never reused. `history`: the
    versions after each change, by log version. `owners`: the former ones, each with the position of its departure, in order;
    `arrival`: the position of the last MOVED."""

    number: int
    session: Session
    entries: list[Entry] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    lease: tuple[str, int] = ("", 0)
    history: dict[int, Versions] = field(default_factory=dict)
    operations: dict[str, tuple[bytes, Outcome, int]] = field(default_factory=dict)
    """By operation id: the fingerprint of the request, the outcome, and the time."""
    state: HeldState = field(default_factory=HeldState)
    owners: list[tuple[Position, str]] = field(default_factory=list)
    arrival: Position = BEGINNING
    whole: set[int] = field(default_factory=set)
    """The log versions of compactions, removals and forks, which a fork has completely or not at all."""

    def find(self, event_id: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.event_id == event_id), None)

    @property
    def active(self) -> list[Entry]:
        return [entry for entry in self.entries if not entry.archived]

    def as_of(self, moment: AsOf | None) -> Log:
        """Returns the log as it was then; without a moment, itself. Raises InvalidField for the future."""
        if moment is None:
            return self
        moment.refuse_future(self.session.last_seq, self.session.log_version)
        then = moment.log_version
        if then is None:
            then = next(entry.added_version for entry in self.entries if entry.seq == moment.seq)
        entries = [
            replace(entry, archived=entry.archived_at(then) > 0) for entry in self.entries if entry.added_version <= then
        ]
        versions = self.history[then]
        session = replace(
            self.session,
            log_version=versions.log_version,
            window_version=versions.window_version,
            last_seq=versions.last_seq,
            window=versions.window,
        )
        return replace(self, entries=entries, session=session)

    def point(self, at: AsOf | None) -> LogPoint:
        """Raises InvalidField for the future."""
        session = self.session
        if at is None:
            return LogPoint(session.last_seq, session.log_version, session.window_version)
        at.refuse_future(session.last_seq, session.log_version)
        version = at.log_version
        if version is None:
            version = next(entry.added_version for entry in self.entries if entry.seq == at.seq)
        if version == 0:
            return LogPoint(0, 0, 0)
        then = self.history[version]
        seq = then.last_seq if at.seq is None or version in self.whole else at.seq
        return LogPoint(seq, version, then.window_version)

    @property
    def last_event_id(self) -> str:
        return given_id(max(self.entries, key=lambda entry: entry.seq).event_id) if self.entries else ""


def settled_names(entries: Iterable[Entry], through: int) -> dict[int, str]:
    """Returns the ids that versions of events get, by key; those that keep theirs are left out. See
    store.sql.log.writing.version_names."""
    versions: dict[str, list[Entry]] = {}
    for entry in entries:
        versions.setdefault(given_id(entry.event_id), []).append(entry)
    names: dict[int, str] = {}
    for name, group in versions.items():
        holder = next((entry for entry in group if entry.event_id == name), None)
        chosen = next((entry for entry in group if not entry.archived), holder)
        if chosen is None or chosen.seq > through:
            early = [entry for entry in group if entry.seq <= through]
            chosen = max(early, key=lambda entry: entry.seq) if early else holder
        if chosen is not None and chosen is not holder:
            names[chosen.key] = name
            if holder is not None:
                names[holder.key] = superseded_id(name, holder.seq)
    return names


class InMemoryLogs:
    """Every session of every tenant."""

    def __init__(self, codec: Codec, clock: Callable[[], int] = time.time_ns) -> None:
        self._codec = codec
        self.meters = StoreMeters()
        self._clock = clock
        self._store_id = uuid.uuid4().hex
        self._token_key = secrets.token_hex(32)
        self._numbers = count(1)
        self._keys = count(1)
        self._logs: dict[tuple[str, SessionRef], Log] = {}
        self._policies: dict[PolicyKey, StoredPolicy] = {}
        self._shared_states: dict[tuple[str, SessionRef], HeldState] = {}
        """The state of users and apps. Their refs have no session_id."""
        self._commits = CommitNotifier()
        self._feed: list[Change] = []
        self._head = self._floor = BEGINNING

    def _of(self, tenant: str) -> Iterator[Log]:
        return (log for (owner, _), log in self._logs.items() if owner == tenant)

    def _find(self, tenant: str, ref: SessionRef) -> Log | None:
        if not ref.is_bare:
            return self._logs.get((tenant, ref))
        found = [log for log in self._of(tenant) if log.session.ref.session_id == ref.session_id]
        if len(found) > 1:
            raise errors.AmbiguousSession(ref.session_id)
        return found[0] if found else None

    def _existing(self, tenant: str, ref: SessionRef) -> Log:
        log = self._find(tenant, ref)
        if log is None:
            raise errors.SessionNotFound(ref)
        return log

    def _drop(self, tenant: str, log: Log, now: int, *, expired: bool = False) -> None:
        """Deletes a session with its policy. The deletion replaces its other changes."""
        self.meters.sessions_deleted.add()
        del self._logs[tenant, log.session.ref]
        self._feed = [change for change in self._feed if change.session != log.number or change.moved]
        self._record(tenant, log, ChangeKind.DELETED, now, labels=log.session.labels, after=log.session, expired=expired)
        key = PolicyKey(tenant, PolicyScope.SESSION, *log.session.ref)
        if key in self._policies:
            self._policies[key] = StoredPolicy(key, None, now)

    def _create(self, tenant: str, new: NewSession) -> Log:
        self.meters.sessions_created.add()
        session = Session(
            new.ref,
            new.uid,
            new.create_time,
            new.update_time,
            new.expire_time,
            new.metadata_json,
            dict(new.labels),
            context_bytes=new.context_bytes,
            parent=new.parent,
        )
        log = self._logs[tenant, new.ref] = Log(next(self._numbers), session, state=HeldState.of(new.state))
        self._record(tenant, log, ChangeKind.CREATED, new.now, after=change_snapshot(session))
        if new.state:
            first = record_of(StateScope.SESSION, 1, StatePatch(dict(new.state)))
            self._record(tenant, log, ChangeKind.STATE, new.now, state=first)
        return log

    def _record(self, tenant: str, log: Log, kind: ChangeKind, time: int, *, since: int | None = None, **details: Any) -> None:
        """Adds a change to the feed. `since`: the last seq before it, if it added events."""
        session = log.session
        added = [] if since is None else [entry for entry in log.entries if entry.seq > since]
        self._head = Position(0, self._head.change + 1)
        change = Change(
            position=self._head,
            kind=kind,
            tenant=tenant,
            ref=session.ref,
            session=log.number,
            time=time,
            first=min((entry.seq for entry in added), default=0),
            last=max((entry.seq for entry in added), default=0),
            size=sum(len(entry.sent) for entry in added),
            log_version=session.log_version,
            window_version=session.window_version,
            last_seq=session.last_seq,
            window_events=session.window.events,
            window_turns=session.window.turns,
            window_bytes=session.window.bytes,
            window_tokens=session.window.tokens,
            **details,
        )
        self._feed.append(change)
        log.history[session.log_version] = session.versions
        self._commits.notify()

    def _add(self, log: Log, draft: EventDraft, record_time: int, version: int, position: int | None = None) -> AppendedEvent:
        """Stores an event with the next seq; by default at the end of the window. `version`: the log version with it."""
        seq = log.session.last_seq + 1
        sealed = self._codec.seal(draft, seq, record_time)
        reading = self._codec.reading(sealed)
        log.entries.append(
            Entry(
                seq=seq,
                time=record_time if draft.event_time is None else draft.event_time,
                role=draft.role,
                author=draft.author,
                author_role=draft.author_role,
                branch=draft.branch,
                synthetic=draft.synthetic,
                **self._codec.facts(sealed)._asdict(),
                event_id=draft.event_id,
                position=seq * POSITION_STEP if position is None else position,
                tokens=draft.token_estimate,
                size=len(draft.body),
                content_bytes=reading.content_bytes,
                calls=reading.calls,
                results=reading.results,
                result_names=reading.result_names,
                prompt_text=reading.prompt_text,
                key=next(self._keys),
                session=log.number,
                sent=draft.body,
                sealed=sealed,
                added_version=version,
            )
        )
        window, usage = log.session.window + draft.counters, log.session.usage + draft.usage
        content = log.session.content_bytes + draft.content_bytes
        log.session = replace(log.session, last_seq=seq, window=window, usage=usage, content_bytes=content)
        return AppendedEvent(draft.event_id, seq, replayed=False)
