"""Temporary folders for tests: in memory if there is enough, because disks are slow and uneven.

Tests of durability and builds of packages use a disk.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_SHARED_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30
"""Required free bytes; a complete run needs a fraction."""


@cache
def in_memory() -> Path | None:
    """Returns a folder in memory; None if there is none with enough room."""
    with suppress(OSError):
        available = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        memory = 0 if available is None else int(available[1]) << 10
        room = shutil.disk_usage(_SHARED_MEMORY).free
        if os.access(_SHARED_MEMORY, os.W_OK | os.X_OK) and min(room, memory) >= _ROOM:
            return _SHARED_MEMORY
    return None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder that is removed with its content."""
    with tempfile.TemporaryDirectory(prefix="threadkeep-", dir=in_memory(), ignore_cleanup_errors=True) as name:
        yield Path(name)
