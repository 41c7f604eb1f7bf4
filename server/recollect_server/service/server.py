"""Facts about the server itself, and whether it can do its work."""

from __future__ import annotations

from dataclasses import replace

from ..domain.errors import PermissionDenied
from ..domain.model import Caller
from ..store.base import Store, StoreInfo


class ServerService:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def info(self, caller: Caller, *, totals: bool) -> StoreInfo:
        """Totals are the tenant's: a caller bound to a user is not told them."""
        if totals and caller.user_id is not None:
            raise PermissionDenied("include_totals")
        info = await self._store.info(caller.tenant, totals=totals)
        # How busy the whole store is says something of others.
        return info if caller.user_id is None else replace(info, index_lag=0)
