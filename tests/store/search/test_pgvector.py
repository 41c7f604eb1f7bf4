"""Vectors on a PostgreSQL that has pgvector and has no pg_trgm. The rest of the suite is indifferent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest

from tests.store.rows.durable import Opener
from tests.store.rows.memories import DurableMemoryRows
from tests.store.rows.search.memory_vectors import DurableVectorRows, MemoryVectorRows, SharedVectorRows
from tests.store.rows.search.vectors import EmbeddingRows, VectorDeletionRows, VectorModelRows, VectorScopeRows
from tests.support.codec import CODEC
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.store import open_store


@pytest.mark.postgres
@pytest.mark.sampled(2)
class TestVectors(
    DurableMemoryRows,
    VectorModelRows,
    EmbeddingRows,
    VectorDeletionRows,
    VectorScopeRows,
    MemoryVectorRows,
    DurableVectorRows,
    SharedVectorRows,
):
    @pytest.fixture
    def open_again(self, pgvector_url: str) -> Opener:
        return partial(open_store, pgvector_url, CODEC)

    @pytest.fixture
    async def store(self, open_again: Opener) -> AsyncIterator[Store]:
        async with open_again() as store:
            yield store
