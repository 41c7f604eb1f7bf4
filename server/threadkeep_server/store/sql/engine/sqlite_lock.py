"""The lock of a SQLite file against other servers."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_Inode = tuple[int, int]
"""A device and the number of a file on it."""

_BYTE: Final = 1 << 62
"""The byte of the file that is locked: beyond any content, and far from the bytes that SQLite locks."""
_CONFLICTS: Final = (errno.EAGAIN, errno.EACCES)
_held: Final[set[_Inode]] = set()
"""The files that this process holds. They are not opened again: closing a file drops the locks of SQLite in the process."""


class DatabaseInUse(RuntimeError):
    """Another server holds the database file."""


class FileLock:
    """Held as long as the engine lives; the kernel drops it when the process dies, however it dies.

    It locks the path, without symbolic links, and creates the file. On Linux it locks the file itself too: that may have other
    names, by hard links. Raises DatabaseInUse.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._inode: _Inode | None = None
        self._files: list[int] = []
        try:
            path = database.resolve()
            self._lock_path(path.with_name(path.name + ".lock"))
            if not path.exists():
                path.touch(mode=0o600)
            self._lock_inode(path)
        except BaseException:
            self.release()
            raise

    def _lock_path(self, path: Path) -> None:
        self._files.append(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        with self._conflicts():
            fcntl.flock(self._files[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_inode(self, path: Path) -> None:
        found = path.stat()
        inode = (found.st_dev, found.st_ino)
        if inode in _held:
            raise self._in_use()
        if sys.platform == "linux" and os.access(path, os.W_OK):  # otherwise the start fails at the first write
            self._files.append(os.open(path, os.O_RDWR))
            # Not flock: over NFS it would exclude SQLite itself.
            lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, _BYTE, 1, 0)
            with self._conflicts():
                fcntl.fcntl(self._files[-1], fcntl.F_OFD_SETLK, lock)
        _held.add(inode)
        self._inode = inode

    @contextlib.contextmanager
    def _conflicts(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            if exc.errno not in _CONFLICTS:
                raise
            raise self._in_use() from None

    def _in_use(self) -> DatabaseInUse:
        return DatabaseInUse(
            f"{self._database} is in use by another Threadkeep server; stop it, or give this one another file "
            "(THREADKEEP_DATABASE_URL) or a PostgreSQL database, which several servers can share"
        )

    def release(self) -> None:
        """Drops the locks. Every connection to the file is closed."""
        for file in reversed(self._files):
            os.close(file)
        self._files.clear()
        if self._inode is not None:
            _held.discard(self._inode)
            self._inode = None
