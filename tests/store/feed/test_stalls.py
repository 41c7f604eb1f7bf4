"""A transaction in another database of the PostgreSQL cluster holds up the feed, and is named."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from tests.support.codec import CODEC, draft
from tests.support.sessions import append, create
from threadkeep_server.store.sql.feed.stalls import StallWatch
from threadkeep_server.store.sql.store import open_store

pytestmark = pytest.mark.postgres


@asynccontextmanager
async def elsewhere(url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to another database of the cluster."""
    connection = await asyncpg.connect(url.replace("+asyncpg", "").rpartition("/")[0] + "/postgres")
    try:
        yield connection
    finally:
        await connection.close()


async def test_a_transaction_of_another_database_that_holds_up_changes_is_named(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_store(postgres_url, CODEC) as store, elsewhere(postgres_url) as other:
        watch = StallWatch(store._units, store.feed_state, 1e-9)
        await create(store)
        async with other.transaction():
            await other.execute("SELECT pg_current_xact_id()")
            pid = other.get_server_pid()
            await append(store, draft())
            await watch.look()
            assert not watch.stalled_s
            await watch.look()
            assert watch.stalled_s > 0
            await watch.look()
        [record] = [each for each in caplog.records if each.name.endswith("stalls")]
        assert f"process {pid} of user test in database postgres, open for " in record.getMessage()
        assert f"pg_terminate_backend({pid}) ends it" in record.getMessage()
        await watch.look()
        assert not watch.stalled_s
