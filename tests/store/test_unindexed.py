"""Search and text filters where there is less to search with: the same answers, only slower."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from threadkeep_server.store.base import Store
from threadkeep_server.store.sql import postgres as postgres_engine
from threadkeep_server.store.sql import sqlite
from threadkeep_server.store.sql.engine import SqlOptions
from threadkeep_server.store.sql.store import open_store
from threadkeep_server.store.sql.text_index import ScopedTexts
from tests.store.rows.app_search import AppSearchRows
from tests.store.rows.filters import FilterRows
from tests.store.rows.recall import CandidateChangeRows, CandidateRows
from tests.store.rows.recall_scopes import CandidateLimitRows, CandidateScopeRows
from tests.store.rows.search import SearchPagingRows, SearchRows, TextRows
from tests.support.codec import CODEC
from tests.support.copies import Copies
from tests.support.postgres import PostgresCluster

OFF = SqlOptions(search_index=False)


class RecallRows(AppSearchRows, CandidateRows, CandidateChangeRows, CandidateScopeRows, CandidateLimitRows):
    """What a store does with words."""


class TestSqliteWithTheIndexOff(TextRows, SearchRows, SearchPagingRows, FilterRows, RecallRows):
    @pytest.fixture
    async def store(self, sqlite_url: str) -> AsyncIterator[Store]:
        async with open_store(sqlite_url, CODEC, options=OFF) as store:
            yield store


class TestSqliteWithoutTrigrams(TextRows, SearchRows, SearchPagingRows, RecallRows):
    """A SQLite that was built without FTS5."""

    @pytest.fixture
    async def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
        monkeypatch.setattr(sqlite, "sqlite_index", ScopedTexts)
        async with open_store(f"sqlite:///{tmp_path}/threadkeep.db", CODEC) as store:
            yield store


@pytest.mark.postgres
class TestPostgresWithTheIndexOff(TextRows, SearchRows, SearchPagingRows, RecallRows):
    @pytest.fixture
    async def store(self, postgres_url: str) -> AsyncIterator[Store]:
        async with open_store(postgres_url, CODEC, options=OFF) as store:
            yield store


@pytest.fixture(scope="module")
def trigramless_copies(postgres: PostgresCluster) -> Copies:
    return Copies(postgres, "without_trigrams")


@pytest.mark.postgres
class TestPostgresWithoutTrigrams(TextRows, SearchRows, SearchPagingRows, RecallRows):
    """A PostgreSQL without pg_trgm."""

    @pytest.fixture
    def url(self, trigramless_copies: Copies, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        monkeypatch.setattr(postgres_engine, "postgres_index", lambda connection: ScopedTexts())
        with trigramless_copies.one() as url:
            yield url

    @pytest.fixture
    async def store(self, url: str) -> AsyncIterator[Store]:
        async with open_store(url, CODEC) as store:
            yield store
