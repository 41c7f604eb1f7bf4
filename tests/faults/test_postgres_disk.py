"""The disk of PostgreSQL is full: appends fail with an error that says so, nothing acknowledged is lost, reads are answered as
long as PostgreSQL runs, and the server needs no restart."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.databases.postgres import PostgresCluster, PostgresError, find_binaries
from tests.support.runs.thoroughness import LONG
from tests.support.servers.server_process import free_port

from .conftest import ServerMaker
from .harness.broken_disks import SMALL, file_system, fill, make_room, on_a_broken_disk
from .harness.ledger import Ledger, Load, connect

pytestmark = pytest.mark.postgres
_TABLESPACE = "small"
# Each has no repetition: what is stored of it is long.
_TEXT = random.Random(1).randbytes(50_000).hex()


@pytest.fixture
def small_disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system that the user of PostgreSQL reaches; the parameter is its size in MiB."""
    with tempfile.TemporaryDirectory(prefix="threadkeep-disk-") as name, file_system(Path(name), f"size={request.param}m"):
        yield Path(name)


@pytest.mark.parametrize("small_disk", [48], indirect=True)
async def test_a_full_disk_of_a_database_rejects_appends_until_there_is_room(
    make_server: ServerMaker, durable_postgres: PostgresCluster, small_disk: Path
) -> None:
    """Its tables and indexes are on the full disk, the log of PostgreSQL is not."""
    durable_postgres.give(small_disk)
    tablespace = f"CREATE TABLESPACE {_TABLESPACE} LOCATION '{small_disk}'"
    durable_postgres.execute(tablespace, f"CREATE DATABASE {_TABLESPACE} TABLESPACE {_TABLESPACE}")
    try:
        settings = {"database_url": durable_postgres.url(_TABLESPACE), **SMALL}
        server = make_server(http_address=f"127.0.0.1:{free_port()}", **settings).start()
        problem = "the database's disk is full"
        async with on_a_broken_disk(server, problem=problem, fail=lambda: fill(small_disk), text=_TEXT):
            make_room(small_disk)
    finally:
        durable_postgres.drop_database(_TABLESPACE)
        durable_postgres.execute(f"DROP TABLESPACE {_TABLESPACE}")


@pytest.mark.skipif(not LONG, reason="it makes a cluster of its own and has it crash, which takes ten seconds")
@pytest.mark.parametrize("small_disk", [160], indirect=True)
async def test_a_full_disk_of_the_log_stops_postgresql_and_loses_nothing(make_server: ServerMaker, small_disk: Path) -> None:
    """PostgreSQL ends when it cannot write its log, and is started again once there is room."""
    ledger, binaries = Ledger(), find_binaries()
    assert binaries is not None
    with PostgresCluster(binaries, fsync=True, place=small_disk, settings={"max_wal_size": "32MB"}) as cluster:
        server = make_server(database_url=cluster.create_database("full")).start()
        async with connect(server.address) as client:
            async with Load(ledger, client, ("one", "two")) as load:
                await load.until_acknowledged(50)
                fill(small_disk)
                with suppress(PostgresError):  # the next file of the log is needed now
                    await asyncio.to_thread(cluster.execute, "SELECT pg_switch_wal()")
                await load.until_each_failed()
                await asyncio.to_thread(cluster.await_end)
                make_room(small_disk)
                await asyncio.to_thread(cluster.start)
                await load.until_acknowledged(50)
            assert await ledger.check(server.address) >= ledger.acknowledged
        assert set(ledger.problems) == {"STORE_UNAVAILABLE"}, ledger.problems
        assert "unhandled" not in server.log
