"""Removals of events in memory: each is one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...domain import errors
from ...domain.erasure import Erased, digest_of
from ...domain.feed import ChangeKind
from ...domain.filters import EventFilter, matches
from ...domain.model import NO_COUNTERS, EventDraft, SessionRef, StoredEvent, counted
from ...domain.removals import (
    MOST_REMOVED,
    OPERATIONS_KEPT,
    OPERATIONS_KEPT_NS,
    Operation,
    Outcome,
    Removal,
    RemovalKind,
    after_removal,
    event_line,
    given_id,
    superseded_id,
)
from ...domain.state.state import StatePatch, StateScope, Totals, record_of
from ..contract.events import Appended, AppendedEvent, AppendRequest
from ..contract.history import AsOf
from ..contract.removals import (
    Chosen,
    Clear,
    Erasable,
    Pop,
    RemovalRequest,
    Removed,
    Rewind,
    Suffix,
    Upsert,
    check_log_version,
    check_operation,
    check_rewound,
    check_suffix,
    fitting_count,
    in_order,
)
from .compaction import InMemoryCompactions, places
from .logs import Entry, Log, settled_names
from .vectors import InMemoryVectors


@dataclass(frozen=True, slots=True)
class _Plan:
    """See store.sql.event_removals.plans.Plan; `added`: with the event to insert before."""

    gone: Sequence[Entry]
    superseded: Sequence[Entry] = ()
    added: Sequence[tuple[EventDraft, Entry | None]] = ()
    replays: Mapping[str, int] = field(default_factory=dict)
    restored: Sequence[Entry] = ()
    again: Sequence[Entry] = ()
    """Active events that were archived at the point of a rewind, and are again."""
    state: tuple[StatePatch, Totals] | None = None
    through: int = 0


class InMemoryRemovals(InMemoryCompactions, InMemoryVectors):
    """RemovalStore in memory."""

    async def erasable(
        self, tenant: str, ref: SessionRef, wanted: EventFilter, limit: int, cursor: int | None = None
    ) -> Erasable:
        log = self._existing(tenant, ref)
        left = [
            entry for entry in log.entries if entry.position > (cursor or 0) and not entry.erased and matches(entry, wanted)
        ]
        names = dict.fromkeys(given_id(entry.event_id) for entry in left[:limit])
        return Erasable(list(names), left[limit - 1].position if len(left) > limit else None)

    async def remove(self, request: RemovalRequest) -> Removed:
        log = self._existing(request.tenant, request.ref)
        known = known_outcome(log, request.operation, request.now)
        if known is not None:
            return Removed(known, _events(log, known) if isinstance(request.what, Pop) else (), replayed=True)
        plan = _plan(log, request)
        nothing = not (plan.gone or plan.added or plan.restored or plan.again or plan.state or request.always_changes)
        if not (nothing and plan.replays):
            check_log_version(request, log.session.versions)
        popped: Sequence[StoredEvent] = ()
        if isinstance(request.what, Pop):
            popped = [replace(entry.stored, archived=True) for entry in plan.gone]
        if nothing:
            outcome = Outcome(
                added=in_order(request.drafts, {}, plan.replays),
                versions=log.session.versions,
                erased=_erased(request, log, ()),
            )
        else:
            outcome = self._apply(log, request, plan)
        note_outcome(log, request.operation, request.now, outcome)
        return Removed(outcome, popped)

    def _apply(self, log: Log, request: RemovalRequest, plan: _Plan) -> Outcome:
        before = log.session.versions
        is_clear = isinstance(request.what, Clear)
        active = [*(entry for entry in plan.gone if not entry.archived), *plan.again]
        left = counted(active)
        content = log.session.content_bytes - sum(entry.content_bytes for entry in active)
        content += sum(entry.content_bytes for entry in plan.restored)
        log.session = replace(log.session, content_bytes=content)
        erased = _erased(request, log, plan.gone)
        names = {entry.key: superseded_id(entry.event_id, entry.seq) for entry in plan.superseded}
        back = {entry.key for entry in plan.restored}
        keys = {entry.key for entry in plan.gone}
        if is_clear:
            log.operations.clear()
        log.entries = [self._left(log, entry, request) if entry.key in keys else entry for entry in log.entries]
        again = {entry.key for entry in plan.again}
        log.entries = [_archived(entry, before.log_version + 1) if entry.key in again else entry for entry in log.entries]
        log.entries = [_restored(entry, before.log_version + 1) if entry.key in back else entry for entry in log.entries]
        log.entries = [replace(each, event_id=names[each.key]) if each.key in names else each for each in log.entries]
        if isinstance(request.what, Rewind):
            names = settled_names(log.entries, plan.through)
            log.entries = [replace(each, event_id=names.get(each.key, each.event_id)) for each in log.entries]
        added = [self._insert(log, request, draft, anchor) for draft, anchor in plan.added]
        drafts = [draft for draft, _ in plan.added]
        fresh = sum((each.counters for each in drafts), NO_COUNTERS) + counted(plan.restored)
        versions = after_removal(before, left, fresh, len(drafts))
        appends_only = bool(plan.added) and not plan.gone
        if appends_only:
            versions = replace(versions, window_version=before.window_version)
        log.session = replace(
            log.session,
            log_version=versions.log_version,
            window_version=versions.window_version,
            window=versions.window,
            update_time=max(log.session.update_time, request.now),
        )
        log.whole.add(versions.log_version)
        unnamed = isinstance(request.what, Clear | Rewind)
        outcome = Outcome(
            removed=len(active) if is_clear else len(plan.gone) + len(plan.again),
            seqs=() if unnamed else tuple(entry.seq for entry in plan.gone),
            added=in_order(request.drafts, {each.event_id: each.seq for each in added}, plan.replays),
            versions=versions,
            erased=erased,
            restored=len(plan.restored),
        )
        if appends_only:
            self._record(request.tenant, log, ChangeKind.APPENDED, request.now, since=before.last_seq)
        else:
            self._report_removal(log, request, plan, outcome, before.last_seq)
        if added:
            appended = Appended(added, versions.log_version, versions.last_seq, versions.window)
            self._commits.appended(AppendRequest(request.tenant, request.ref, drafts, request.now), appended)
        return outcome

    def _report_removal(self, log: Log, request: RemovalRequest, plan: _Plan, outcome: Outcome, last_seq: int) -> None:
        """Adds the changes of a removal to the feed; brings back the state of a rewind. `last_seq`: before it."""
        is_clear = isinstance(request.what, Clear)
        left = sorted([*plan.gone, *plan.again], key=lambda entry: entry.position)
        shown = () if is_clear else left[:MOST_REMOVED]
        removal = Removal(
            request.kind,
            request.erase or request.kind is RemovalKind.ERASED,
            outcome.removed,
            tuple(given_id(entry.event_id) for entry in shown),
            tuple(entry.seq for entry in shown),
            last_seq if is_clear else plan.through,
            outcome.versions.last_seq - last_seq,
            len(plan.restored),
        )
        self._record(request.tenant, log, ChangeKind.REMOVED, request.now, since=last_seq, removal=removal)
        if plan.state is not None:
            change, totals = plan.state
            log.state.apply(change, totals, outcome.versions.log_version)
            record = record_of(StateScope.SESSION, totals.version, change)
            self._record(request.tenant, log, ChangeKind.STATE, request.now, state=record)

    def _left(self, log: Log, entry: Entry, request: RemovalRequest) -> Entry:
        """Returns what stays of an event."""
        version = entry.archived_version if entry.archived else log.session.log_version + 1
        if not request.erase:
            return replace(entry, archived=True, archived_version=version)
        self._events_done.pop(entry.key, None)
        tombstone = entry.sealed if entry.erased else self._codec.tombstone(entry.sealed)
        gone = {"author": "", "author_role": "", "prompt_text": "", "calls": (), "results": (), "result_names": ()}
        gone |= self._codec.facts(tombstone)._asdict() | {"sent": tombstone, "sealed": tombstone}
        # Its sizes stay: reads as of an earlier moment select by them.
        return replace(entry, archived=True, archived_version=version, erased=True, **gone)  # type: ignore[arg-type]

    def _insert(self, log: Log, request: RemovalRequest, draft: EventDraft, anchor: Entry | None) -> AppendedEvent:
        position = None
        if anchor is not None:
            position = places(log, anchor.key, 1)[0]
        added = self._add(log, draft, request.now, log.session.log_version + 1, position)
        log.entries.sort(key=lambda entry: entry.position)
        return added


def _plan(log: Log, request: RemovalRequest) -> _Plan:
    match request.what:
        case Clear():
            return _Plan(log.entries if request.erase else log.active)
        case Pop(count, branch, max_bytes):
            newest = _of_branch(log, branch)[::-1][:count]
            return _Plan(newest[: fitting_count([entry.size for entry in newest], max_bytes)][::-1])
        case Chosen(event_ids):
            for event_id in event_ids:
                if log.find(event_id) is None:
                    raise errors.EventNotFound(request.ref, event_id)
            wanted = set(event_ids)
            return _Plan([entry for entry in log.entries if given_id(entry.event_id) in wanted and not entry.erased])
        case Suffix() as suffix:
            return _suffix(log, request, suffix)
        case Rewind(at):
            return _rewind(log, request, at)
        case Upsert() as upsert:
            return _upsert(log, request, upsert)


def _rewind(log: Log, request: RemovalRequest, at: AsOf) -> _Plan:
    point = log.point(at)
    gone = [entry for entry in log.entries if entry.seq > point.seq and not (entry.erased if request.erase else entry.archived)]
    of_then = [entry for entry in log.entries if entry.seq <= point.seq and not entry.erased]
    back = [entry for entry in of_then if entry.archived and not entry.archived_at(point.log_version)]
    again = [entry for entry in of_then if not entry.archived and entry.archived_at(point.log_version)]
    check_rewound(at, len(gone) + len(back) + len(again))
    was = log.state.as_of(point.log_version)
    now = log.state.values
    patch = StatePatch({key: was[key] for key in was}, tuple(sorted(key for key in now if key not in was)))
    return _Plan(gone, restored=back, again=again, state=log.state.planned(patch, "state"), through=point.seq)


def _archived(entry: Entry, version: int) -> Entry:
    return replace(entry, archived=True, archived_version=version)


def _restored(entry: Entry, version: int) -> Entry:
    past = (*entry.past, (entry.archived_version, version))
    return replace(entry, archived=False, archived_version=0, past=past)


def _of_branch(log: Log, branch: str | None) -> list[Entry]:
    return [entry for entry in log.active if branch in (None, entry.branch)]


def _suffix(log: Log, request: RemovalRequest, suffix: Suffix) -> _Plan:
    count = len(suffix.expected)
    gone = _of_branch(log, suffix.branch)[-count:] if count else []
    check_suffix(request.ref, suffix.expected, [entry.event_id for entry in gone])
    leaving = {entry.event_id: entry for entry in gone}
    for index, draft in enumerate(suffix.drafts):
        if (entry := log.find(draft.event_id)) is not None and draft.event_id not in leaving:
            raise errors.EventIdConflict(f"events[{index}].event_id", draft.event_id, entry.seq)
    superseded = [leaving[draft.event_id] for draft in suffix.drafts if draft.event_id in leaving]
    return _Plan(gone, superseded, [(draft, None) for draft in suffix.drafts])


def _upsert(log: Log, request: RemovalRequest, upsert: Upsert) -> _Plan:
    superseded: list[Entry] = []
    added: list[tuple[EventDraft, Entry | None]] = []
    replays: dict[str, int] = {}
    for draft in upsert.drafts:
        entry = log.find(draft.event_id)
        if entry is not None and entry.sent == draft.body:
            replays[draft.event_id] = entry.seq
            continue
        if entry is not None:
            superseded.append(entry)
        added.append((draft, None if entry is None or entry.archived else entry))
    expected = upsert.expected_last_event_id
    if added and expected is not None and expected != log.last_event_id:
        raise errors.VersionMismatch(request.ref, expected=expected, actual=log.last_event_id)
    return _Plan(sorted(superseded, key=lambda entry: entry.position), superseded, added, replays)


def _erased(request: RemovalRequest, log: Log, gone: Sequence[Entry]) -> Erased | None:
    if not request.erase:
        return None
    lines = sorted((event_line(*log.session.ref, entry.event_id, entry.seq) for entry in gone), key=str.encode)
    return Erased(request.now, request.now, events=len(gone), ids_digest=digest_of(lines))


def _events(log: Log, known: Outcome) -> list[StoredEvent]:
    by_seq = {entry.seq: entry for entry in log.entries}
    return [by_seq[seq].stored for seq in known.seqs]


def known_outcome(log: Log | None, operation: Operation | None, now: int) -> Outcome | None:
    """Returns what an earlier call with the operation id did. Raises OperationConflict."""
    if log is None or operation is None or (stored := log.operations.get(operation.operation_id)) is None:
        return None
    if stored[2] < now - OPERATIONS_KEPT_NS:
        return None
    check_operation(operation, stored[0])
    return stored[1]


def note_outcome(log: Log, operation: Operation | None, now: int, outcome: Outcome) -> None:
    """Keeps the outcome with the operation id, and forgets the oldest."""
    if operation is None:
        return
    log.operations.pop(operation.operation_id, None)
    log.operations[operation.operation_id] = operation.fingerprint, outcome, now
    while len(log.operations) > OPERATIONS_KEPT:
        del log.operations[next(iter(log.operations))]
