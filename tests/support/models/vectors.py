"""Embeddings for tests: a text and a model determine a pseudorandom vector."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np

from tests.support.sessions import TENANT
from threadkeep_server.domain.memories import MemoryScope
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.scopes import EventScope
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.contract.vectors import Embedded, Floats, Source, Unembedded

DIMENSION = 8
EVENTS, MEMORIES = Source


def vector(text: str, model: str = "small", dimension: int = DIMENSION) -> Floats:
    """Has length 1."""
    seed = int.from_bytes(hashlib.blake2b(f"{model}:{text}".encode(), digest_size=8).digest())
    made = np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)
    return made / np.float32(np.linalg.norm(made))


def vectors(texts: Iterable[str], model: str = "small", dimension: int = DIMENSION) -> Floats:
    made = [vector(text, model, dimension) for text in texts]
    return np.array(made, np.float32).reshape(len(made), dimension)


async def caught_up(store: Store) -> None:
    """Waits until the index of the store, if any, contains everything committed."""
    async with asyncio.timeout(30):
        for wait in count():
            if not (await store.info(TENANT, totals=False)).index_lag:
                return
            await asyncio.sleep(min(0.005 * wait, 0.1))


async def queue(store: Store, number: int, limit: int = 100, source: Source = EVENTS) -> Sequence[Unembedded]:
    """Returns the documents without an embedding."""
    await caught_up(store)
    return await store.unembedded(source, number, limit)


async def put(store: Store, number: int, documents: Sequence[Unembedded], model: str = "small", **options: Source) -> int:
    """Stores the embeddings of the documents, and that blank ones need none; returns their number."""
    source = options.get("source", EVENTS)
    written = [each for each in documents if each.text.strip()]
    blank = [each.key for each in documents if not each.text.strip()]
    stored = await store.put_embeddings(source, number, blank, None) if blank else 0
    if written:
        made = vectors((each.text for each in written), model)
        stored += await store.put_embeddings(source, number, [each.key for each in written], made)
    return stored


async def embed_all(store: Store, number: int, model: str = "small", source: Source = EVENTS, limit: int = 100) -> list[str]:
    """Embeds everything that is waiting; returns the texts in the order of the store."""
    done: list[str] = []
    while documents := await queue(store, number, limit, source):
        assert await put(store, number, documents, model, source=source) == len(documents)
        done += [each.text for each in documents]
    return done


async def reported(
    store: Store,
    scope: EventScope | MemoryScope | None = None,
    *,
    number: int = 1,
    tenant: str = TENANT,
    after: int = 0,
    limit: int = 1000,
) -> Embedded:
    """Returns the vectors of a scope."""
    if isinstance(scope, MemoryScope):
        return await store.memory_vectors(tenant, scope, number, after, limit)
    return await store.event_vectors(tenant, scope or SessionRef("shop", "alice", "s1"), number, after, limit)


def texts_of(found: Embedded, texts: Iterable[str], model: str = "small") -> list[str]:
    """Returns the embedded texts, identified by their vectors, in the order of the keys."""
    known = {vector(text, model).tobytes(): text for text in texts}
    assert list(found.keys) == sorted(set(found.keys))
    assert found.vectors.dtype == np.float32
    assert found.keys.dtype == found.sessions.dtype == np.int64
    assert len(found.keys) == len(found.sessions) == len(found.vectors)
    return [known.get(row.tobytes(), "another's") for row in found.vectors]
