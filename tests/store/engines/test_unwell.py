"""What a store reports to a probe while its disk is full."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from asyncpg.exceptions import DiskFullError

from tests.support.codec import CODEC, draft
from tests.support.sessions import append, create, new_session, ref
from threadkeep_server.domain.errors import StoreUnavailable
from threadkeep_server.domain.model import EventDraft
from threadkeep_server.store.sql.store import open_store
from threadkeep_server.transport.wire.codec import EventCodec


class Failing(EventCodec):
    """Fails in the middle of an append's transaction, as a database does."""

    error: Exception | None = None

    def seal(self, draft: EventDraft, seq: int, record_time: int) -> bytes:
        if self.error is not None:
            raise self.error
        return super().seal(draft, seq, record_time)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def _full(url: str) -> Exception:
    if not url.startswith("sqlite"):
        return DiskFullError("could not extend file")
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


async def test_a_failed_write_is_reported_until_one_succeeds_or_time_has_passed(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = Failing()
    async with open_store(url, codec) as store:
        await store.ping()
        for recover in (lambda: create(store), None):
            codec.error = _full(url)
            with pytest.raises(StoreUnavailable):
                await append(store, draft("lost"), to=ref("victim"), create=new_session("victim"))
            with pytest.raises(StoreUnavailable, match="disk is full"):
                await store.ping()
            codec.error = None
            if recover is not None:
                await recover()
            else:
                monkeypatch.setattr("threadkeep_server.store.sql.maintenance._UNWELL_FOR_S", 0.0)
            await store.ping()


async def test_a_disk_without_room_for_pending_appends_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_store(f"sqlite:///{tmp_path}/threadkeep.db", CODEC) as store:
        await store.ping()
        found = os.statvfs(tmp_path)
        free = [(64 << 20) // found.f_frsize - 1]

        def statvfs(_: object) -> os.statvfs_result:
            return os.statvfs_result([*found[:4], free[0], *found[5:]])

        monkeypatch.setattr("os.statvfs", statvfs)
        with pytest.raises(StoreUnavailable, match="the disk is almost full: 63 MiB are free, less than max_pending_bytes"):
            await store.ping()
        await create(store)  # appends are accepted as long as they succeed
        free[0] += 1
        await store.ping()
