"""Windows, compactions, policies and leases of the SQL store."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.model import Compaction, SessionRef
from ...contract.compaction import Compacted, CompactionPage, CompactionRequest, StoredPolicy, WindowRead
from ...notifier import CommitNotifier
from ..log import context_queries
from ..log.rows import require
from ..log.scan import Scanner
from ..log.slices import archivings
from ..log.slices.worker import Slices
from ..log.unit_runner import UnitRunner, translate_errors
from ..schema.tables import sessions
from . import compact_queries, policy_queries
from .selections import Selection, is_long, select_ahead

_UNUSED_AFTER_NS = 3600 * 10**9
"""The age of a listing that a stopped server left."""


class SqlCompactions:
    """CompactionStore on a database."""

    def __init__(self, units: UnitRunner, archiver: Slices, commits: CommitNotifier) -> None:
        self._units = units
        self._archiver = archiver
        self._commits = commits

    async def read_window(self, tenant: str, ref: SessionRef, *, with_text: bool = True) -> WindowRead:
        def unit(scanner: Scanner) -> WindowRead:
            return context_queries.read_window(scanner, tenant, ref, with_text=with_text)

        return await self._units.of(tenant).scan(unit, snapshot=True)

    async def compact(self, request: CompactionRequest) -> Compacted:
        engine, codec = self._units.engine, self._units.codec
        await translate_errors(engine, codec.ready(request.tenant))
        await self._settle(request)
        selection = None
        if is_long(request):
            selection = await self._units.of(request.tenant).read(
                lambda connection: select_ahead(connection, request), snapshot=True
            )
            if selection is not None and not request.dry_run:
                selection = await self._list(selection)
        try:
            compacted = await self._units.of(request.tenant).write(
                lambda connection: compact_queries.compact(connection, engine, codec, request, selection)
            )
        finally:
            if selection is not None and selection.listing is not None:
                await self._remove(selection.listing)
        if is_long(request):
            self._archiver.hint()
        self._commits.committed()
        if not request.dry_run and not compacted.replayed:
            self._units.meters.compactions.add()
        return compacted

    async def _settle(self, request: CompactionRequest) -> None:
        """Marks the events that a compaction before this one archived."""

        def unit(connection: Connection) -> int:
            return int(require(connection, request.tenant, request.ref, columns=sa.select(sessions.c.id)).id)

        await self._archiver.settle(request.tenant, unit)

    async def _list(self, selection: Selection) -> Selection:
        """Lists the events that are to be marked one by one if they are many, in slices."""
        most = archivings.ARCHIVED_AT_ONCE
        if len(selection.mark) <= most:
            return selection
        listing = time.time_ns() >> 20 << 20 | secrets.randbits(20)
        await self._remove_left(listing - _UNUSED_AFTER_NS)
        for start in range(0, len(selection.mark), most):
            await self._add(listing, selection.mark[start : start + most])
        return replace(selection, mark=(), listing=listing)

    async def _add(self, listing: int, keys: Sequence[int]) -> None:
        await self._units.write(lambda connection: archivings.add_to_listing(connection, listing, keys))

    async def _remove(self, listing: int) -> None:
        """Removes a listing that the compaction did not use."""
        while await self._units.write(lambda connection: archivings.remove_unused(connection, listing)):
            pass

    async def _remove_left(self, before: int) -> None:
        while (left := await self._units.read(lambda connection: archivings.unused_listing(connection, before))) is not None:
            await self._remove(left)

    async def get_compaction(self, tenant: str, ref: SessionRef, compaction_id: str) -> Compaction | None:
        return await self._units.of(tenant).read(
            lambda connection: compact_queries.get_compaction(connection, tenant, ref, compaction_id)
        )

    async def list_compactions(self, tenant: str, ref: SessionRef, limit: int, cursor: int | None) -> CompactionPage:
        return await self._units.of(tenant).read(
            lambda connection: compact_queries.list_compactions(connection, tenant, ref, limit, cursor)
        )

    async def put_policy(self, policy: StoredPolicy) -> None:
        await self._units.of(policy.key.tenant).write(lambda connection: policy_queries.put_policy(connection, policy))

    async def policies(self, since: int) -> Sequence[StoredPolicy]:
        return await self._units.read(lambda connection: policy_queries.policies_since(connection, since))

    async def lease(self, tenant: str, ref: SessionRef, owner: str, now: int, until: int) -> bool:
        return await self._units.of(tenant).write(
            lambda connection: policy_queries.lease(connection, tenant, ref, owner, now, until)
        )

    async def release(self, tenant: str, ref: SessionRef, owner: str) -> None:
        await self._units.of(tenant).write(lambda connection: policy_queries.release(connection, tenant, ref, owner))
