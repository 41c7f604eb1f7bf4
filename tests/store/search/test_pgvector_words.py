"""The rows of searches and memories on a PostgreSQL that has pgvector and has no pg_trgm.

Not in one module with the rows of vectors: the store of a module stops where its loop does, and a transaction that its indexer
has left open would hold up the feed of every other database of the cluster.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.store.rows.memories import AddingRows, ForgettingRows, MemoryListRows, SubstringRows
from tests.store.rows.search.literal_search import SearchPagingRows, SearchRows, TextRows
from tests.support.databases.emptied import Emptied, open_emptied
from threadkeep_server.store.contract.store import Store


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def emptied(shared_pgvector_url: str) -> AsyncIterator[Emptied]:
    async with open_emptied(shared_pgvector_url) as opened:
        yield opened


@pytest.mark.postgres
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.sampled(3)
class TestWords(TextRows, SearchRows, SearchPagingRows, AddingRows, ForgettingRows, MemoryListRows, SubstringRows):
    @pytest_asyncio.fixture(loop_scope="module")
    async def store(self, emptied: Emptied) -> Store:
        return await emptied.store()
