"""Lists the keys of tenants, and destroys those of one. For the command line: needs no master key."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy import Connection

from ..engine.base import SqlOptions, Unit
from ..engine.factory import open_engine
from ..schema import versions
from ..schema.encryption import tenant_keys
from .encrypter import progress_of

T = TypeVar("T")
_k = tenant_keys.c


class NotAllEncrypted(RuntimeError):
    """Without its keys, a part of what the tenant has stored could still be read."""


class TenantKeys(NamedTuple):
    """The keys of a tenant. Times are nanoseconds; `destroy_time` None: they are in use. `master`: the id of the master key
    that encrypts the newest one."""

    tenant: str
    keys: int
    create_time: int
    destroy_time: int | None
    master: str


def list_keys(url: str) -> Sequence[TenantKeys]:
    """Returns the tenants that have, or had, keys. Raises SchemaTooNew, DatabaseInUse, ForeignDatabase."""
    newest = sa.select(sa.func.max(_k.id)).group_by(_k.tenant)
    counted = sa.select(_k.tenant, sa.func.count().label("number")).group_by(_k.tenant).subquery()
    query = sa.select(_k.tenant, counted.c.number, _k.create_time, _k.destroy_time, _k.master)
    query = query.join(counted, counted.c.tenant == _k.tenant).where(_k.id.in_(newest)).order_by(_k.tenant)
    return [TenantKeys(*row) for row in _run(url, lambda connection: connection.execute(query).all())]


def destroy_keys(url: str, tenant: str) -> int:
    """Overwrites the keys of a tenant. Returns their number. Running servers forget them within seconds.

    Raises NotAllEncrypted, SchemaTooNew, DatabaseInUse, ForeignDatabase.
    """

    def unit(connection: Connection) -> int:
        progress = progress_of(connection)
        if progress is not None and not progress.is_done():
            raise NotAllEncrypted(
                "not all stored texts are encrypted yet; run the server with its key until its log says that they are"
            )
        mine = _k.tenant == tenant, _k.wrapped.is_not(None)
        values = {"wrapped": None, "destroy_time": time.time_ns()}
        return connection.execute(tenant_keys.update().where(*mine).values(values)).rowcount

    return _run(url, unit)


def _run(url: str, unit: Unit[T]) -> T:
    async def work() -> T:
        engine = open_engine(url, SqlOptions())
        try:
            await versions.prepare(engine)
            return await engine.write(unit)
        finally:
            await engine.aclose()

    return asyncio.run(work())
