"""Windows, compactions, policies and leases of the SQL store."""

from __future__ import annotations

from collections.abc import Sequence

from ....domain.model import Compaction, SessionRef
from ...contract.compaction import Compacted, CompactionPage, CompactionRequest, StoredPolicy, WindowRead
from ...notifier import CommitNotifier
from ..log import context_queries
from ..log.unit_runner import UnitRunner
from . import compact_queries, policy_queries


class SqlCompactions:
    """CompactionStore on a database."""

    def __init__(self, units: UnitRunner, commits: CommitNotifier) -> None:
        self._units = units
        self._commits = commits

    async def read_window(self, tenant: str, ref: SessionRef) -> WindowRead:
        return await self._units.scan(lambda scanner: context_queries.read_window(scanner, tenant, ref), snapshot=True)

    async def compact(self, request: CompactionRequest) -> Compacted:
        compacted = await self._units.write(
            lambda connection: compact_queries.compact(connection, self._units.engine, self._units.codec, request)
        )
        self._commits.committed()
        return compacted

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
