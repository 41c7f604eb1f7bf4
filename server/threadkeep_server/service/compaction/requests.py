"""Compaction on request: by a strategy, by a plan of the caller, or by replacement of the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ...compaction.plan import Window
from ...compaction.strategies.outside import AnyStrategy, Consumer
from ...compaction.triggers import Trigger
from ...compaction.validation import through
from ...domain.errors import EventIdConflict, EventNotFound, InvalidField, NothingToCompact, VersionMismatch
from ...domain.model import Caller, Compaction, EventDraft, SessionRef, Versions
from ...store.contract.codec import Codec
from ...store.contract.compaction import CompactionPage, CompactionRequest, CompactionStore, Inserts, WindowRead
from ...store.contract.events import EventStore
from ...store.contract.sessions import SessionStore
from ..access import own_ref
from ..run_in_thread import MOST_EVENTS, run_in_thread
from .compaction_runner import CompactionRunner, Outcome, StrategyRun
from .plan_laws import PlanLaws
from .policies import PolicyBook


@dataclass(frozen=True, slots=True)
class Application:
    """A plan of the caller: events by id, or the events of a context (from_seq, through_seq)."""

    ref: SessionRef
    expected_window_version: int
    expected_log_version: int | None = None
    compaction_id: str = ""
    archive: Sequence[str] = ()
    through_seq: int | None = None
    from_seq: int = 0
    inserts: Inserts = field(default_factory=dict)
    """None: the end, or with through_seq before the first conversation event that stays."""
    places: Mapping[str, str] = field(default_factory=dict)
    """The request field of each of these ids."""
    branch: str = ""
    strategy: str = "custom"
    actor: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Replacement:
    """A complete new window."""

    ref: SessionRef
    drafts: Sequence[EventDraft]
    expected_log_version: int
    strategy: str = "replace_events"
    actor: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """The result. `compaction` None: the versions differ from the expected ones, or the window already equals the
    replacement."""

    matched: bool
    compaction: Compaction | None
    versions: Versions
    replayed: bool = False


class CompactionRequestStore(SessionStore, EventStore, CompactionStore, Protocol):
    """The part of the store that compaction requests use."""


class CompactionService:
    """Use cases on windows. `clock` gives nanoseconds, `new_id` time-ordered unique ids."""

    def __init__(
        self,
        store: CompactionRequestStore,
        compactor: CompactionRunner,
        book: PolicyBook,
        codec: Codec,
        clock: Callable[[], int],
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._compactor = compactor
        self._book = book
        self._laws = PlanLaws(codec)
        self._clock = clock
        self._new_id = new_id

    async def run(
        self,
        caller: Caller,
        ref: SessionRef,
        strategy: AnyStrategy | None = None,
        *,
        trigger: Trigger | None = None,
        branch: str = "",
        actor: str = "",
        dry_run: bool = False,
    ) -> Outcome:
        """Runs the strategy; None: that of the policy that applies. Raises InvalidField without either and for a consumer; see
        CompactionRunner for the rest."""
        ref = own_ref(caller, ref)
        strategy = strategy or await self._strategy_of(caller.tenant, ref)
        if isinstance(strategy, Consumer):
            problem = f"is the consumer {strategy.consumer!r}, which compacts when it receives changes; name another strategy"
            raise InvalidField("strategy", problem)
        run = StrategyRun(caller.tenant, ref, strategy, branch, trigger, actor)
        return await (self._compactor.preview(run) if dry_run else self._compactor.run(run))

    async def _strategy_of(self, tenant: str, ref: SessionRef) -> AnyStrategy:
        session = await self._store.get_session(tenant, ref)
        effective = self._book.effective(tenant, session.ref)
        if effective is None:
            raise InvalidField("strategy", "is required: no policy applies to the session")
        return effective.policy.strategy

    async def compactions(self, caller: Caller, ref: SessionRef, limit: int, cursor: int | None) -> CompactionPage:
        return await self._store.list_compactions(caller.tenant, own_ref(caller, ref), limit, cursor)

    # --- plans of callers

    async def apply(self, caller: Caller, wanted: Application) -> Applied:
        """Raises NothingToCompact, BrokenToolPair, EventNotFound, EventIdConflict, InvalidField."""
        ref = own_ref(caller, wanted.ref)
        read = await self._store.read_window(caller.tenant, ref, with_text=False)
        # After the read of the window: a concurrent first attempt may change the window in between.
        if wanted.compaction_id:
            stored = await self._store.get_compaction(caller.tenant, read.session.ref, wanted.compaction_id)
            if stored is not None:
                return await self._replayed(caller.tenant, read.session.ref, stored)
        versions = read.session.versions
        if not _at_versions(versions, wanted.expected_window_version, wanted.expected_log_version):
            return Applied(False, None, versions)
        if wanted.through_seq is not None and wanted.through_seq > versions.last_seq:
            raise InvalidField(
                "through_seq", f"is beyond the last seq of the session, {versions.last_seq}; archive only events that were read"
            )
        await self._refuse_inactive(caller.tenant, read, wanted)
        archive, inserts = await run_in_thread(len(read.events), MOST_EVENTS, _placed, read, wanted)
        if not archive and (wanted.through_seq is not None or not inserts):
            raise NothingToCompact(ref)
        await self._laws.check(ref, read, archive, inserts, wanted.branch)
        request = CompactionRequest(
            tenant=caller.tenant,
            ref=read.session.ref,
            compaction_id=wanted.compaction_id or self._new_id(),
            now=self._clock(),
            archive=archive,
            inserts=inserts,
            expected_window_version=wanted.expected_window_version,
            expected_log_version=wanted.expected_log_version,
            strategy=wanted.strategy,
            actor=wanted.actor,
            branch=wanted.branch,
            dry_run=wanted.dry_run,
        )
        return await self._compact(request, versions)

    async def _refuse_inactive(self, tenant: str, read: WindowRead, wanted: Application) -> None:
        """Raises InvalidField for an archived event, EventNotFound for an unknown one."""
        active = {event.event_id for event in read.events}
        archive = ((f"event_ids.ids[{index}]", event_id) for index, event_id in enumerate(wanted.archive))
        anchors = ((wanted.places.get(each, "inserts"), each) for each in wanted.inserts if each is not None)
        for place, event_id in (*archive, *anchors):
            if event_id not in active:
                ref = read.session.ref
                if (await self._store.get_event(tenant, ref, event_id)).archived:
                    raise InvalidField(place, f"names event {event_id!r}, which was archived already; name active events only")
                raise EventNotFound(ref, event_id)  # appended since the window was read

    async def _replayed(self, tenant: str, ref: SessionRef, compaction: Compaction) -> Applied:
        session = await self._store.get_session(tenant, ref)
        return Applied(True, compaction, session.versions, replayed=True)

    async def replace(self, caller: Caller, wanted: Replacement) -> Applied:
        """Raises BrokenToolPair, EventIdConflict, InvalidField."""
        ref = own_ref(caller, wanted.ref)
        read = await self._store.read_window(caller.tenant, ref)
        versions = read.session.versions
        if versions.log_version != wanted.expected_log_version:
            return Applied(False, None, versions)
        kept, inserts = _merged(read, wanted.drafts)
        archive = [event.event_id for event in read.events if event.event_id not in kept]
        await self._laws.check(ref, read, archive, inserts, "")
        request = CompactionRequest(
            tenant=caller.tenant,
            ref=read.session.ref,
            compaction_id=self._new_id(),
            now=self._clock(),
            archive=archive,
            inserts=inserts,
            expected_window_version=versions.window_version,
            expected_log_version=wanted.expected_log_version,
            strategy=wanted.strategy,
            actor=wanted.actor,
            dry_run=wanted.dry_run,
        )
        try:
            return await self._compact(request, versions)
        except NothingToCompact:
            return Applied(True, None, versions)

    async def _compact(self, request: CompactionRequest, versions: Versions) -> Applied:
        try:
            compacted = await self._store.compact(request)
        except VersionMismatch:
            session = await self._store.get_session(request.tenant, request.ref)
            return Applied(False, None, session.versions)
        compaction = compacted.compaction
        if compacted.replayed:
            return await self._replayed(request.tenant, request.ref, compaction)
        if not request.dry_run:
            last_seq = versions.last_seq + len(compaction.inserted)
            versions = Versions(compaction.log_version, compaction.window_version, last_seq, compaction.after)
        return Applied(True, compaction, versions)


def _at_versions(versions: Versions, window_version: int, log_version: int | None) -> bool:
    return versions.window_version == window_version and log_version in (None, versions.log_version)


def _placed(read: WindowRead, wanted: Application) -> tuple[Sequence[str], Inserts]:
    """Returns the ids to archive, and the inserts, with a place for those without one."""
    if wanted.through_seq is None:
        return wanted.archive, wanted.inserts
    archive, first = through(Window(tuple(read.events), wanted.branch), wanted.through_seq, wanted.from_seq)
    placed = dict(wanted.inserts)
    if loose := placed.pop(None, None):
        placed[first] = [*loose, *placed.get(first, ())]
    return archive, placed


def _merged(read: WindowRead, drafts: Sequence[EventDraft]) -> tuple[set[str], dict[str | None, list[EventDraft]]]:
    """Returns the ids of the active events that stay, and the new events by the id of the event that follows them."""
    active = {event.event_id: index for index, event in enumerate(read.events)}
    kept: set[str] = set()
    inserts: dict[str | None, list[EventDraft]] = {}
    run: list[EventDraft] = []
    previous = -1
    for place, draft in enumerate(drafts):
        index = active.get(draft.event_id)
        if index is None:
            run.append(draft)
            continue
        if index <= previous:
            raise InvalidField(f"events[{place}]", "must not precede an event that it follows in the log")
        event = read.events[index]
        if read.bodies[event.event_id][: event.size] != draft.body:
            raise EventIdConflict(f"events[{place}].event_id", draft.event_id, event.seq)
        previous = index
        kept.add(draft.event_id)
        if run:
            inserts[draft.event_id] = run
            run = []
    if run:
        inserts[None] = run
    return kept, inserts
