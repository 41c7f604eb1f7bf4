"""Forks in memory: each is one step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...domain import errors
from ...domain.feed import Change, ChangeKind, Position
from ...domain.model import NOWHERE, Counters, Versions, counted
from ...domain.state.state import StatePatch, StateScope, Totals, record_of, size_of
from ..contract.feed import change_snapshot
from ..contract.forks import Forked, ForkRequest, copied_count, fork_of, fork_outcome, fork_ref
from ..contract.history import LogPoint
from .held_state import HeldState
from .logs import Entry, InMemoryLogs, Log, settled_names
from .removals import known_outcome, note_outcome


class InMemoryForks(InMemoryLogs):
    """ForkStore in memory."""

    async def fork(self, request: ForkRequest) -> Forked:
        tenant = request.tenant
        origin = self._existing(tenant, request.origin)
        known = known_outcome(origin, request.operation, request.now)
        if known is not None:
            made = self._existing(tenant, origin.session.ref._replace(session_id=known.fork))
            return Forked(made.session, replayed=True)
        ref = fork_ref(request, origin.session.ref)
        if (tenant, ref) in self._logs:
            raise errors.SessionAlreadyExists(ref)
        point = origin.point(request.at)
        fork_of(request, origin.session, point, Counters())
        request.admit(point.seq)
        number = next(self._numbers)
        entries, then = self._copied(origin, point, number)
        active = [entry for entry in entries if not entry.archived]
        content = sum(entry.content_bytes for entry in active)
        session = fork_of(request, origin.session, point, counted(active), content)
        history = {version: versions for version, versions in origin.history.items() if version < point.log_version}
        log = Log(number, session, entries, history=history, state=_state_of(origin.state, point.log_version))
        log.whole = {version for version in origin.whole if version <= point.log_version} | {session.log_version}
        log.compactions = [each for each in origin.compactions if each.log_version <= point.log_version]
        log.history[point.log_version] = Versions(point.log_version, point.window_version, point.seq, then)
        log.history[session.log_version] = session.versions
        self._logs[tenant, ref] = log
        note_outcome(origin, request.operation, request.now, fork_outcome(session))
        self._report_fork(tenant, log, request.now)
        return Forked(session)

    def _copied(self, origin: Log, point: LogPoint, number: int) -> tuple[list[Entry], Counters]:
        """Returns the events of the fork, and the counters of the window of the point."""
        found = sorted((entry for entry in origin.entries if entry.seq <= point.seq), key=lambda entry: entry.seq)
        copies: list[Entry] = []
        then: list[Entry] = []
        for entry in found:
            version = entry.archived_at(point.log_version)
            if not version:
                then.append(entry)
            if entry.erased and not version:
                version = point.log_version + 1
            marks: dict[str, Any] = {"archived": version > 0, "archived_version": version}
            marks["past"] = tuple(each for each in entry.past if each[1] <= point.log_version)
            copies.append(replace(entry, key=next(self._keys), session=number, **marks))
        names = settled_names(copies, point.seq)
        copies = [replace(entry, event_id=names.get(entry.key, entry.event_id)) for entry in copies]
        return sorted(copies, key=lambda entry: entry.position), counted(then)

    def _report_fork(self, tenant: str, log: Log, now: int) -> None:
        """Adds the changes of a fork to the feed."""
        session = log.session
        self._note_change(tenant, log, ChangeKind.CREATED, now, NOWHERE, after=change_snapshot(session))
        if log.state.values:
            first = record_of(StateScope.SESSION, 1, StatePatch(dict(log.state.values)))
            self._note_change(tenant, log, ChangeKind.STATE, now, NOWHERE, state=first)
        left = sorted(log.entries, key=lambda entry: entry.seq)
        while left:
            count = copied_count([entry.size for entry in left])
            part, left = left[:count], left[count:]
            versions = replace(session.versions, last_seq=part[-1].seq)
            span = {"first": part[0].seq, "last": part[-1].seq, "size": sum(entry.size for entry in part)}
            self._note_change(tenant, log, ChangeKind.COPIED, now, versions, **span)
        self._commits.notify()

    def _note_change(self, tenant: str, log: Log, kind: ChangeKind, now: int, versions: Versions, **details: Any) -> None:
        self._head = Position(0, self._head.change + 1)
        window = versions.window
        change = Change(
            self._head,
            kind,
            tenant,
            log.session.ref,
            log.number,
            now,
            log_version=versions.log_version,
            window_version=versions.window_version,
            last_seq=versions.last_seq,
            window_events=window.events,
            window_turns=window.turns,
            window_bytes=window.bytes,
            window_tokens=window.tokens,
            **details,
        )
        self._feed.append(change)


def _state_of(state: HeldState, log_version: int) -> HeldState:
    """Returns a copy of the state as it was, with its earlier values."""
    past = {key: [each for each in values if each[0] <= log_version] for key, values in state.past.items()}
    past = {key: values for key, values in past.items() if values}
    copy = HeldState(past=past)
    copy.values = copy.as_of(log_version)
    if any(value is not None for values in past.values() for _, value in values):
        copy.totals = Totals(1, len(copy.values), size_of(copy.values.items()))
    return copy
