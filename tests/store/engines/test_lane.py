"""SQLite's threads: who waits for a result gets it when it is there."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from threadkeep_server.store.sql.engine.sqlite_threads import Lane


@pytest.fixture
def lane(tmp_path: Path) -> Iterator[Lane]:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(tmp_path / "lane.db", isolation_level=None, check_same_thread=False)

    lane = Lane(connect, name="test", threads=1)
    yield lane
    lane.close()


async def test_a_result_is_not_held_back_by_the_job_behind_it(lane: Lane) -> None:
    release = threading.Event()

    def long(connection: Connection) -> str:
        assert release.wait(10)
        return "long"

    first = asyncio.create_task(lane.run(lambda connection: "short", interruptible=True))
    second = asyncio.create_task(lane.run(long, interruptible=True))
    try:
        assert await asyncio.wait_for(first, 5) == "short"
        assert not second.done()
    finally:
        release.set()
    assert await second == "long"


async def test_a_result_is_let_go_by_the_thread_that_made_it(lane: Lane) -> None:
    class Large:
        pass

    def unit(connection: Connection) -> Large:
        return Large()

    result = await lane.run(unit, interruptible=True)
    held: list[weakref.ref[Any]] = [weakref.ref(result), weakref.ref(unit)]
    del result, unit
    async with asyncio.timeout(60):
        while any(each() is not None for each in held):  # noqa: ASYNC110 - the thread may be about to let go
            await asyncio.sleep(0.01)
