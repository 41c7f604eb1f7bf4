"""The measurements, each on a server of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

from tests.bench import raw
from tests.sizing import loading
from tests.sizing.figures import Figure, Scale
from tests.sizing.samples import Sample, sample
from tests.sizing.servers import Place
from threadkeep import AsyncClient

_IDLE_SECONDS = 5.0
_CLIENTS = 100
_INDEX = "^(event_(text|words|terms|vectors)|index_progress)$"
"""The tables of the search index, on PostgreSQL."""

Measurement = Callable[[Place, Scale], Iterator[Figure]]


def idle(where: Place, scale: Scale) -> Iterator[Figure]:
    """An idle server: memory, processor time, descriptors and threads."""
    with where.server() as pid:
        loading.first_append(where.address)
        loading.wait_for_index(where.address)
        before = sample(pid)
        time.sleep(min(_IDLE_SECONDS, scale.seconds))
        after = sample(pid)
    yield Figure(where.engine, "idle server, resident memory", after.resident, "MiB", of_machine=False)
    share = (after.cpu - before.cpu) / min(_IDLE_SECONDS, scale.seconds)
    yield Figure(where.engine, "idle server, processor", share * 100, "% of a core")
    yield Figure(where.engine, "idle server, descriptors", after.descriptors, "", f"{after.threads} threads", of_machine=False)


def throughput(where: Place, scale: Scale) -> Iterator[Figure]:
    """Appends as fast as possible: rates, and processor time of the server and of the database for an event."""
    loads = {
        "1 event a call, 64 writers": {"writers": 64, "sessions": 64, "watchers": 0},
        "the same, 10 subscriptions to all": {"writers": 64, "sessions": 64, "watchers": 10},
        "100 events a call, 8 writers": {"writers": 8, "sessions": 64, "watchers": 0, "batch": 100},
    }
    baseline = _raw_rows(where, scale.seconds / 2)
    yield Figure(where.engine, "baseline: rows of 1 KB, one a commit", baseline, "rows/s", "the bare database, same run")
    with where.server() as pid:
        loading.first_append(where.address)
        for name, options in loads.items():
            before, database = sample(pid), _database_cpu(where)
            found = loading.bench(where.address, scale.seconds, **options)
            loading.wait_for_index(where.address)
            used, used_below = sample(pid).cpu - before.cpu, _database_cpu(where) - database
            events, rate = found["check"]["acknowledged"], found["events_per_second"]
            p99 = found["operations"]["append"]["p99_ms"]
            note = (
                f"× {rate / baseline:.2f} of the baseline; p99 {p99:.1f} ms; load generator {found['client_cpu']:.0%} of a core"
            )
            yield Figure(where.engine, f"{name}: rate", rate, "events/s", note)
            below = f" and {used_below / events * 1e6:,.0f} µs of PostgreSQL" if where.cluster is not None else ""
            text = f"{used / events * 1e6:,.0f} µs an event{below}, with its indexing"
            yield Figure(where.engine, f"{name}: per core of the server", events / used, "events/s", text)


def storage(where: Place, scale: Scale) -> Iterator[Figure]:
    """Bytes that an event takes, by the size of its text: in the log with the feed, and in the search index."""
    with where.server():
        loading.first_append(where.address)
        for size, events in scale.stored:
            log, index = _bytes(where)
            loading.fill(where.address, events, size)
            log_after, index_after = _bytes(where)
            for name, grown in (("log and feed", log_after - log), ("search index", index_after - index)):
                text = f"{size:,} characters, {name}"
                yield Figure(where.engine, text, grown / events, "bytes/event", of_machine=False)


def subscriptions(where: Place, scale: Scale) -> Iterator[Figure]:
    """Memory of the server for an open subscription and for a connection, each in a new process."""
    count = scale.subscriptions
    for name, by_session in (("of a session each", True), ("of all of one user", False)):
        with _warm(where) as pid:
            used = asyncio.run(_held(where.address, pid, count, by_session=by_session))
        text = f"{count:,} on one connection"
        yield Figure(where.engine, f"subscription {name}", used.anonymous * 1024 / count, "KiB", text, of_machine=False)
    with _warm(where) as pid:
        used = asyncio.run(_connected(where.address, pid, _CLIENTS))
    text = f"{_CLIENTS} of them; {used.descriptors / _CLIENTS:.1f} descriptors"
    yield Figure(where.engine, "connection", used.anonymous * 1024 / _CLIENTS, "KiB", text, of_machine=False)


@contextlib.contextmanager
def _warm(where: Place) -> Iterator[int]:
    """A server that has answered calls of each kind."""
    with where.server() as pid:
        loading.first_append(where.address)
        loading.bench(where.address, 1.0, writers=4, sessions=4, watchers=2, readers=1, searchers=1)
        yield pid


def recovery(where: Place, scale: Scale) -> Iterator[Figure]:
    """Seconds until an append succeeds: after a clean stop, after kill -9 under load, and of PostgreSQL after kill -9."""
    with where.server():
        loading.fill(where.address, scale.events, 200)
    with _appending(where, "after a clean stop", scale) as figure:
        yield figure
    with _appending(where, "after kill -9 under load", scale, killed=True) as figure:
        yield figure
        if where.cluster is not None:
            load = threading.Thread(target=_quietly_bench, args=(where.address, 3.0))
            load.start()
            time.sleep(2)
            began = time.monotonic()
            where.cluster.kill()
            where.cluster.start()
            loading.first_append(where.address)
            seconds = time.monotonic() - began
            load.join()
            yield Figure(where.engine, "kill -9 of PostgreSQL under load, the server stays", seconds, "s")
    if where.cluster is None:
        (where.folder / "threadkeep.db.search").unlink()
        with _appending(where, "without its search index", scale) as figure:
            yield figure
            yield Figure(
                where.engine, "search index built again", loading.wait_for_index(where.address), "s", "meanwhile searches scan"
            )


@contextlib.contextmanager
def _appending(where: Place, how: str, scale: Scale, *, killed: bool = False) -> Iterator[Figure]:
    if killed:
        with where.server() as pid:
            load = threading.Thread(target=_quietly_bench, args=(where.address, 3.0))
            load.start()
            time.sleep(2)
            os.kill(pid, signal.SIGKILL)
            load.join()
    began = time.monotonic()
    with where.server():
        listening = time.monotonic() - began
        loading.first_append(where.address)
        seconds = time.monotonic() - began
        note = f"{scale.events:,} events; it listened after {listening:.1f} s"
        yield Figure(where.engine, f"restart {how}", seconds, "s", note)


def _quietly_bench(address: str, seconds: float) -> None:
    """Load that loses its server."""
    program = str(Path(sys.executable).with_name("threadkeep"))
    command = [program, "bench", "--address", address, "--duration", f"{seconds:g}s", "--watchers", "0", "--writers", "16"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=180, check=False)


def _raw_rows(where: Place, seconds: float) -> float:
    if where.cluster is None:
        return float(raw.sqlite(str(where.folder / "raw.db"), 1, seconds)["rate"])
    dsn = where.cluster.create_database("raw").replace("postgresql+asyncpg://", "postgresql://")
    return float(asyncio.run(raw.postgres(dsn, 1, seconds, 16))["rate"])


def _database_cpu(where: Place) -> float:
    return 0.0 if where.cluster is None else sample(where.cluster.pid).cpu


def _bytes(where: Place) -> tuple[int, int]:
    """Returns the bytes of the log with the feed, and of the search index."""
    if where.cluster is None:
        return _pages(where.folder / "threadkeep.db"), _pages(where.folder / "threadkeep.db.search")
    size = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r'"
    size += " AND relnamespace = 'public'::regnamespace"
    database = where.url.rpartition("/")[2]
    log, index = (int(where.cluster.execute(f"{size} AND relname {how} '{_INDEX}'", database=database)) for how in ("!~", "~"))
    return log, index


def _pages(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        numbers = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")]
    return int((numbers[0] - numbers[1]) * numbers[2])


async def _held(address: str, pid: int, count: int, *, by_session: bool) -> Sample:
    """What so many open subscriptions take."""
    async with AsyncClient(address, app=loading.APP, user_id=loading.USER) as client:
        await client.info()
        before = sample(pid)
        started = asyncio.Semaphore(0)

        async def follow(number: int) -> None:
            stream = client.watch(f"watched-{number}", checkpoints=True) if by_session else client.watch_all(checkpoints=True)
            async with aclosing(stream) as changes:
                async for _ in changes:
                    started.release()
                    await asyncio.sleep(3600)

        tasks = [asyncio.create_task(follow(number)) for number in range(count)]
        for _ in tasks:
            await started.acquire()
        used = _less(sample(pid), before)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return used


async def _connected(address: str, pid: int, count: int) -> Sample:
    """What so many connections take that have made a call each."""
    before = sample(pid)
    async with contextlib.AsyncExitStack() as stack:
        async for client in _clients(address, count):
            stack.push_async_callback(client.close)
            await client.info()
        return _less(sample(pid), before)


async def _clients(address: str, count: int) -> AsyncIterator[AsyncClient]:
    for _ in range(count):
        yield AsyncClient(address)


def _less(after: Sample, before: Sample) -> Sample:
    return Sample(
        after.resident - before.resident,
        after.anonymous - before.anonymous,
        after.descriptors - before.descriptors,
        after.threads - before.threads,
        after.cpu - before.cpu,
    )


MEASUREMENTS: dict[str, Measurement] = {each.__name__: each for each in (idle, throughput, storage, subscriptions, recovery)}
