"""Use cases of state."""

from __future__ import annotations

from collections.abc import Callable

from ..domain.errors import InvalidField
from ..domain.model import Caller, SessionRef
from ..domain.state.state import StateDelta, StateName, StatePage, StatePatch, StateQuery, StateScope, delta_field
from ..store.contract.state import StateStore
from .access import own_shared_app, own_state


class StateService:
    """Use cases on the state of sessions, users and apps. `clock` gives nanoseconds."""

    def __init__(self, store: StateStore, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock

    async def get(self, caller: Caller, name: StateName, query: StateQuery) -> StatePage:
        return await self._store.get_state(caller.tenant, own_state(caller, name), query)

    async def patch(self, caller: Caller, name: StateName, patch: StatePatch, expected_version: int | None) -> int:
        """Returns the version after the patch."""
        if not patch:
            raise InvalidField("patch", "must set or remove at least one key")
        if expected_version is not None and expected_version < 0:
            raise InvalidField("expected_version", "must not be negative")
        own = own_state(caller, name)
        return await self._store.patch_state(caller.tenant, own, patch, self._clock(), expected_version=expected_version)


def check_delta(caller: Caller, ref: SessionRef, delta: StateDelta) -> None:
    """Checks what an append to the session changes. `ref`: as own_ref returns it. Raises InvalidField, PermissionDenied."""
    for scope in delta:
        if scope is StateScope.SESSION:
            continue
        if not ref.user_id:
            raise InvalidField("session.user_id", f"is required for {delta_field(scope)}")
        if scope is StateScope.APP:
            own_shared_app(caller, ref.app, delta_field(scope))
