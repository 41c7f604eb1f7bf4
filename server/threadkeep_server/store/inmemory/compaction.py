"""Windows, compactions and policies of the logs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...domain import errors
from ...domain.context import ContextSpec, is_lead, select_context
from ...domain.feed import ChangeKind
from ...domain.model import POSITION_STEP, Compaction, SessionRef, counted
from ..contract.compaction import (
    Compacted,
    CompactionPage,
    CompactionRequest,
    PolicyScope,
    StoredPolicy,
    WindowRead,
    check_versions,
    compaction_of,
    floor_of,
    parted,
    spread,
)
from ..contract.events import AppendListener, ContextPage, budgeted, context_page
from ..contract.history import AsOf
from .logs import Entry, InMemoryLogs, Log


class InMemoryCompactions(InMemoryLogs):
    """CompactionStore and contexts, in memory."""

    async def get_context(
        self, tenant: str, ref: SessionRef, spec: ContextSpec, default_bytes: int, as_of: AsOf | None = None
    ) -> ContextPage:
        log = self._find(tenant, ref)
        if log is None:
            if as_of is not None:
                as_of.refuse_future(0, 0)
            return ContextPage()
        log = log.as_of(as_of)
        spec = budgeted(spec, log.session.context_bytes, default_bytes)
        active = log.active
        lead = [entry for entry in active if is_lead(entry)]
        conversation = [entry for entry in active if not is_lead(entry)]
        context = select_context(lead, conversation, spec)
        assert context is not None  # noqa: S101 - of a whole window it is always known
        stored = {entry.position: entry.stored for entry in active}
        return context_page(context, [stored[event.position] for event in context.events], log.session.versions, spec)

    async def read_window(self, tenant: str, ref: SessionRef, *, with_text: bool = True) -> WindowRead:
        log = self._existing(tenant, ref)
        active = log.active
        return WindowRead(active, {entry.event_id: entry.sealed for entry in active}, log.session)

    async def compact(self, request: CompactionRequest) -> Compacted:
        log = self._existing(request.tenant, request.ref)
        stored = await self.get_compaction(request.tenant, request.ref, request.compaction_id)
        if stored is not None:
            return Compacted(stored, replayed=True)
        check_versions(request, log.session.log_version, log.session.window_version)
        archived = self._named(log, request, request.archive)
        anchors = self._named(log, request, [before for before in request.inserts if before is not None])
        if gone := archived.keys() & anchors.keys():
            raise errors.EventNotFound(request.ref, min(gone))
        for draft in request.drafts:
            if (entry := log.find(draft.event_id)) is not None:
                raise errors.EventIdConflict("inserts", draft.event_id, entry.seq)
        seqs = [entry.seq for entry in archived.values()]
        compaction = compaction_of(request, log.session.versions, seqs, counted(archived.values()))
        if not request.dry_run:
            self._compact(log, request, compaction, archived.keys())
            self.meters.compactions.add()
        return Compacted(compaction)

    def _named(self, log: Log, request: CompactionRequest, event_ids: Sequence[str]) -> dict[str, Entry]:
        """Returns the active events of these ids."""
        active = {entry.event_id: entry for entry in log.active}
        for event_id in event_ids:
            if event_id not in active:
                raise errors.EventNotFound(request.ref, event_id)
        return {event_id: active[event_id] for event_id in event_ids}

    def _compact(self, log: Log, request: CompactionRequest, compaction: Compaction, archived: Collection[str]) -> None:
        since = log.session.last_seq
        version = compaction.log_version
        left = sum(entry.content_bytes for entry in log.active if entry.event_id in archived)
        log.session = replace(log.session, content_bytes=log.session.content_bytes - left)
        log.entries = [
            replace(entry, archived=True, archived_version=version) if entry.event_id in archived else entry
            for entry in log.entries
        ]
        for before, drafts in request.inserts.items():
            for draft, position in zip(drafts, places(log, _key(log, before), len(drafts)), strict=True):
                self._add(log, draft, request.now, version, position)
            log.entries.sort(key=lambda entry: entry.position)
        log.session = replace(
            log.session,
            log_version=compaction.log_version,
            window_version=compaction.window_version,
            window=compaction.after,
            usage=log.session.usage + request.usage,
            update_time=max(log.session.update_time, request.now),
        )
        log.compactions.append(compaction)
        log.whole.add(version)
        self._record(request.tenant, log, ChangeKind.COMPACTED, request.now, since=since, compaction=compaction)

    async def get_compaction(self, tenant: str, ref: SessionRef, compaction_id: str) -> Compaction | None:
        compactions = self._existing(tenant, ref).compactions
        return next((each for each in compactions if each.compaction_id == compaction_id), None)

    async def list_compactions(self, tenant: str, ref: SessionRef, limit: int, cursor: int | None) -> CompactionPage:
        compactions = self._existing(tenant, ref).compactions
        newest = compactions[: len(compactions) if cursor is None else cursor][::-1]
        left = len(newest) - limit
        return CompactionPage(newest[:limit], left if left > 0 else None)

    async def put_policy(self, policy: StoredPolicy) -> None:
        if policy.key.scope is PolicyScope.SESSION:
            self._existing(policy.key.tenant, policy.key.ref)
        self._policies[policy.key] = policy

    async def policies(self, since: int) -> Sequence[StoredPolicy]:
        return [policy for policy in self._policies.values() if policy.time >= since]

    async def lease(self, tenant: str, ref: SessionRef, owner: str, now: int, until: int) -> bool:
        log = self._existing(tenant, ref)
        if log.lease[1] > now and log.lease[0] != owner:
            return False
        log.lease = (owner, until)
        return True

    async def release(self, tenant: str, ref: SessionRef, owner: str) -> None:
        log = self._find(tenant, ref)
        if log is not None and log.lease[0] == owner:
            log.lease = ("", 0)

    def on_append(self, listener: AppendListener) -> None:
        self._commits.subscribe_appends(listener)


def _key(log: Log, event_id: str | None) -> int | None:
    return None if event_id is None else next(entry.key for entry in log.entries if entry.event_id == event_id)


def places(log: Log, before: int | None, count: int) -> list[int]:
    """Returns positions for events to insert before the event with this key, None: at the end; makes room first if there is
    none."""
    low, high = _gap(log, before)
    found = spread(low, high, count)
    if found is None:
        _make_room(log, high)
        found = spread(*_gap(log, before), count)
    assert found is not None  # noqa: S101 - nobody inserts a hundred thousand events between two others
    return found


def _gap(log: Log, before: int | None) -> tuple[int, int]:
    """Returns the positions to insert between: after all events, or between an event and the previous one, not before the
    position of an appended event."""
    end = log.session.last_seq * POSITION_STEP
    if before is None:
        return end, end + POSITION_STEP
    high = next(entry.position for entry in log.entries if entry.key == before)
    return max(floor_of(high), *(entry.position for entry in log.entries if entry.position < high), 0), high


def _make_room(log: Log, high: int) -> None:
    """Spreads the events that compactions inserted between two appended ones, so that a wide gap is before `high`."""
    floor, size = floor_of(high), POSITION_STEP
    between = [i for i, entry in enumerate(log.entries) if floor < entry.position < floor + size]
    before = sum(log.entries[i].position < high for i in between)
    for i, offset in zip(between, parted(before, len(between) - before, size), strict=True):
        log.entries[i] = replace(log.entries[i], position=floor + offset)
