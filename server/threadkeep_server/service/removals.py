"""Use cases of removals: events are popped, cleared, erased or replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..domain import roles
from ..domain.errors import InvalidField, PermissionDenied
from ..domain.filters import EventFilter
from ..domain.model import SECOND_NS, Caller, EventDraft, SessionRef
from ..domain.removals import MOST_REMOVED, Operation
from ..domain.validation import Limits
from ..store.contract.removals import Chosen, Clear, Pop, RemovalRequest, RemovalStore, Removed, Rewind, Suffix, What
from .access import own_ref
from .batches import check_batch
from .erasure import Receipt, Receipts
from .points import Point, PointStore, moment_of
from .storage_quota import StorageQuota

_FIND_NS = 10 * SECOND_NS
"""Time after which events that were found are erased before others are looked for."""


@dataclass(frozen=True, slots=True)
class Removing:
    """What a removal did. `receipt`: of an erasure."""

    removed: Removed
    receipt: Receipt | None = None
    more: bool = False
    """Events that it was to erase may be left."""


@dataclass(frozen=True, slots=True)
class RemovalOptions:
    """What every removal may have. `erase`: erases the content of the events, which needs the role ADMIN."""

    erase: bool = False
    expected_log_version: int | None = None
    operation: Operation | None = None


class RemovalServiceStore(RemovalStore, PointStore, Protocol):
    """The part of the store that removals use."""


class RemovalService:
    """Use cases of removals. `clock` gives nanoseconds."""

    def __init__(
        self,
        store: RemovalServiceStore,
        receipts: Receipts,
        limits: Limits,
        clock: Callable[[], int],
        quota: StorageQuota | None = None,
    ) -> None:
        self._store = store
        self._receipts = receipts
        self._limits = limits
        self._clock = clock
        self._quota = quota

    async def pop(self, caller: Caller, ref: SessionRef, count: int, branch: str | None, options: RemovalOptions) -> Removing:
        """Pops the newest events. Raises InvalidField, PermissionDenied."""
        if not 0 <= count <= MOST_REMOVED:
            raise InvalidField("count", f"must be 1 to {MOST_REMOVED:,}")
        return await self._remove(caller, ref, Pop(count or 1, branch, self._limits.max_response_bytes), options)

    async def clear(self, caller: Caller, ref: SessionRef, options: RemovalOptions) -> Removing:
        """Empties the window. Raises PermissionDenied."""
        return await self._remove(caller, ref, Clear(), options)

    async def rewind(
        self, caller: Caller, ref: SessionRef, point: Point, options: RemovalOptions, *, always: bool = False
    ) -> Removing:
        """Goes back to a point. Raises InvalidField, EventNotFound, PermissionDenied."""
        check_erases(caller, options.erase)
        at = await moment_of(self._store, caller.tenant, own_ref(caller, ref), point)
        if at is None:
            raise InvalidField("at_seq", "is required, or at_event_id, at_invocation_id or at_log_version")
        return await self._remove(caller, ref, Rewind(at, always), options)

    async def erase(self, caller: Caller, ref: SessionRef, event_ids: Sequence[str], options: RemovalOptions) -> Removing:
        """Erases events. Raises InvalidField, PermissionDenied."""
        if not event_ids:
            raise InvalidField("event_ids", "must not be empty")
        return await self._remove(caller, ref, Chosen(event_ids), replace(options, erase=True))

    async def erase_matching(self, caller: Caller, ref: SessionRef, wanted: EventFilter, options: RemovalOptions) -> Removing:
        """Erases the first MOST_REMOVED events that match. Raises PermissionDenied."""
        check_erases(caller, erases=True)
        found, more = await self._erasable(caller.tenant, own_ref(caller, ref), wanted)
        done = await self._remove(caller, ref, Chosen(found), replace(options, erase=True))
        return replace(done, more=bool(found) if done.removed.replayed else more)

    async def _erasable(self, tenant: str, ref: SessionRef, wanted: EventFilter) -> tuple[list[str], bool]:
        """Returns the ids, and whether there may be others. Each step reads for a limited time, and may find nothing."""
        found: dict[str, None] = {}
        cursor = None
        end = self._clock() + _FIND_NS
        while True:
            page = await self._store.erasable(tenant, ref, wanted, MOST_REMOVED - len(found), cursor)
            found |= dict.fromkeys(page.event_ids)
            cursor = page.cursor
            if cursor is None or len(found) == MOST_REMOVED or (found and self._clock() >= end):
                return list(found), cursor is not None

    async def replace_suffix(
        self,
        caller: Caller,
        ref: SessionRef,
        expected: Sequence[str],
        drafts: Sequence[EventDraft],
        branch: str | None,
        options: RemovalOptions,
    ) -> Removing:
        """Replaces the newest events. Raises InvalidField, BatchTooLarge, QuotaExceeded, PermissionDenied."""
        check_batch(drafts, self._limits)
        if self._quota is not None:
            self._quota.admit(caller.tenant, events=len(drafts))
        return await self._remove(caller, ref, Suffix(expected, drafts, branch), options)

    async def _remove(self, caller: Caller, ref: SessionRef, what: What, options: RemovalOptions) -> Removing:
        check_erases(caller, options.erase)
        own, operation = own_ref(caller, ref), options.operation
        removed = await self._store.remove(
            RemovalRequest(caller.tenant, own, self._clock(), what, options.erase, options.expected_log_version, operation)
        )
        erased = removed.outcome.erased
        if erased is None:
            return Removing(removed)
        scope = own._asdict() | {"events": True}
        name = "" if operation is None else operation.operation_id
        return Removing(removed, self._receipts.receipt(scope, name, erased))


def check_erases(caller: Caller, erases: bool) -> None:
    """Raises PermissionDenied."""
    if erases and roles.ADMIN not in caller.roles:
        raise PermissionDenied(role=roles.ADMIN)
