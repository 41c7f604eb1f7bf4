"""Reads that postpone the expiry of what they return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...domain.errors import PermissionDenied
from ...domain.memories import Memory, MemoryScope
from ...domain.model import Caller
from ...domain.roles import WRITER
from ...store.contract.memories import MemoriesStore


def check_refresh(caller: Caller, *, wanted: bool) -> None:
    """Raises PermissionDenied for a caller that may only read: an expiry is part of what is stored."""
    if wanted and WRITER not in caller.roles:
        raise PermissionDenied(role=WRITER)


async def refreshed(store: MemoriesStore, tenant: str, scope: MemoryScope, found: Sequence[Memory], now: int) -> list[Memory]:
    """Postpones the expiry of entries that were read. Returns them with their new times."""
    keys = [memory.key for memory in found if memory.draft.ttl is not None]
    if not keys:
        return list(found)
    later = await store.refresh_memories(tenant, scope, keys, now)
    return [replace(memory, expire_time=later.get(memory.key, memory.expire_time)) for memory in found]
