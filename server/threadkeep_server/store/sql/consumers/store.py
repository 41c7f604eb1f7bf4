"""Named consumers of the SQL store. Each method is one unit of work."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from ....domain.errors import StoreUnavailable
from ....domain.feed import Change, Position
from ...contract.consumers import Consumer, ConsumerKey, ConsumerState, Parked, Share
from ..engine.base import Unit
from ..log.unit_runner import UnitRunner
from ..schema.incarnations import SeenIncarnations
from . import balance_queries, consumer_queries, parked_queries

T = TypeVar("T")


class SqlConsumers:
    """ConsumerStore on a database."""

    def __init__(self, units: UnitRunner, incarnations: SeenIncarnations) -> None:
        self._units = units
        self._incarnations = incarnations

    async def _write_place(self, key: ConsumerKey, unit: Unit[T]) -> T:
        """Runs a unit that stores a position of the present incarnation."""
        incarnations = self._incarnations.current

        def checked(connection: Connection) -> T:
            if self._incarnations.current is not incarnations:
                raise StoreUnavailable("the database was started again")
            return unit(connection)

        return await self._units.of(key.tenant).write(checked)

    async def join_consumer(self, wanted: Consumer, start: Position, member_id: str, now: int, until: int) -> Consumer:
        return await self._write_place(
            wanted.key, lambda connection: consumer_queries.join(connection, wanted, start, member_id, now, until)
        )

    async def balance(self, key: ConsumerKey, member_id: str, now: int, until: int) -> Share:
        return await self._units.of(key.tenant).write(
            lambda connection: balance_queries.balance(connection, self._units.codec, key, member_id, now, until)
        )

    async def acknowledge(self, key: ConsumerKey, member_id: str, positions: Mapping[int, Position]) -> Collection[int]:
        return await self._write_place(
            key, lambda connection: consumer_queries.acknowledge(connection, key, member_id, positions)
        )

    async def reject(self, key: ConsumerKey, member_id: str, number: int, reason: str) -> int:
        return await self._units.of(key.tenant).write(
            lambda connection: consumer_queries.reject(connection, key, member_id, number, reason)
        )

    async def park(self, key: ConsumerKey, member_id: str, change: Change, reason: str, now: int) -> bool:
        codec = self._units.codec
        if change.state is not None:
            await codec.ready(change.tenant)
        return await self._write_place(
            key, lambda connection: parked_queries.park(connection, codec, key, member_id, change, reason, now)
        )

    async def release_partitions(
        self, key: ConsumerKey, member_id: str, numbers: Collection[int], *, lost: bool, reason: str = ""
    ) -> None:
        await self._units.of(key.tenant).write(
            lambda connection: consumer_queries.release(connection, key, member_id, numbers, lost=lost, reason=reason)
        )

    async def leave(self, key: ConsumerKey, member_id: str) -> None:
        await self._units.of(key.tenant).write(lambda connection: consumer_queries.leave(connection, key, member_id))

    async def finish_replay(self, key: ConsumerKey, parked_id: int, *, failed: str | None, now: int) -> None:
        await self._units.of(key.tenant).write(
            lambda connection: parked_queries.finish_replay(connection, key, parked_id, failed, now)
        )

    async def consumers(self, tenant: str, owner: str, limit: int, after: str) -> Sequence[Consumer]:
        return await self._units.of(tenant).read(
            lambda connection: consumer_queries.listed(connection, self._units.engine, tenant, owner, limit, after)
        )

    async def consumer(self, key: ConsumerKey) -> ConsumerState:
        return await self._units.of(key.tenant).read(lambda connection: consumer_queries.state(connection, key), snapshot=True)

    async def delete_consumer(self, key: ConsumerKey) -> bool:
        return await self._units.of(key.tenant).write(lambda connection: consumer_queries.delete(connection, key))

    async def parked(self, key: ConsumerKey, limit: int, after: int) -> Sequence[Parked]:
        return await self._units.of(key.tenant).read(
            lambda connection: parked_queries.listed(connection, self._units.codec, key, limit, after)
        )

    async def replay_parked(self, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
        return await self._units.of(key.tenant).write(lambda connection: parked_queries.replay(connection, key, parked_ids))

    async def delete_parked(self, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
        return await self._units.of(key.tenant).write(lambda connection: parked_queries.delete(connection, key, parked_ids))
