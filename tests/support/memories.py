"""Memories for tests: real protobuf bytes, as the transport passes them to a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from tests.support.clock import NOW
from tests.support.sessions import TENANT
from threadkeep.v1 import message_pb2
from threadkeep_server.domain.memories import (
    ALL_MEMORIES,
    Forget,
    Forgotten,
    Memory,
    MemoryDraft,
    MemoryFilter,
    MemoryOutcome,
    MemoryScope,
)
from threadkeep_server.domain.memory.namespaces import Namespace, NamespaceQuery
from threadkeep_server.domain.memory.writes import MemoryWrite, Written
from threadkeep_server.domain.search import ALL_FIELDS, Candidates, Field, WordQuery
from threadkeep_server.store.contract.store import Store

ALICE = MemoryScope("shop", "alice")
_ids = count(1)


def memory(
    text: str = "",
    *,
    id: str | None = None,  # noqa: A002  the draft's own name for it
    parts: Sequence[message_pb2.Part] = (),
    metadata: Mapping[str, Any] | None = None,
    **fields: Any,
) -> MemoryDraft:
    """Returns a draft; further fields are those of MemoryDraft."""
    message = message_pb2.ChatMessage(role=message_pb2.ROLE_USER)
    message.parts.add().text = text
    message.parts.extend(parts)
    encoded = "" if metadata is None else json.dumps(metadata)
    content = message.SerializeToString(deterministic=True)
    fields = {"metadata_json": encoded, **fields}
    return MemoryDraft(f"memory-{next(_ids)}" if id is None else id, content, text, **fields)


def of_event(text: str, event_id: str, session_id: str = "s1", **fields: Any) -> MemoryDraft:
    """Returns the draft that ingestion makes of an event."""
    return memory(text, **{"id": f"{session_id}/{event_id}", "session_id": session_id, "event_id": event_id, **fields})


async def remember(
    store: Store,
    *drafts: MemoryDraft,
    scope: MemoryScope = ALICE,
    tenant: str = TENANT,
    now: int = NOW,
    ingesting: bool = False,
) -> list[MemoryOutcome]:
    return list(await store.add_memories(tenant, scope, drafts, now, ingesting=ingesting))


async def upsert(
    store: Store,
    *drafts: MemoryDraft,
    scope: MemoryScope = ALICE,
    now: int = NOW,
    expected: str | None = None,
    before: Sequence[MemoryDraft] = (),
    replacing: bool = True,
) -> Sequence[Written]:
    """`expected`: of each of the drafts, which are written after those of `before`."""
    writes = [*map(MemoryWrite, before), *(MemoryWrite(draft, expected) for draft in drafts)]
    return await store.write_memories(TENANT, scope, writes, now, replacing=replacing)


async def named(store: Store, *names: str, now: int = NOW) -> Mapping[str, Memory]:
    return (await store.memories_by_name(TENANT, ALICE, names, now, 1 << 20)).found


async def namespaces(store: Store, wanted: NamespaceQuery, *, limit: int = 100, now: int = NOW) -> list[Namespace]:
    """Returns those of all pages, each of at most `limit`."""
    listed: list[Namespace] = []
    cursor: str | None = None
    while True:
        page = await store.memory_namespaces(TENANT, ALICE, wanted, limit, cursor, now)
        assert len(page.namespaces) <= limit
        listed += page.namespaces
        if (cursor := page.cursor) is None:
            return listed


async def ingest(store: Store, *drafts: MemoryDraft, **options: Any) -> list[MemoryOutcome]:
    return await remember(store, *drafts, ingesting=True, **options)


async def remembered(
    store: Store, wanted: MemoryFilter = ALL_MEMORIES, *, scope: MemoryScope = ALICE, tenant: str = TENANT
) -> list[Memory]:
    """Returns all memories of a scope, the last added first."""
    return list((await store.list_memories(tenant, scope, wanted, 1000, None)).memories)


async def holding(
    store: Store,
    folded: str,
    wanted: MemoryFilter = ALL_MEMORIES,
    *,
    limit: int = 100,
    scope: MemoryScope = ALICE,
    tenant: str = TENANT,
) -> list[str]:
    return texts(await store.memories_holding(tenant, scope, folded, wanted, limit))


async def candidates(
    store: Store,
    *terms: str,
    wanted: MemoryFilter = ALL_MEMORIES,
    fields: Field = ALL_FIELDS,
    limit: int = 100,
    scope: MemoryScope = ALICE,
    tenant: str = TENANT,
) -> Candidates:
    return await store.memory_candidates(tenant, scope, WordQuery(terms, fields, limit), wanted)


async def forget(store: Store, *, scope: MemoryScope = ALICE, tenant: str = TENANT, now: int = NOW, **what: Any) -> Forgotten:
    return await store.forget(tenant, scope, Forget(**what), now)


def texts(memories: Iterable[Memory]) -> list[str]:
    return [each.draft.text for each in memories]


async def found(store: Store, *terms: str, scope: MemoryScope = ALICE, tenant: str = TENANT, **options: Any) -> set[str]:
    """Returns the texts of the candidates."""
    keys = [each.key for each in (await candidates(store, *terms, scope=scope, tenant=tenant, **options)).found]
    listed = texts(await store.memories_by_key(tenant, scope, keys))
    assert len(listed) == len(set(keys)) == len(keys), "each candidate is returned once, and exists"
    return set(listed)
