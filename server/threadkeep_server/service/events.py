"""Use cases of the event log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..domain.context import ContextSpec
from ..domain.errors import EventIdConflict, InvalidField, QuotaExceeded, SessionNotFound
from ..domain.model import Caller, EventDraft, NewSession, SessionRef, StoredEvent
from ..domain.removals import Operation
from ..domain.state.state import StateDelta, StateScope
from ..domain.validation import Limits
from ..store.contract.breakdowns import BranchPage, BreakdownStore, UsagePage, UsageQuery
from ..store.contract.events import Appended, AppendRequest, ContextPage, EventPage, EventQuery, EventStore
from ..store.contract.history import AsOf
from ..store.contract.loading import Loaded, LoadQuery, LoadStore
from ..store.contract.removals import RemovalRequest, RemovalStore, Upsert, appended_of
from .access import own_ref, own_shared_app
from .batches import check_batch
from .removals import check_erases
from .sessions import SessionDraft, SessionService
from .state import check_delta
from .storage_quota import StorageQuota


@dataclass(slots=True)  # not frozen: one for each append
class Append:
    """The request for an append. At most one of the two expectations is set."""

    ref: SessionRef
    drafts: Sequence[EventDraft]
    expected_log_version: int | None = None
    expected_last_event_id: str | None = None
    ignore_existing: bool = False
    create: SessionDraft | None = None
    operation: Operation | None = None
    replace_existing: bool = False
    erase_replaced: bool = False
    state: StateDelta | None = None


class EventServiceStore(EventStore, RemovalStore, LoadStore, BreakdownStore, Protocol):
    """The part of the store that the log uses."""


class EventService:
    """Use cases on the log. `clock` gives nanoseconds."""

    def __init__(
        self,
        store: EventServiceStore,
        sessions: SessionService,
        limits: Limits,
        clock: Callable[[], int],
        quota: StorageQuota | None = None,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._limits = limits
        self._clock = clock
        self._quota = quota

    def append(self, caller: Caller, append: Append) -> Awaitable[Appended]:
        """Validates the request at once; returns an awaitable of the store's result."""
        ref = own_ref(caller, append.ref)
        if not append.drafts:
            raise InvalidField("events", "must not be empty")
        check_batch(append.drafts, self._limits)
        check_erases(caller, append.erase_replaced)
        if append.state is not None:
            check_delta(caller, ref, append.state)
            if append.replace_existing:
                raise InvalidField("state_delta", "is not for IF_EXISTS_REPLACE; use PatchState")
        request = AppendRequest(
            tenant=caller.tenant,
            ref=ref,
            drafts=append.drafts,
            now=self._clock(),
            expected_log_version=append.expected_log_version,
            expected_last_event_id=append.expected_last_event_id,
            ignore_existing=append.ignore_existing,
            create=self._session_to_create(ref, append.create),
            operation=append.operation,
            state=append.state,
        )
        if append.replace_existing:
            return self._replacing(request, erase=append.erase_replaced)
        return self._append(request)

    def _append(self, request: AppendRequest) -> Awaitable[Appended]:
        if self._quota is None:
            return self._store.append(request)
        self._quota.admit(request.tenant, events=len(request.drafts))
        return self._store.append(request) if request.create is None else self._creating(request, self._quota)

    async def _replacing(self, request: AppendRequest, *, erase: bool) -> Appended:
        """Appends events, each in place of the stored one with its id."""
        upsert = RemovalRequest(
            request.tenant,
            request.ref,
            request.now,
            Upsert(request.drafts, request.expected_last_event_id),
            erase,
            request.expected_log_version,
            request.operation,
        )
        while True:
            try:
                return appended_of(await self._store.remove(upsert))
            except SessionNotFound:
                if request.create is None:
                    raise
            try:
                return await self._append(request)
            except EventIdConflict:  # another caller has created the session, and stored the events, in the meantime
                continue

    def _creating(self, request: AppendRequest, quota: StorageQuota) -> Awaitable[Appended]:
        """Appends, and counts the session if that creates one. Beyond the quota only existing sessions are appended to."""
        try:
            quota.admit(request.tenant, sessions=1)
        except QuotaExceeded as error:
            return _unless_missing(self._store.append(replace(request, create=None)), error)
        return self._counted(self._store.append(request), request.tenant, quota)

    async def _counted(self, appending: Awaitable[Appended], tenant: str, quota: StorageQuota) -> Appended:
        created = False
        try:
            result = await appending
            created = result.session_created
        finally:
            if not created:
                quota.give_back(tenant, sessions=1)
        return result

    def _session_to_create(self, ref: SessionRef, draft: SessionDraft | None) -> NewSession | None:
        return None if draft is None else self._sessions.new_session(ref, draft, within="create_if_missing.")

    async def get(self, caller: Caller, ref: SessionRef, event_id: str) -> StoredEvent:
        return await self._store.get_event(caller.tenant, own_ref(caller, ref), event_id)

    async def list(self, caller: Caller, ref: SessionRef, query: EventQuery) -> EventPage:
        return await self._store.list_events(caller.tenant, own_ref(caller, ref), self._limited(query))

    def _limited(self, query: EventQuery) -> EventQuery:
        most = self._limits.max_page_size
        if query.filter.has_window and query.cursor is None:
            wanted = query.filter
            if wanted.page_size is not None and wanted.page_size > most:
                wanted = replace(wanted, page_size=most)
            if wanted is not query.filter or query.limit != most:
                query = replace(query, filter=wanted, limit=most)
        if query.limit > most or query.max_bytes > self._limits.max_response_bytes:
            query = replace(query, limit=min(query.limit, most), max_bytes=self._limits.max_response_bytes)
        return query

    async def load(self, caller: Caller, ref: SessionRef, query: LoadQuery) -> Loaded:
        """Returns a session with its state and its log; without scopes in the query, with the state of all that the caller has
        access to. Raises PermissionDenied."""
        shared = caller.user_id is None
        scopes = query.scopes or [scope for scope in StateScope if shared or scope is not StateScope.APP]
        if StateScope.APP in scopes:
            own_shared_app(caller, ref.app, "state_scopes", app_field="session.app")
        log = self._limited(query.log) if isinstance(query.log, EventQuery) else query.log
        most, context_bytes = self._limits.max_response_bytes, self._limits.context_bytes
        wanted = replace(query, scopes=scopes, log=log, max_bytes=most, context_bytes=context_bytes)
        return await self._store.load_session(caller.tenant, own_ref(caller, ref), wanted)

    async def branches(self, caller: Caller, ref: SessionRef, limit: int, after: str | None) -> BranchPage:
        return await self._store.list_branches(caller.tenant, own_ref(caller, ref), limit, after)

    async def usage(self, caller: Caller, ref: SessionRef, query: UsageQuery) -> UsagePage:
        return await self._store.list_usage(caller.tenant, own_ref(caller, ref), query)

    async def context(self, caller: Caller, ref: SessionRef, spec: ContextSpec, as_of: AsOf | None = None) -> ContextPage:
        """Returns the context. The maximum size of a response limits it like the sizes of the spec."""
        spec = replace(spec, max_size=self._limits.max_response_bytes)
        return await self._store.get_context(caller.tenant, own_ref(caller, ref), spec, self._limits.context_bytes, as_of)


async def _unless_missing(appending: Awaitable[Appended], error: QuotaExceeded) -> Appended:
    """Raises the error if there is no such session."""
    try:
        return await appending
    except SessionNotFound:
        raise error from None
