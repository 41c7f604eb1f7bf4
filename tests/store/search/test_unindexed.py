"""Search and text filters where there is less to search with: the same answers, only slower."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tests.store.rows.filters import FilterRows
from tests.store.rows.search.app_search import AppSearchRows
from tests.store.rows.search.literal_search import SearchPagingRows, SearchRows, TextRows
from tests.store.rows.search.ranked_search import CandidateChangeRows, CandidateRows
from tests.store.rows.search.scopes import CandidateLimitRows, CandidateScopeRows
from tests.support.codec import CODEC
from tests.support.databases.emptied import Emptied, open_emptied
from tests.support.databases.migrated import open_once
from tests.support.databases.postgres import PostgresCluster
from tests.support.databases.scratch import scratch_folder
from tests.support.runs.thoroughness import LONG
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.search import text_index
from threadkeep_server.store.sql.search.text_index import ScopedTexts
from threadkeep_server.store.sql.store import open_store

OFF = SqlOptions(search_index=False)
# The short form tries each engine and each kind of missing index once; the long form tries every pair.


class RecallRows(AppSearchRows, CandidateRows, CandidateChangeRows, CandidateScopeRows, CandidateLimitRows):
    """What a store does with words."""


@pytest.mark.sampled(3)
class TestSqliteWithTheIndexOff(TextRows, SearchRows, SearchPagingRows, FilterRows, RecallRows):
    @pytest.fixture
    async def store(self, sqlite_url: str) -> AsyncIterator[Store]:
        async with open_store(sqlite_url, CODEC, options=OFF) as store:
            yield store


@pytest.fixture(scope="module")
def opened_without_trigrams() -> Iterator[Path]:
    with scratch_folder() as folder:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text_index, "sqlite_index", ScopedTexts)
            open_once(folder)
        yield folder


class TestSqliteWithoutTrigrams(TextRows, SearchRows, SearchPagingRows, RecallRows):
    """A SQLite that was built without FTS5."""

    __test__ = LONG

    @pytest.fixture
    async def store(
        self, opened_without_trigrams: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[Store]:
        shutil.copytree(opened_without_trigrams, tmp_path, dirs_exist_ok=True)
        monkeypatch.setattr(text_index, "sqlite_index", ScopedTexts)
        async with open_store(f"sqlite:///{tmp_path}/threadkeep.db", CODEC) as store:
            yield store


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def with_the_index_off(shared_postgres_url: str) -> AsyncIterator[Emptied]:
    async with open_emptied(shared_postgres_url, OFF) as emptied:
        yield emptied


@pytest.mark.postgres
@pytest.mark.asyncio(loop_scope="module")
class TestPostgresWithTheIndexOff(TextRows, SearchRows, SearchPagingRows, RecallRows):
    __test__ = LONG

    @pytest_asyncio.fixture(loop_scope="module")
    async def store(self, with_the_index_off: Emptied) -> Store:
        return await with_the_index_off.store()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def without_trigrams(postgres: PostgresCluster) -> AsyncIterator[Emptied]:
    url = postgres.create_database("without_trigrams")
    async with AsyncExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text_index, "postgres_index", lambda connection: ScopedTexts())
            emptied = await stack.enter_async_context(open_emptied(url))
        yield emptied
    postgres.drop_database("without_trigrams")


@pytest.mark.postgres
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.sampled(3)
class TestPostgresWithoutTrigrams(TextRows, SearchRows, SearchPagingRows, RecallRows):
    """A PostgreSQL without pg_trgm."""

    @pytest_asyncio.fixture(loop_scope="module")
    async def store(self, without_trigrams: Emptied) -> Store:
        return await without_trigrams.store()
