"""The suite on SQLite. A database file belongs to one server at a time, so SharedSuite does not apply: see the last test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from recollect_server.store.base import Store
from recollect_server.store.sql.sqlite import DatabaseInUse
from recollect_server.store.sql.store import open_store

from tests.store.rows.durable import Opener
from tests.store.suite import DurableSuite, StoreSuite
from tests.support.codec import CODEC


class TestSqlite(StoreSuite, DurableSuite):
    @pytest.fixture
    def open_again(self, tmp_path: Path) -> Opener:
        return partial(open_store, f"sqlite:///{tmp_path}/recollect.db", CODEC)

    @pytest.fixture
    async def store(self, open_again: Opener) -> AsyncIterator[Store]:
        async with open_again() as store:
            yield store

    async def test_a_second_server_on_the_file_is_refused(self, open_again: Opener) -> None:
        async with open_again():
            with pytest.raises(DatabaseInUse):
                await open_again().__aenter__()


async def test_r_35_an_unknown_engine_is_refused_at_start() -> None:
    with pytest.raises(ValueError, match="oracle"):
        await open_store("oracle://host/db", CODEC).__aenter__()
