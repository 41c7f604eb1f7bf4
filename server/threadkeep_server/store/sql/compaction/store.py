"""Windows, compactions, policies and leases of the SQL store."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.model import Compaction, SessionRef
from ...contract.compaction import Compacted, CompactionPage, CompactionRequest, StoredPolicy, WindowRead
from ...notifier import CommitNotifier
from ..log import context_queries
from ..log.rows import require
from ..log.scan import Scanner
from ..log.slices.worker import Slices
from ..log.unit_runner import UnitRunner
from ..schema.tables import sessions
from . import compact_queries, policy_queries
from .selections import is_long, select_ahead


class SqlCompactions:
    """CompactionStore on a database."""

    def __init__(self, units: UnitRunner, archiver: Slices, commits: CommitNotifier) -> None:
        self._units = units
        self._archiver = archiver
        self._commits = commits

    async def read_window(self, tenant: str, ref: SessionRef, *, with_text: bool = True) -> WindowRead:
        def unit(scanner: Scanner) -> WindowRead:
            return context_queries.read_window(scanner, tenant, ref, with_text=with_text)

        return await self._units.scan(unit, snapshot=True)

    async def compact(self, request: CompactionRequest) -> Compacted:
        engine, codec = self._units.engine, self._units.codec
        await self._settle(request)
        selection = None
        if is_long(request):
            selection = await self._units.read(lambda connection: select_ahead(connection, request), snapshot=True)
        compacted = await self._units.write(
            lambda connection: compact_queries.compact(connection, engine, codec, request, selection)
        )
        if is_long(request):
            self._archiver.hint()
        self._commits.committed()
        return compacted

    async def _settle(self, request: CompactionRequest) -> None:
        """Marks the events that a compaction before this one archived; the transaction would mark them all at once."""

        def unit(connection: Connection) -> int | None:
            session: int = require(connection, request.tenant, request.ref, columns=sa.select(sessions.c.id)).id
            return session if self._archiver.waits(connection, session) else None

        session = await self._units.read(unit)
        if session is not None:
            await self._archiver.finish(session)

    async def get_compaction(self, tenant: str, ref: SessionRef, compaction_id: str) -> Compaction | None:
        return await self._units.read(lambda connection: compact_queries.get_compaction(connection, tenant, ref, compaction_id))

    async def list_compactions(self, tenant: str, ref: SessionRef, limit: int, cursor: int | None) -> CompactionPage:
        return await self._units.read(
            lambda connection: compact_queries.list_compactions(connection, tenant, ref, limit, cursor)
        )

    async def put_policy(self, policy: StoredPolicy) -> None:
        await self._units.write(lambda connection: policy_queries.put_policy(connection, policy))

    async def policies(self, since: int) -> Sequence[StoredPolicy]:
        return await self._units.read(lambda connection: policy_queries.policies_since(connection, since))

    async def lease(self, tenant: str, ref: SessionRef, owner: str, now: int, until: int) -> bool:
        return await self._units.write(lambda connection: policy_queries.lease(connection, tenant, ref, owner, now, until))

    async def release(self, tenant: str, ref: SessionRef, owner: str) -> None:
        await self._units.write(lambda connection: policy_queries.release(connection, tenant, ref, owner))
