"""State in memory."""

from __future__ import annotations

from dataclasses import replace

from ...domain import errors
from ...domain.feed import Change, ChangeKind, Position
from ...domain.state.state import (
    StateName,
    StatePage,
    StatePatch,
    StateQuery,
    StateRecord,
    StateScope,
    Totals,
    delta_field,
    record_of,
    state_name,
)
from ..contract.events import AppendRequest
from .held_state import HeldState
from .logs import InMemoryLogs, Log

Planned = tuple[StateName, HeldState, StatePatch, Totals]


class InMemoryStates(InMemoryLogs):
    """StateStore in memory."""

    async def get_state(self, tenant: str, name: StateName, query: StateQuery) -> StatePage:
        if name.scope is StateScope.SESSION:
            return self._existing(tenant, name.ref).state.page(query)
        held = self._shared_states.get((tenant, name.ref))
        return StatePage() if held is None else held.page(query)

    async def patch_state(
        self, tenant: str, name: StateName, patch: StatePatch, now: int, *, expected_version: int | None = None
    ) -> int:
        log = self._existing(tenant, name.ref) if name.scope is StateScope.SESSION else None
        held = self._held_state(tenant, name, log)
        if expected_version not in (None, held.totals.version):
            raise errors.VersionMismatch(name.ref, expected=str(expected_version), actual=str(held.totals.version))
        planned = held.planned(patch, "patch")
        if planned is not None and log is None:
            self._change_shared(tenant, [(name, held, *planned)], now)
        elif planned is not None and log is not None:
            log.session = replace(log.session, update_time=max(log.session.update_time, now))
            log.state.apply(*planned, log.session.log_version)
            change, totals = planned
            self._record(tenant, log, ChangeKind.STATE, now, state=record_of(name.scope, totals.version, change))
        return held.totals.version

    def _plan_delta(self, request: AppendRequest, log: Log | None) -> list[Planned]:
        """Returns the changes of an append. Raises StateTooLarge, before anything is changed."""
        planned: list[Planned] = []
        for scope, patch in (request.state or {}).items():
            name = state_name(scope, request.ref)
            held = self._held_state(request.tenant, name, log)
            if scope is StateScope.SESSION and log is None and request.create is not None:
                held = HeldState.of(request.create.state)
            if (each := held.planned(patch, delta_field(scope))) is not None:
                planned.append((name, held, *each))
        return planned

    def _apply_delta(self, log: Log, planned: list[Planned]) -> StateRecord | None:
        """Changes the session's state, and returns the record of that."""
        for name, _, change, totals in planned:
            if name.scope is StateScope.SESSION:
                log.state.apply(change, totals, log.session.log_version)
                return record_of(name.scope, totals.version, change)
        return None

    def _change_shared(self, tenant: str, planned: list[Planned], now: int) -> None:
        """Changes the state of users and apps."""
        for name, held, change, totals in planned:
            if name.scope is StateScope.SESSION:
                continue
            if not held.number:
                held.number = -next(self._numbers)
                self._shared_states[tenant, name.ref] = held
            held.apply(change, totals, 0)
            self._record_shared(tenant, name, held.number, now, record_of(name.scope, totals.version, change))

    def _record_shared(self, tenant: str, name: StateName, number: int, now: int, record: StateRecord) -> None:
        self._head = Position(0, self._head.change + 1)
        self._feed.append(Change(self._head, ChangeKind.STATE, tenant, name.ref, number, now, state=record))
        self._commits.notify()

    def _held_state(self, tenant: str, name: StateName, log: Log | None) -> HeldState:
        if name.scope is StateScope.SESSION:
            return HeldState() if log is None else log.state
        return self._shared_states.get((tenant, name.ref)) or HeldState()
