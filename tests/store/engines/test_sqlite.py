"""The suite on SQLite. A database file belongs to one server at a time, so SharedSuite does not apply: see the last test."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Hashable
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from tests.store.rows.durable import Opener
from tests.store.suite import DurableSuite, StoreSuite
from tests.support.codec import CODEC, draft
from tests.support.databases.tenant_conditions import checked_statements, is_bounded
from tests.support.sessions import TENANT, append, create, new_session, ref
from threadkeep_server.domain.errors import SessionNotFound, StoreUnavailable
from threadkeep_server.domain.model import EventDraft
from threadkeep_server.store.contract.maintenance import Totals
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.engine.sqlite_lock import DatabaseInUse
from threadkeep_server.store.sql.engine.statements import Prepared
from threadkeep_server.store.sql.store import SqlStore, open_store
from threadkeep_server.transport.wire.codec import EventCodec

OPEN = """
import sys
from pathlib import Path
from threadkeep_server.store.sql.engine.sqlite_lock import FileLock
FileLock(Path(sys.argv[1].removeprefix("sqlite:///")))
"""


def test_a_statement_without_a_tenant_and_keys_is_found() -> None:
    assert not is_bounded("SELECT body FROM events WHERE author = 'tenant' AND seq > 3")
    assert not is_bounded("DELETE FROM memories WHERE user_id = 'id = 3'")
    assert is_bounded("SELECT id FROM sessions WHERE sessions.tenant = 'acme' AND app = 'shop'")
    assert is_bounded("UPDATE events SET archived = 1 WHERE events.session = 7 AND seq < 9")
    assert is_bounded("SELECT value FROM threadkeep_meta")


class TestSqlite(StoreSuite, DurableSuite):
    compiled: ClassVar[dict[Hashable, Prepared]] = {}
    """The statements of the stores of these tests, which have the same options: compiling takes a fifth of the tests."""

    @pytest.fixture
    def open_again(self, sqlite_url: str) -> Opener:
        return partial(open_store, sqlite_url, CODEC)

    @pytest.fixture
    async def store(self, open_again: Opener) -> AsyncIterator[Store]:
        async with open_again() as store:
            assert isinstance(store, SqlStore)
            store._units.statements._prepared = self.compiled
            with checked_statements(store):
                yield store

    async def test_a_second_server_on_the_file_is_refused(self, open_again: Opener) -> None:
        async with open_again():
            with pytest.raises(DatabaseInUse):
                await open_again().__aenter__()

    @pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
    async def test_a_second_server_on_the_file_by_another_name_is_refused(
        self, open_again: Opener, tmp_path: Path, link: str
    ) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        getattr(elsewhere / "other.db", link)(tmp_path / "threadkeep.db")
        async with open_again() as store:
            await create(store)
            with pytest.raises(DatabaseInUse, match=r"other\.db is in use"):
                await open_store(f"sqlite:///{elsewhere}/other.db", CODEC).__aenter__()
            command = [sys.executable, "-c", OPEN, f"sqlite:///{elsewhere}/other.db"]
            process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
            assert b"other.db is in use by another Threadkeep server" in (await process.communicate())[1]
            await append(store, draft("undisturbed"))
        async with open_store(f"sqlite:///{elsewhere}/other.db", CODEC) as store:
            assert (await store.get_session(TENANT, ref())).last_seq == 1

    async def test_a_session_whose_creation_failed_is_not_confused_with_another(self, tmp_path: Path) -> None:
        """A rolled back row frees its id. A caller that kept the id would write into another session's log."""
        codec = FullDisk()
        async with open_store(f"sqlite:///{tmp_path}/full.db", codec) as store:
            codec.full = True
            with pytest.raises(StoreUnavailable, match="full"):
                await append(store, draft("lost"), to=ref("victim"), create=new_session("victim"))
            codec.full = False
            await create(store, "other", user="bob", tenant="another")
            with pytest.raises(SessionNotFound):
                await append(store, draft("private"), to=ref("victim"))
            assert (await store.info("another", totals=True)).totals == Totals(1, 0)


class FullDisk(EventCodec):
    """Fails as SQLite does when the disk is full, in the middle of an append's transaction."""

    full = False

    def seal(self, draft: EventDraft, seq: int, record_time: int) -> bytes:
        if self.full:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return super().seal(draft, seq, record_time)


async def test_an_unknown_engine_is_refused_at_start() -> None:
    with pytest.raises(ValueError, match="oracle"):
        await open_store("oracle://host/db", CODEC).__aenter__()
