"""Units on aiosqlite: what is called in its threads, and what happens when a caller is canceled."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sqlite3
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from threadkeep_server.store.sql.engine.base import SqlOptions, Unit
from threadkeep_server.store.sql.engine.sqlite import SqliteEngine
from threadkeep_server.store.sql.engine.sqlite_driver import DatabaseFile, OpenConnection, driver

ROWS = 1000
# Runs for hours.
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e12) SELECT count(*) FROM n"
NUMBERS = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) SELECT i FROM n"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[SqliteEngine]:
    engine = SqliteEngine(tmp_path / "units.db", SqlOptions(sqlite_readers=1))
    await engine.write(lambda connection: connection.exec_driver_sql("CREATE TABLE kept (id INTEGER PRIMARY KEY)"))
    yield engine
    await engine.aclose()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions called in the threads of connections."""
    called: list[Any] = []
    execute = aiosqlite.Connection._execute

    async def recorded(connection: aiosqlite.Connection, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        called.append(function)
        return await execute(connection, function, *args, **kwargs)

    monkeypatch.setattr(aiosqlite.Connection, "_execute", recorded)
    return called


def _count(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT count(*) FROM kept").scalar_one())


async def test_a_unit_and_its_transaction_are_one_call(engine: SqliteEngine, calls: list[Any]) -> None:
    def put(connection: Connection) -> int:
        engine.run_many(connection, "INSERT INTO kept (id) VALUES (?)", [(1,), (2,), (3,)])
        return _count(connection)

    def remove(connection: Connection) -> None:
        connection.exec_driver_sql("DELETE FROM kept")

    for run in (engine.read, engine.write, engine.index):
        await run(_count)
    calls.clear()
    assert await engine.write(put) == 3
    assert await engine.read(_count) == 3
    await engine.index(remove)
    assert await engine.read(_count) == 0
    assert len(calls) == 4


async def test_short_units_use_a_thread_only_for_the_commit(engine: SqliteEngine, calls: list[Any]) -> None:
    def put(connection: Connection) -> None:
        engine.run_many(connection, "INSERT INTO kept (id) VALUES (?)", [(1,), (2,), (3,)])

    await engine.write(lambda connection: None, short=True)
    await engine.read(_count, short=True)
    calls.clear()
    await engine.write(put, short=True)
    assert await engine.read(_count, short=True) == 3
    assert len(calls) == 1


async def test_a_streamed_result_is_complete_and_in_order(engine: SqliteEngine) -> None:
    def unit(connection: Connection) -> list[int]:
        options = {"yield_per": 100}
        return list(connection.exec_driver_sql(NUMBERS, execution_options=options).scalars())

    assert await engine.read(unit) == list(range(1, ROWS + 1))


async def test_a_failed_write_leaves_nothing(engine: SqliteEngine) -> None:
    def unit(connection: Connection) -> None:
        engine.run_many(connection, "INSERT INTO kept (id) VALUES (?)", [(1,)])
        raise KeyError

    for short in (False, True):
        with pytest.raises(KeyError):
            await engine.write(unit, short=short)
    assert await engine.read(_count) == 0


async def test_unit_result_does_not_wait_for_the_next_unit(engine: SqliteEngine) -> None:
    release = threading.Event()

    def long(connection: Connection) -> str:
        raw = driver(connection)
        raw.create_function("wait", 0, lambda: release.wait(60))
        engine.fetch(connection, "SELECT wait()", ())
        return "long"

    first = asyncio.create_task(engine.read(_count))
    second = asyncio.create_task(engine.read(long))
    try:
        assert await asyncio.wait_for(first, 30) == 0
        assert not second.done()
    finally:
        release.set()
    assert await second == "long"


async def test_unit_result_is_released_by_its_thread(engine: SqliteEngine) -> None:
    class Large:
        pass

    def unit(connection: Connection) -> Large:
        return Large()

    held: list[weakref.ref[Any]] = [weakref.ref(unit)]
    result = await engine.read(unit)
    held.append(weakref.ref(result))
    del unit, result
    async with asyncio.timeout(60):
        while any(each() is not None for each in held):  # the thread may be about to let go
            gc.collect()
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("short", [False, True])
async def test_prepared_reads_of_a_snapshot_see_one_moment(engine: SqliteEngine, tmp_path: Path, short: bool) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "units.db", isolation_level=None, check_same_thread=False)) as other:

        def unit(connection: Connection) -> list[Any]:
            before = engine.fetch(connection, "SELECT id FROM kept", ())
            other.execute("INSERT INTO kept (id) VALUES (1)")
            return [before, engine.fetch(connection, "SELECT id FROM kept", ())]

        assert await engine.read(unit, snapshot=True, short=short) == [[], []]
    assert await engine.read(_count, short=short) == 1


def _endless_prepared(engine: SqliteEngine) -> Unit[Any]:
    return lambda connection: engine.fetch(connection, ENDLESS, ())


def _endless_streamed(engine: SqliteEngine) -> Unit[Any]:
    return lambda connection: connection.execute(sa.text(ENDLESS)).all()


@pytest.mark.parametrize("endless", [_endless_prepared, _endless_streamed])
async def test_a_canceled_read_is_interrupted(engine: SqliteEngine, endless: Callable[[SqliteEngine], Unit[Any]]) -> None:
    for wait in (0, 0.001, 0.2):
        reading = asyncio.create_task(engine.read(endless(engine)))
        await asyncio.sleep(wait)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(reading, 30)
        assert await asyncio.wait_for(engine.read(_count), 30) == 0


async def test_a_canceled_write_completes(engine: SqliteEngine) -> None:
    for key, short in ((1, False), (2, True)):

        def put(connection: Connection, key: int = key) -> None:
            engine.run_many(connection, "INSERT INTO kept (id) VALUES (?)", [(key,)])

        writing = asyncio.create_task(engine.write(put, short=short))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
    await engine.write(lambda connection: None)
    assert await engine.read(_count) == 2


async def test_closing_completes_accepted_appends(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "closed.db", SqlOptions(sqlite_readers=1))

    def slow(connection: Connection) -> str:
        driver(connection).create_function("rest", 0, lambda: time.sleep(0.2))
        engine.fetch(connection, "SELECT rest()", ())
        return "complete"

    running = [asyncio.create_task(run(slow)) for run in (engine.read, engine.write, engine.index)]
    await asyncio.sleep(0.05)
    await engine.aclose()
    assert [task.result() for task in running] == ["complete"] * 3
    async with asyncio.timeout(60):
        while any("_connection_worker_thread" in thread.name for thread in threading.enumerate()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_connection_that_opens_for_a_canceled_caller_is_kept(
    engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_open, to = asyncio.Event(), asyncio.Event(), OpenConnection.to

    async def slow(file: DatabaseFile) -> OpenConnection:
        begun.set()
        await may_open.wait()
        return await to(file)

    monkeypatch.setattr(OpenConnection, "to", slow)
    reading = asyncio.create_task(engine.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar()))
    await begun.wait()
    reading.cancel()
    await asyncio.sleep(0)
    may_open.set()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert len(engine._readers._free) == 1


async def test_a_connection_that_cannot_begin_leaves_no_thread(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        await OpenConnection.to(DatabaseFile(str(tmp_path / "a.db"), [("SELECT nothing", ())], timeout=0))
    async with asyncio.timeout(60):
        while any("_connection_worker_thread" in thread.name for thread in threading.enumerate()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
