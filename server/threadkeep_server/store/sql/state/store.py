"""State on a database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from ....domain.state.state import StateName, StatePage, StatePatch, StateQuery
from ..log.unit_runner import FEW_ROWS, UnitRunner
from . import queries
from .writes import Patched, StateUpdate


class SqlStates:
    """StateStore on a database. `patch` joins a group commit."""

    def __init__(self, units: UnitRunner, patch: Callable[[StateUpdate], Awaitable[Patched]]) -> None:
        self._units = units
        self._patch = patch

    async def get_state(self, tenant: str, name: StateName, query: StateQuery) -> StatePage:
        unit = partial(queries.get_state, tenant=tenant, name=name, query=query)
        return await self._units.of(tenant).scan(unit, short=query.limit <= FEW_ROWS)

    async def patch_state(
        self, tenant: str, name: StateName, patch: StatePatch, now: int, *, expected_version: int | None = None
    ) -> int:
        return (await self._patch(StateUpdate(tenant, name, patch, now, expected_version))).version
