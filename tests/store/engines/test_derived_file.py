"""SQLite's file with the search index: results are complete even if the file is missing, outdated or of another database."""

from __future__ import annotations

import asyncio
import shutil
import stat
import time
from pathlib import Path

from tests.support.candidates import caught_up
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.search import SearchQuery
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.sql.schema.tables import SCHEMA_VERSION
from threadkeep_server.store.sql.schema.versions import current
from threadkeep_server.store.sql.store import open_store


async def _found(store: Store, term: str) -> int:
    page = await store.search(TENANT, SearchQuery(UserScope("alice"), EventFilter(keyword=term)))
    return len(page.hits)


async def _filled(path: Path, *texts: str) -> None:
    async with open_store(f"sqlite:///{path}", CODEC) as store:
        await create(store)
        for text in texts:
            await append(store, draft(text), now=time.time_ns())
        await caught_up(store)


async def test_a_log_restored_from_a_backup_is_searched_completely(tmp_path: Path) -> None:
    path = tmp_path / "threadkeep.db"
    await _filled(path, "first")
    shutil.copy(path, tmp_path / "backup")
    async with open_store(f"sqlite:///{path}", CODEC) as store:
        for n in range(3):
            await append(store, draft(f"later {n}"), now=time.time_ns())
        await caught_up(store)
    shutil.copy(tmp_path / "backup", path)
    async with open_store(f"sqlite:///{path}", CODEC) as store:
        await append(store, draft("giraffe"), now=time.time_ns())
        await caught_up(store)
        assert await _found(store, "giraffe") == 1
        assert await _found(store, "first") == 1
        assert await _found(store, "later") == 0


async def test_a_new_database_with_an_old_derived_file_is_searched_completely(tmp_path: Path) -> None:
    path = tmp_path / "threadkeep.db"
    await _filled(path, "old elephant")
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    await _filled(path, "fresh hippo")
    async with open_store(f"sqlite:///{path}", CODEC) as store:
        assert await _found(store, "hippo") == 1
        assert await _found(store, "elephant") == 0


async def test_without_its_derived_file_everything_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "threadkeep.db"
    await _filled(path, "first", "second")
    path.with_name(path.name + ".search").unlink()
    async with open_store(f"sqlite:///{path}", CODEC) as store:
        assert await _found(store, "second") == 1
        await caught_up(store)
        assert await _found(store, "first") == 1


async def test_only_the_owner_may_read_the_files(tmp_path: Path) -> None:
    await _filled(tmp_path / "data" / "threadkeep.db", "secret")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "data").iterdir()}
    assert set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_reading_the_schema_version_creates_nothing(tmp_path: Path) -> None:
    assert current(f"sqlite:///{tmp_path}/none/threadkeep.db") == (0, SCHEMA_VERSION)
    assert list(tmp_path.iterdir()) == []


async def test_the_version_of_a_database_in_use_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "threadkeep.db"
    async with open_store(f"sqlite:///{path}", CODEC):
        assert await asyncio.to_thread(current, f"sqlite:///{path}") == (SCHEMA_VERSION, SCHEMA_VERSION)
