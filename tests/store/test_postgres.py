"""The suite on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest

from threadkeep_server.store.base import Store
from threadkeep_server.store.sql.store import open_store
from tests.store.rows.durable import Opener
from tests.store.suite import DurableSuite, SharedSuite, StoreSuite
from tests.support.codec import CODEC


@pytest.mark.postgres
class TestPostgres(StoreSuite, DurableSuite, SharedSuite):
    @pytest.fixture
    def open_again(self, postgres_url: str) -> Opener:
        return partial(open_store, postgres_url, CODEC)

    @pytest.fixture
    async def store(self, open_again: Opener) -> AsyncIterator[Store]:
        async with open_again() as store:
            yield store
