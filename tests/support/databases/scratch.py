"""Where tests put what nobody needs after them: in memory where the system has plenty, for a disk is slow and uneven.

What asks whether data outlives more than a process belongs on a disk, and so does what builds packages.
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
"""Bytes that are to be free there; a whole run needs a fraction."""


@cache
def in_memory() -> Path | None:
    """A folder that is kept in memory; None where there is none, or too little room: then the usual one will do."""
    with suppress(OSError):
        available = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        memory = 0 if available is None else int(available[1]) << 10
        room = shutil.disk_usage(_SHARED_MEMORY).free
        if os.access(_SHARED_MEMORY, os.W_OK | os.X_OK) and min(room, memory) >= _ROOM:
            return _SHARED_MEMORY
    return None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder that is removed with all that is in it."""
    with tempfile.TemporaryDirectory(prefix="threadkeep-", dir=in_memory(), ignore_cleanup_errors=True) as name:
        yield Path(name)
