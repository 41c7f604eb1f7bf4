"""Deleted text does not stay in the files of SQLite."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.support.candidates import caught_up
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.databases.logs import logs_are_empty
from tests.support.memories import ALICE, memory
from tests.support.memories import upsert as upsert_memory
from tests.support.removals import clear, erase_events, upsert
from tests.support.sessions import TENANT, append, create, ref
from threadkeep_server.domain.erasure import Erasure, ErasureScope
from threadkeep_server.domain.memories import Forget
from threadkeep_server.store.sql.schema.tables import index_progress
from threadkeep_server.store.sql.store import SqlStore, open_store

SECRET = "qvothwyx"  # no part of it is in another word


async def fill(store: SqlStore) -> None:
    await create(store, "kept")
    await create(store, "gone")
    await append(store, draft(f"my password is {SECRET} today", event_id="secret"), draft("more"), to=ref("gone"))
    await append(store, draft("something else"), to=ref("kept"))
    await store.add_memories(TENANT, ALICE, [memory(f"likes {SECRET}", id="m1")], NOW, ingesting=False)
    await caught_up(store)
    # Several segments of the indexes hold it.
    await append(store, draft(f"again {SECRET}", event_id="again"), to=ref("gone"))
    await caught_up(store)


async def delete(store: SqlStore) -> None:
    await store.delete_session(TENANT, ref("gone"))
    await store.forget(TENANT, ALICE, Forget(names=["m1"]), NOW)


async def replace_memory(store: SqlStore) -> None:
    await store.delete_session(TENANT, ref("gone"))
    await upsert_memory(store, memory("likes something else", id="m1"))


async def erase(store: SqlStore) -> None:
    """Erases the user, and writes what the other tests keep."""
    erased = await store.erase(Erasure(TENANT, "", ErasureScope(user_id="alice", memories=True), NOW), 60)
    assert (erased.sessions, erased.memories) == (2, 1)
    await create(store, "kept")
    await append(store, draft("something else"), to=ref("kept"))


async def remove_events(store: SqlStore) -> None:
    """Erases events, and deletes the memory."""
    await erase_events(store, "secret", of=ref("gone"))
    await upsert(store, draft("other", event_id="again"), of=ref("gone"), erase=True)
    await store.forget(TENANT, ALICE, Forget(names=["m1"]), NOW)


async def clear_log(store: SqlStore) -> None:
    await clear(store, of=ref("gone"), erase=True)
    await store.forget(TENANT, ALICE, Forget(names=["m1"]), NOW)


def holding(folder: Path) -> Iterator[str]:
    """Returns the names of the files with the secret."""
    for path in sorted(folder.glob("threadkeep.db*")):
        if SECRET.encode() in path.read_bytes():
            yield path.name


@pytest.mark.parametrize("remove", [delete, replace_memory, erase, remove_events, clear_log])
async def test_deleted_text_is_removed_from_the_files_behind_the_deletion(
    sqlite_url: str, tmp_path: Path, remove: Callable[[SqlStore], Awaitable[None]]
) -> None:
    async with open_store(sqlite_url, CODEC) as store:
        await fill(store)
        assert await logs_are_empty(store)
        assert list(holding(tmp_path)) == ["threadkeep.db", "threadkeep.db.search"]
        await remove(store)
        assert store._cleaner is not None
        async with asyncio.timeout(60):
            await store._cleaner.clean()
        assert list(holding(tmp_path)) == []
        assert (await store.get_session(TENANT, ref("kept"))).last_seq == 1


async def test_deleted_text_is_not_in_the_files_after_a_clean_stop(sqlite_url: str, tmp_path: Path) -> None:
    async with open_store(sqlite_url, CODEC) as store:
        await fill(store)
        await delete(store)
    assert list(holding(tmp_path)) == []


async def test_a_server_cleans_up_after_the_one_that_was_killed(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threadkeep_server.store.sql.search.cleaner._STOPS_WITHIN_S", 0)
    async with open_store(sqlite_url, CODEC) as store:
        await fill(store)
        await delete(store)
        await asyncio.sleep(0.1)  # the deletion is noted at once
    assert "threadkeep.db.search" in list(holding(tmp_path))
    monkeypatch.setattr("threadkeep_server.store.sql.search.cleaner._GATHER_S", 0)
    async with open_store(sqlite_url, CODEC), asyncio.timeout(60):
        while list(holding(tmp_path)):  # noqa: ASYNC110 - the cleaner announces nothing
            await asyncio.sleep(0.05)


async def test_an_indexing_that_has_read_can_write_while_the_logs_are_emptied(tmp_path: Path) -> None:
    async with open_store(f"sqlite:///{tmp_path}/threadkeep.db", CODEC) as store:
        await fill(store)
        await logs_are_empty(store)
        has_read, may_write = threading.Event(), threading.Event()

        def reads_then_writes(connection: Connection) -> int:
            connection.execute(sa.select(index_progress)).one()
            has_read.set()
            may_write.wait(60)
            return connection.execute(index_progress.update().values(filled=index_progress.c.filled)).rowcount

        indexing = asyncio.create_task(store._engine.index(reads_then_writes))
        await asyncio.to_thread(has_read.wait, 60)
        emptying = asyncio.create_task(store._engine.empty_logs())
        await asyncio.wait({emptying}, timeout=0.3)  # it would be done by now if it did not wait for the indexing
        may_write.set()
        assert await indexing == 1
        assert await emptying is True
