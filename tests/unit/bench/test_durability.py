"""How the benchmark finds out whether a store waits for the disk."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from tests.bench.peers.durability import Syncs, described, journal_of
from tests.bench.peers.servers import SERVERS
from tests.bench.shim import Shim, shim

SYNC = "import os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); os.fsync(fd); os.fsync(fd); os.fdatasync(fd)"


class Counted:
    """A shim whose counter the test sets."""

    def __init__(self) -> None:
        self.env = {"LD_PRELOAD": "shim.so"}
        self.calls = 0


@pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("cc")), reason="needs a C compiler")
def test_the_shim_counts_fsync_and_fdatasync_of_another_process(tmp_path: Path) -> None:
    with shim(tmp_path) as library:
        for expected in (3, 6):
            subprocess.run([sys.executable, "-c", SYNC, str(tmp_path / "x")], env={**os.environ, **library.env}, check=True)
            assert library.calls == expected


def test_only_calls_between_begin_and_end_count() -> None:
    counted = Counted()
    syncs = Syncs(cast("Shim", counted))
    assert syncs.env == counted.env
    counted.calls = 7  # while the database is created
    syncs.end(0)
    syncs.begin(0)
    counted.calls += 20
    syncs.end(10)
    counted.calls += 100  # while the benchmark looks at the database
    syncs.begin(10)
    counted.calls += 10
    syncs.end(20)
    assert syncs.per_append() == 1.5
    assert syncs.per_append() is None


def test_a_store_that_failed_leaves_nothing_to_the_next() -> None:
    counted = Counted()
    syncs = Syncs(cast("Shim", counted))
    syncs.begin(0)
    counted.calls += 50
    assert syncs.per_append() is None
    syncs.end(0)
    syncs.begin(0)
    counted.calls += 3
    syncs.end(3)
    assert syncs.per_append() == 1.0


@pytest.mark.parametrize(
    ("per_append", "setting", "text"),
    [
        (1.04, "WAL", "fsync, 1.0 per append; WAL"),
        (4, "", "fsync, 4.0 per append"),
        (0.02, "appendonly yes, appendfsync everysec", "no fsync, 0.02 per append; appendonly yes, appendfsync everysec"),
        (0, "", "no fsync, 0.00 per append"),
        (None, "WAL", "fsync not counted (no C compiler); WAL"),
    ],
)
def test_durability_is_said_in_words(per_append: float | None, setting: str, text: str) -> None:
    assert described(per_append, setting) == text


@pytest.mark.parametrize(("mode", "expected"), [("wal", "WAL"), ("delete", "rollback journal")])
def test_the_journal_is_read_from_the_file(tmp_path: Path, mode: str, expected: str) -> None:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    assert journal_of(path) == expected


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to be one"])
def test_another_file_has_no_journal(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.db").write_bytes(content)
    assert journal_of(tmp_path / "x.db") == ""


def test_the_servers_are_started_with_the_durability_that_their_rows_name(tmp_path: Path) -> None:
    def started(name: str) -> Any:
        return SERVERS[name][1](tmp_path, 5)

    always, everysec = (started(f"redis-{policy}").arguments for policy in ("always", "everysec"))
    assert always[-4:] == ("--appendonly", "yes", "--appendfsync", "always")
    assert everysec[-4:] == ("--appendonly", "yes", "--appendfsync", "everysec")
    assert started("memory-service").env["MEMORY_SERVICE_DB_URL"] == f"{tmp_path}/peer.db?_synchronous=FULL"
