"""The suite on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest
import pytest_asyncio

from tests.store.rows.durable import Opener
from tests.store.suite import DurableSuite, SharedSuite, StoreSuite
from tests.support.codec import CODEC
from tests.support.databases.emptied import Emptied, open_emptied
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.store import open_store


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def emptied(shared_postgres_url: str) -> AsyncIterator[Emptied]:
    async with open_emptied(shared_postgres_url) as opened:
        yield opened


@pytest.mark.postgres
@pytest.mark.asyncio(loop_scope="module")
class TestPostgres(StoreSuite, DurableSuite, SharedSuite):
    @pytest.fixture
    def open_again(self, postgres_url: str) -> Opener:
        return partial(open_store, postgres_url, CODEC)

    @pytest_asyncio.fixture(loop_scope="module")
    async def store(self, emptied: Emptied) -> Store:
        return await emptied.store()
