"""Combined reads of one session, on a database."""

from __future__ import annotations

from functools import partial

from ....domain.filters import EventFilter
from ....domain.model import SessionRef
from ...contract.breakdowns import BranchPage, UsagePage, UsageQuery
from ...contract.loading import Loaded, LoadQuery
from ...contract.removals import Erasable
from ..log.unit_runner import UnitRunner
from ..scan_budget import ScanLimits
from . import branches, loading, usage
from . import erasable as erasing


class SqlSessionReads:
    """LoadStore and BreakdownStore on a database. `limits`: what one list with conditions on bodies decodes."""

    def __init__(self, units: UnitRunner, limits: ScanLimits) -> None:
        self._units = units
        self._limits = limits

    async def load_session(self, tenant: str, ref: SessionRef, query: LoadQuery) -> Loaded:
        unit = partial(loading.load_session, tenant=tenant, ref=ref, query=query, limits=self._limits)
        return await self._units.of(tenant).scan(unit, snapshot=True, replica=True)

    async def list_branches(self, tenant: str, ref: SessionRef, limit: int, after: str | None) -> BranchPage:
        unit = partial(branches.list_branches, tenant=tenant, ref=ref, limit=limit, after=after)
        return await self._units.of(tenant).read(unit, snapshot=True, replica=True)

    async def list_usage(self, tenant: str, ref: SessionRef, query: UsageQuery) -> UsagePage:
        unit = partial(usage.list_usage, tenant=tenant, ref=ref, query=query)
        return await self._units.of(tenant).scan(unit, snapshot=True, replica=True)

    async def erasable(
        self, tenant: str, ref: SessionRef, wanted: EventFilter, limit: int, cursor: int | None = None
    ) -> Erasable:
        unit = partial(erasing.erasable, tenant=tenant, ref=ref, wanted=wanted, limit=limit, cursor=cursor, limits=self._limits)
        return await self._units.of(tenant).scan(unit, snapshot=True, replica=True)
