"""The suite on a PostgreSQL that has pgvector and has no pg_trgm."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest

from recollect_server.store.base import Store
from recollect_server.store.sql.store import open_store
from tests.store.rows.durable import Opener
from tests.store.suite import DurableSuite, SharedSuite, StoreSuite
from tests.support.codec import CODEC


@pytest.mark.postgres
class TestPgvector(StoreSuite, DurableSuite, SharedSuite):
    @pytest.fixture
    def open_again(self, pgvector_url: str) -> Opener:
        return partial(open_store, pgvector_url, CODEC)

    @pytest.fixture
    async def store(self, open_again: Opener) -> AsyncIterator[Store]:
        async with open_again() as store:
            yield store
