"""The floors under the server: the same rows written by sqlite3 and asyncpg with nothing above them."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg

from tests.bench.payloads import EVENT_BYTES

TABLE = "CREATE TABLE raw_events (id {key}, session BIGINT NOT NULL, seq BIGINT NOT NULL, payload {blob} NOT NULL)"
INDEX = "CREATE UNIQUE INDEX raw_events_seq ON raw_events (session, seq)"
_SESSIONS = 64


def _result(rows: int, seconds: float, times: list[float]) -> dict[str, Any]:
    times.sort()
    return {
        "count": rows,
        "seconds": seconds,
        "rate": rows / seconds,
        "p50": times[len(times) // 2],
        "p99": times[min(len(times) - 1, len(times) * 99 // 100)],
        "bytes": 0,
    }


def _rows(start: int, batch: int, payload: bytes) -> list[tuple[int, int, bytes]]:
    session = (start // batch) % _SESSIONS
    return [(session, start + number, payload) for number in range(batch)]


@contextlib.contextmanager
def _table(path: str) -> Iterator[sqlite3.Connection]:
    """An empty table in WAL mode with synchronous=FULL."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(TABLE.format(key="INTEGER PRIMARY KEY", blob="BLOB"))
        connection.execute(INDEX)
        yield connection
        connection.execute("DROP TABLE raw_events")


def _insert(connection: sqlite3.Connection, start: int, batch: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    insert = "INSERT INTO raw_events (session, seq, payload) VALUES (?, ?, ?)"
    connection.executemany(insert, _rows(start, batch, bytes(EVENT_BYTES)))
    connection.execute("COMMIT")


def sqlite(path: str, batch: int, seconds: float, limit: int = 2_000_000) -> dict[str, Any]:
    """Rows a second in WAL mode with synchronous=FULL, `batch` rows a commit."""
    with _table(path) as connection:
        return _repeat(lambda start: _insert(connection, start, batch), batch, seconds, limit)


def _repeat(commit: Callable[[int], object], batch: int, seconds: float, limit: int) -> dict[str, Any]:
    times: list[float] = []
    rows = 0
    begin = before = time.perf_counter()
    while before - begin < seconds and rows < limit:
        commit(rows)
        rows += batch
        after = time.perf_counter()
        times.append(after - before)
        before = after
    return _result(rows, before - begin, times)


async def postgres(dsn: str, batch: int, seconds: float, connections: int, limit: int = 2_000_000) -> dict[str, Any]:
    """Rows a second with synchronous_commit=on, `batch` rows a commit, over several connections."""
    pool = await asyncpg.create_pool(dsn, min_size=connections, max_size=connections)
    insert = "INSERT INTO raw_events (session, seq, payload) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])"
    times: list[float] = []
    rows = 0
    payload = bytes(EVENT_BYTES)
    try:
        await pool.execute("DROP TABLE IF EXISTS raw_events")
        await pool.execute(TABLE.format(key="BIGSERIAL PRIMARY KEY", blob="BYTEA"))
        await pool.execute(INDEX)
        begin = time.perf_counter()

        async def worker() -> None:
            nonlocal rows
            async with pool.acquire() as connection:
                statement = await connection.prepare(insert)
                before = time.perf_counter()
                while before - begin < seconds and rows < limit:
                    start = rows
                    rows += batch
                    await statement.fetch(*zip(*_rows(start, batch, payload), strict=True))
                    after = time.perf_counter()
                    times.append(after - before)
                    before = after

        await asyncio.gather(*(worker() for _ in range(connections)))
        return _result(rows, time.perf_counter() - begin, times)
    finally:
        await pool.execute("DROP TABLE IF EXISTS raw_events")
        await pool.close()


_READS = "SELECT seq, payload FROM raw_events WHERE session = {session} ORDER BY seq DESC LIMIT 50"
_EACH = 100


def sqlite_reads(path: str, seconds: float) -> dict[str, Any]:
    """Reads a second of the last 50 rows of sessions of 100."""
    with _table(path) as connection:
        for start in range(0, _SESSIONS * _EACH, _EACH):
            _insert(connection, start, _EACH)
        query = _READS.format(session="?")
        return _repeat(lambda n: connection.execute(query, (n % _SESSIONS,)).fetchall(), 1, seconds, 1 << 30)


async def postgres_reads(dsn: str, seconds: float) -> dict[str, Any]:
    """The same with asyncpg, on one connection."""
    connection = await asyncpg.connect(dsn)
    times: list[float] = []
    try:
        await connection.execute("DROP TABLE IF EXISTS raw_events")
        await connection.execute(TABLE.format(key="BIGSERIAL PRIMARY KEY", blob="BYTEA"))
        await connection.execute(INDEX)
        for start in range(0, _SESSIONS * _EACH, _EACH):
            await connection.executemany(
                "INSERT INTO raw_events (session, seq, payload) VALUES ($1, $2, $3)", _rows(start, _EACH, bytes(EVENT_BYTES))
            )
        statement = await connection.prepare(_READS.format(session="$1"))
        begin = before = time.perf_counter()
        while before - begin < seconds:
            await statement.fetch(len(times) % _SESSIONS)
            after = time.perf_counter()
            times.append(after - before)
            before = after
        return _result(len(times), before - begin, times)
    finally:
        await connection.execute("DROP TABLE IF EXISTS raw_events")
        await connection.close()
