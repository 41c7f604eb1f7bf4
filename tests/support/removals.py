"""Short forms of removals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.clock import NOW
from tests.support.sessions import TENANT, ref
from threadkeep_server.domain.model import EventDraft, SessionRef
from threadkeep_server.domain.removals import Operation
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.removals import Chosen, Clear, Pop, RemovalRequest, Removed, Rewind, Suffix, Upsert, What
from threadkeep_server.store.contract.store import Store


def operation(name: str = "op-1", fingerprint: bytes = b"f") -> Operation:
    return Operation(name, fingerprint)


async def remove(
    store: Store, what: What, *, of: SessionRef | None = None, tenant: str = TENANT, now: int = NOW, **options: Any
) -> Removed:
    return await store.remove(RemovalRequest(tenant, of or ref(), now, what, **options))


async def pop(store: Store, count: int = 1, branch: str | None = None, max_bytes: int = 1 << 62, **options: Any) -> Removed:
    return await remove(store, Pop(count, branch, max_bytes), **options)


async def rewind(
    store: Store, seq: int | None = None, version: int | None = None, *, always: bool = False, **options: Any
) -> Removed:
    return await remove(store, Rewind(AsOf(seq, version, prefix="at_"), always), **options)


async def clear(store: Store, **options: Any) -> Removed:
    return await remove(store, Clear(), **options)


async def erase_events(store: Store, *event_ids: str, **options: Any) -> Removed:
    return await remove(store, Chosen(event_ids), erase=True, **options)


async def replace_suffix(
    store: Store, expected: Sequence[str], *drafts: EventDraft, branch: str | None = None, **options: Any
) -> Removed:
    return await remove(store, Suffix(expected, drafts, branch), **options)


async def upsert(store: Store, *drafts: EventDraft, last: str | None = None, **options: Any) -> Removed:
    return await remove(store, Upsert(drafts, last), **options)
