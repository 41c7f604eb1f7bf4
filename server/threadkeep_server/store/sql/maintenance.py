"""Facts about the SQL store, and notes of background work."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Final

import sqlalchemy as sa
from sqlalchemy import Connection

from ...domain.errors import StoreUnavailable
from ..contract.maintenance import ServerRow, Signs, StoreInfo
from .engine.base import Capability
from .log import session_queries
from .log.store import GroupedWrites
from .log.unit_runner import UnitRunner
from .schema import versions
from .schema.servers import NOW, servers
from .schema.tables import meta
from .search.indexer import lag

_UNWELL_FOR_S: Final = 30.0
"""How long a failed write counts without another: a server that is given no calls could not show that it has recovered."""
_NOTES = "n:"
"""Prefix of the keys of notes in the table of facts."""


class SqlMaintenance:
    """MaintenanceStore on a database, without aclose. `indexed`: whether there is a search index."""

    def __init__(self, units: UnitRunner, writes: GroupedWrites, store_id: str, token_key: str, *, indexed: bool) -> None:
        self._units = units
        self._writes = writes
        self._engine = units.engine
        self._store_id = store_id
        self._token_key = token_key
        self._indexed = indexed

    async def note(self, name: str) -> str | None:
        return await self._units.read(lambda connection: versions.get(connection, _NOTES + name))

    async def put_note(self, name: str, value: str, expected: str | None) -> bool:
        return await self._units.write(lambda connection: _put_note(connection, _NOTES + name, value, expected))

    async def put_server(self, own: ServerRow, forget_after: int) -> Signs:
        if Capability.SHARED not in self._engine.capabilities:
            return Signs([own], own.seen_time)
        return await self._units.write(lambda connection: _put_server(connection, own, forget_after))

    async def remove_server(self, server_id: str) -> None:
        if Capability.SHARED in self._engine.capabilities:
            await self._units.write(lambda connection: connection.execute(servers.delete().where(servers.c.id == server_id)))

    async def info(self, tenant: str, *, totals: bool) -> StoreInfo:
        def unit(connection: Connection) -> StoreInfo:
            return StoreInfo(
                store_id=self._store_id,
                token_key=self._token_key,
                engine=self._engine.name,
                durability=self._engine.durability,
                schema_version=versions.versions(connection)[0],
                indexed=self._indexed,
                index_lag=lag(connection, self._engine, self._units.codec.words_version) if self._indexed else 0,
                totals=session_queries.totals(connection, tenant) if totals else None,
            )

        return await self._units.read(unit)

    async def stored_bytes(self) -> int | None:
        return await self._units.read(self._engine.stored_bytes)

    async def ping(self) -> None:
        await self._units.read(lambda connection: connection.execute(sa.select(1)).scalar())
        if problem := self._engine.low_space() or self._failed_write():
            raise StoreUnavailable(problem)

    def _failed_write(self) -> str | None:
        if self._writes.failure is None:
            return None
        problem, failed_at = self._writes.failure
        recent = time.monotonic() - failed_at < _UNWELL_FOR_S
        return problem if recent and problem in self._engine.of_writes else None


def _put_server(connection: Connection, own: ServerRow, forget_after: int) -> Signs:
    now: int = connection.execute(NOW).scalar_one()
    changed = servers.update().where(servers.c.id == own.id).values(seen_time=now)
    if not connection.execute(changed).rowcount:
        connection.execute(servers.insert(), asdict(own) | {"seen_time": now})
    connection.execute(servers.delete().where(servers.c.seen_time < now - forget_after))
    return Signs([ServerRow(*row) for row in connection.execute(sa.select(servers))], now)


def _put_note(connection: Connection, key: str, value: str, expected: str | None) -> bool:
    if expected is None:
        statement = "INSERT INTO threadkeep_meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING"
        return bool(connection.execute(sa.text(statement), {"key": key, "value": value}).rowcount)
    changed = meta.update().where(meta.c.key == key, meta.c.value == expected).values(value=value)
    return bool(connection.execute(changed).rowcount)
