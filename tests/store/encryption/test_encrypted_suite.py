"""Stores keep the promises of the contract with encryption, except those about embeddings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from tests.store.rows.append import ReplayRows
from tests.store.rows.durable import DurableRows, Opener
from tests.store.rows.feed_reading import FeedEventRows
from tests.store.rows.filters import FilterRows
from tests.store.rows.insertion import CompactedSearchRows
from tests.store.rows.memories import DurableMemoryRows, MemoryListRows, SubstringRows
from tests.store.rows.reading import FidelityRows
from tests.store.rows.search.app_search import AppSearchRows
from tests.store.rows.search.literal_search import SearchRows
from tests.store.rows.search.memory_terms import MemoryCandidateRows
from tests.store.rows.search.ranked_search import CandidateRows
from tests.store.rows.windows import WindowRows
from tests.store.suite import TextSuite
from tests.support.codec import CODEC
from tests.support.runs.thoroughness import LONG
from tests.support.sessions import TENANT
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.store import open_store

from .conftest import ENCRYPTED


@asynccontextmanager
async def open_encrypted(url: str) -> AsyncIterator[Store]:
    async with open_store(url, CODEC, options=ENCRYPTED) as store:
        assert store._vault is not None
        await store._vault.ready(TENANT)
        yield store


class Encrypted:
    @pytest.fixture
    async def store(self, open_again: Opener) -> AsyncIterator[Store]:
        async with open_again() as store:
            yield store


class OnSqlite(Encrypted):
    @pytest.fixture
    def open_again(self, sqlite_url: str) -> Opener:
        return partial(open_encrypted, sqlite_url)


# Of each subject the rows that read or compare what is encrypted.
@pytest.mark.sampled(3)
class TestOnSqlite(
    OnSqlite,
    ReplayRows,
    FidelityRows,
    FilterRows,
    SearchRows,
    AppSearchRows,
    CandidateRows,
    CompactedSearchRows,
    WindowRows,
    FeedEventRows,
    MemoryListRows,
    SubstringRows,
    MemoryCandidateRows,
    DurableRows,
):
    pass


if LONG:

    class TestAllOnSqlite(OnSqlite, TextSuite, DurableRows, DurableMemoryRows):
        pass

    @pytest.mark.postgres
    class TestAllOnPostgres(Encrypted, TextSuite, DurableRows, DurableMemoryRows):
        @pytest.fixture
        def open_again(self, postgres_url: str) -> Opener:
            return partial(open_encrypted, postgres_url)
