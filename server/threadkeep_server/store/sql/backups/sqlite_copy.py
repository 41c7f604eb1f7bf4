"""Copies a SQLite file while a server writes to it, by SQLite's online backup."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import quote

_PAGES_AT_ONCE: Final = 256
"""Pages between two rests, 1 MiB: a writer that waits for the disk does not wait for long."""
_LONGEST_REST_S: Final = 0.05


def copy(source: Path, target: Path, report: Callable[[int, int], None]) -> None:
    """Copies one state of the database to a file that does not exist. Rests after each part for as long as it took, so that
    others have half of the disk's time. Reports pages copied and their total.

    The snapshot keeps writers from restarting the copy. Until it ends, the server's write-ahead log grows by what is written.
    """
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    uri = f"file:{quote(str(source))}?mode=ro"
    began = time.monotonic()

    def progress(_: int, remaining: int, total: int) -> None:
        nonlocal began
        report(total - remaining, total)
        time.sleep(min(time.monotonic() - began, _LONGEST_REST_S))
        began = time.monotonic()

    with (
        contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as reading,
        contextlib.closing(sqlite3.connect(target, isolation_level=None)) as writing,
    ):
        reading.execute("BEGIN")
        reading.execute("SELECT count(*) FROM sqlite_master").fetchall()
        reading.backup(writing, pages=_PAGES_AT_ONCE, progress=progress)
        # Without a write-ahead log a backup is one file, and may be on a read-only medium.
        writing.execute("PRAGMA journal_mode=DELETE").fetchall()
