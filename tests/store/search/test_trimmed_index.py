"""The index of one server, while a server without an index on the same database trims the feed without waiting for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.feed import settled
from tests.support.sessions import TENANT, append, create, ref, search
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.sql.engine.base import SqlOptions
from threadkeep_server.store.sql.schema.tables import event_text
from threadkeep_server.store.sql.search.indexer import Indexer
from threadkeep_server.store.sql.store import SqlStore, open_store

pytestmark = pytest.mark.postgres


@pytest.fixture
async def servers(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[SqlStore, SqlStore]]:
    """A server whose indexer a test steps, and one without an index."""

    async def idle(_: Indexer) -> None:
        """Nothing."""

    monkeypatch.setattr(Indexer, "run", idle)
    async with AsyncExitStack() as stack:
        indexed = await stack.enter_async_context(open_store(postgres_url, CODEC))
        without = await stack.enter_async_context(open_store(postgres_url, CODEC, options=SqlOptions(search_index=False)))
        yield indexed, without


async def catch_up(store: SqlStore) -> None:
    await settled(store)  # or the indexer ends before the last changes
    assert store._indexer is not None
    await store._indexer._catch_up()


async def test_events_trimmed_before_they_were_indexed_are_found(servers: tuple[SqlStore, SqlStore]) -> None:
    indexed, without = servers
    await create(indexed)
    await append(indexed, draft("needle one"))
    await catch_up(indexed)
    await append(without, draft("needle two"))
    await settled(without)
    assert await without.trim_feed(NOW + 1, 100) == 3
    await append(without, draft("needle three"))
    await catch_up(indexed)
    assert len(await search(indexed, "needle", UserScope("alice"))) == 3
    assert (await indexed.info(TENANT, totals=False)).index_lag == 0


async def test_the_last_event_is_found_though_it_was_trimmed_before_it_was_indexed(servers: tuple[SqlStore, SqlStore]) -> None:
    """No later change leads the indexer to look."""
    indexed, without = servers
    await create(indexed)
    await append(indexed, draft("needle one"))
    await catch_up(indexed)
    await append(without, draft("needle two"))
    await settled(without)
    assert await without.trim_feed(NOW + 1, 100) == 3
    await catch_up(indexed)
    assert len(await search(indexed, "needle", UserScope("alice"))) == 2


async def test_deleted_events_are_not_found_though_the_deletion_was_trimmed(servers: tuple[SqlStore, SqlStore]) -> None:
    indexed, without = servers
    await create(indexed)
    await append(indexed, draft("needle"))
    await catch_up(indexed)
    await without.delete_session(TENANT, ref())
    await settled(without)
    assert await without.trim_feed(1 << 62, 100) == 3
    await create(without, "s2")
    await append(without, draft("hay"), to=ref("s2"))
    await catch_up(indexed)
    rows = await indexed._engine.read(lambda connection: connection.execute(event_text.select()).all())
    assert [row.text for row in rows] == ["hay"]
