"""Faults of a SQLite file: each is reported clearly and loses nothing."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import threadkeep
from tests.support.servers.server_process import free_port

from .conftest import ServerMaker
from .harness.broken_disks import SMALL, file_system, fill, make_room, on_a_broken_disk
from .harness.ledger import Ledger, Load, connect

Refused = Callable[..., str]

# Root can write any file unless it drops the privilege.
DROP_CAPABILITIES = """
import ctypes
header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None, use_errno=True).capset(header, none) == 0
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    with file_system(place, "size=4m"):
        yield place


async def test_a_full_disk_rejects_appends_until_space_is_free(make_server: ServerMaker, small_disk: Path) -> None:
    server = make_server(data_dir=small_disk, http_address=f"127.0.0.1:{free_port()}", **SMALL).start()
    async with on_a_broken_disk(server, problem="the disk is full", fail=lambda: fill(small_disk)):
        make_room(small_disk)


async def test_a_failing_disk_rejects_appends_until_it_recovers(make_server: ServerMaker) -> None:
    server = make_server(http_address=f"127.0.0.1:{free_port()}").start()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fail() -> None:
        resource.prlimit(server.serving_pid, resource.RLIMIT_FSIZE, (64 * 1024, limit[1]))

    async with on_a_broken_disk(server, problem="the disk reports an I/O error", fail=fail):
        resource.prlimit(server.serving_pid, resource.RLIMIT_FSIZE, limit)


@pytest.fixture
def stored(make_server: ServerMaker, tmp_path: Path) -> Path:
    """The file of a server that has ended."""
    server = make_server().start()
    with threadkeep.Client(server.address, app="faults", user_id="ledger") as client:
        client.append("s", threadkeep.user("kept"), create_if_missing=True)
    assert server.terminate() == 0, server.log
    return tmp_path / "data" / "threadkeep.db"


def test_a_read_only_file_prevents_the_start(stored: Path, refused: Refused) -> None:
    stored.chmod(0o444)
    prelude = DROP_CAPABILITIES if os.geteuid() == 0 else ""
    said = refused(prelude=prelude)
    assert "cannot serve: " in said
    assert f"{stored}: the database file is read-only" in said
    assert "Traceback" not in said


def test_a_read_only_directory_prevents_the_start(stored: Path, refused: Refused) -> None:
    stored.parent.chmod(0o555)
    stored.with_name("threadkeep.db.lock").unlink(missing_ok=True)
    try:
        said = refused(prelude=DROP_CAPABILITIES if os.geteuid() == 0 else "")
    finally:
        stored.parent.chmod(0o755)
    assert "cannot serve: " in said
    assert os.strerror(errno.EACCES) in said
    assert str(stored.parent) in said
    assert "Traceback" not in said


def test_a_file_that_is_not_a_database_prevents_the_start(stored: Path, refused: Refused) -> None:
    stored.write_bytes(b"not a database " * 1000)
    said = refused()
    assert "cannot serve: " in said
    assert f"{stored}: the file is not a database" in said
    assert "Traceback" not in said


def test_a_full_disk_prevents_the_start(make_server: ServerMaker, refused: Refused, small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes((4 << 20) - (64 << 10)))
    said = refused(data_dir=small_disk)
    assert "cannot serve: " in said
    assert "the disk is full" in said
    assert "Traceback" not in said


def _set_schema(file: Path, *, version: int, oldest_code: int) -> None:
    with sqlite3.connect(file) as connection:
        for key, value in (("schema_version", version), ("oldest_code", oldest_code)):
            connection.execute("UPDATE threadkeep_meta SET value = ? WHERE key = ?", (str(value), key))
    connection.close()


def test_a_newer_schema_prevents_the_start(stored: Path, refused: Refused) -> None:
    _set_schema(stored, version=99, oldest_code=98)
    said = refused()
    assert "cannot serve: the database has schema 99" in said
    assert "schema 98 or later" in said
    assert "upgrade the server" in said


def test_a_newer_compatible_schema_is_served(stored: Path, make_server: ServerMaker) -> None:
    _set_schema(stored, version=99, oldest_code=1)
    server = make_server().start()
    with threadkeep.Client(server.address, app="faults", user_id="ledger") as client:
        assert client.append("s", threadkeep.user("more")).last_seq == 2


def test_a_second_server_on_the_file_does_not_start(make_server: ServerMaker, refused: Refused) -> None:
    first = make_server().start()
    said = refused()
    assert "cannot serve: " in said
    assert "threadkeep.db is in use by another Threadkeep server" in said
    with threadkeep.Client(first.address, app="faults", user_id="ledger") as client:
        assert client.append("s", threadkeep.user("undisturbed"), create_if_missing=True).last_seq == 1


@pytest.mark.parametrize("setting", ["grpc_address", "http_address"])
def test_a_port_in_use_prevents_the_start(make_server: ServerMaker, refused: Refused, tmp_path: Path, setting: str) -> None:
    first = make_server().start()
    said = refused(data_dir=tmp_path / "other", **{setting: first.address})
    assert "cannot serve: " in said
    assert first.address in said
    assert "Traceback" not in said
    with threadkeep.Client(first.address, app="faults", user_id="ledger") as client:
        assert client.append("s", threadkeep.user("undisturbed"), create_if_missing=True).last_seq == 1


async def test_a_restart_reads_everything(make_server: ServerMaker, database_url: str | None) -> None:
    server = make_server(**({} if database_url is None else {"database_url": database_url})).start()
    event = threadkeep.assistant("ok", tool_calls=[threadkeep.tool_call("c1", "f", '{"a": 1.0}')], metadata={"k": "v"})
    async with connect(server.address) as client:
        for n in range(5):
            await client.append(f"s{n}", threadkeep.user("hi"), event, create_if_missing={"labels": {"n": str(n)}})
        sessions = [session async for session in client.sessions()]
        logs = [(await client.events_page(session)).SerializeToString() for session in sessions]
        assert server.terminate() == 0, server.log
        await asyncio.to_thread(server.start)
        assert [session async for session in client.sessions()] == sessions
        assert [(await client.events_page(session)).SerializeToString() for session in sessions] == logs


async def test_sigterm_drains(make_server: ServerMaker, database_url: str | None) -> None:
    """Calls in flight complete, later ones are rejected with draining, and the process exits with 0."""
    ledger = Ledger()
    settings = {} if database_url is None else {"database_url": database_url}
    server = make_server(drain_grace="90s", **settings).start()
    async with connect(server.address) as client:
        async with Load(ledger, client, ("one", "two")) as load:
            await load.until_acknowledged(50)
            began = time.monotonic()
            assert await asyncio.to_thread(server.terminate) == 0, server.log
            took = time.monotonic() - began
        await asyncio.to_thread(server.start)
        await ledger.check(server.address)
    # gRPC may cancel a call that arrives while the port closes.
    assert set(ledger.problems) <= {"SERVER_DRAINING", "UNAVAILABLE", "CANCELLED"}, ledger.problems
    assert took < 45, "an idle append stream must not take the whole grace"
    assert "stopped" in server.log
