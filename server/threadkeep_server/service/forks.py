"""The use case of forks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..domain.model import Caller, SessionRef
from ..domain.removals import Operation
from ..store.contract.forks import Forked, ForkRequest, ForkStore
from .access import own_ref
from .points import Point, PointStore, moment_of
from .sessions import DEFAULT_EXPIRY, Expiry, SessionService
from .storage_quota import StorageQuota


@dataclass(frozen=True, slots=True)
class ForkDraft:
    """The fields of a fork; see ForkRequest. Without an id, a new one is made."""

    session_id: str = ""
    expiry: Expiry = DEFAULT_EXPIRY
    metadata_json: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    without_labels: bool = False
    context_bytes: int | None = None


class ForkServiceStore(ForkStore, PointStore, Protocol):
    """The part of the store that forks use."""


class ForkService:
    """Forks sessions. `clock` gives nanoseconds, `new_id` time-ordered unique ids."""

    def __init__(
        self,
        store: ForkServiceStore,
        sessions: SessionService,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        quota: StorageQuota | None = None,
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._clock = clock
        self._new_id = new_id
        self._quota = quota

    async def fork(self, caller: Caller, ref: SessionRef, point: Point, draft: ForkDraft, operation: Operation) -> Forked:
        """Raises QuotaExceeded; EventNotFound for an unknown event or invocation; and what ForkStore.fork raises."""
        origin, now = own_ref(caller, ref), self._clock()
        expire_time = self._sessions.expire_time(draft.expiry, now)
        admission = _Admission(self._quota, caller.tenant)
        request = ForkRequest(
            caller.tenant,
            origin,
            draft.session_id or self._new_id(),
            self._new_id(),
            now,
            operation,
            await moment_of(self._store, caller.tenant, origin, point),
            expire_time,
            draft.metadata_json,
            draft.labels,
            draft.without_labels,
            draft.context_bytes,
            admission.admit,
        )
        made = False
        try:
            forked = await self._store.fork(request)
            made = not forked.replayed
        finally:
            if not made:
                admission.give_back()
        return forked


class _Admission:
    """What a fork may add to what a tenant stores."""

    def __init__(self, quota: StorageQuota | None, tenant: str) -> None:
        self._quota = quota
        self._tenant = tenant
        self._events: int | None = None

    def admit(self, events: int) -> None:
        if self._quota is not None:
            self._quota.admit(self._tenant, sessions=1, events=events)
            self._events = events

    def give_back(self) -> None:
        if self._quota is not None and self._events is not None:
            self._quota.give_back(self._tenant, sessions=1, events=self._events)
