"""Archives in a directory. A library of object storage would do that too, but does not sync to the disk what it wrote."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from .base import StorageFailed

T = TypeVar("T")
_PARTIAL = ".partial"


class Directory:
    """Storage in a directory, which is created. Only its owner may read what it writes."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def put(self, name: str, content: bytes | Path) -> None:
        await self._run(lambda: self._put(self._path(name), content))

    async def fetch(self, name: str, into: Path) -> bool:
        return await self._run(lambda: self._fetch(self._path(name), into))

    async def get(self, name: str) -> bytes | None:
        return await self._run(lambda: self._get(self._path(name)))

    async def names(self, prefix: str) -> Sequence[str]:
        return await self._run(lambda: self._names(self._path(prefix) if prefix else self._root))

    async def folders(self, prefix: str) -> Sequence[str]:
        return await self._run(lambda: self._folders(self._path(prefix)))

    async def prune(self, prefix: str) -> None:
        await self._run(lambda: self._prune(self._path(prefix)))

    async def remove(self, name: str) -> None:
        await self._run(lambda: self._path(name).unlink(missing_ok=True))

    async def _run(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise StorageFailed(f"{error.strerror or error}: {error.filename or self._root}") from None

    def _path(self, name: str) -> Path:
        parts = name.strip("/").split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise StorageFailed(f"{name!r} is not a name of an archive")
        return self._root.joinpath(*parts)

    def _put(self, path: Path, content: bytes | Path) -> None:
        try:
            self._write(path, content)
        except FileNotFoundError:  # another server removed the folder, which was empty
            self._write(path, content)

    def _write(self, path: Path, content: bytes | Path) -> None:
        self._make(path.parent)
        partial = path.with_name(f".{uuid.uuid4().hex}{_PARTIAL}")
        try:
            with open(partial, "xb", opener=_private) as out:
                if isinstance(content, bytes):
                    out.write(content)
                else:
                    with content.open("rb") as source:
                        shutil.copyfileobj(source, out, 1 << 20)
                out.flush()
                os.fsync(out.fileno())
            partial.replace(path)
            _sync(path.parent)
        finally:
            partial.unlink(missing_ok=True)

    def _make(self, directory: Path) -> None:
        """Creates a directory and those above it, durably: a file in one that a power cut removes would be gone with it."""
        if directory.is_dir():
            return
        self._make(directory.parent)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        _sync(directory.parent)

    @staticmethod
    def _fetch(path: Path, into: Path) -> bool:
        try:
            with path.open("rb") as source, into.open("wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    @staticmethod
    def _get(path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _names(self, below: Path) -> list[str]:
        found = []
        for directory, _, files in os.walk(below, onerror=_raised):
            at = Path(directory).relative_to(self._root)
            found += [(at / file).as_posix() for file in files if not file.endswith(_PARTIAL)]
        return sorted(found)

    def _folders(self, below: Path) -> list[str]:
        try:
            return sorted(each.relative_to(self._root).as_posix() for each in below.iterdir() if each.is_dir())
        except FileNotFoundError:
            return []

    def _prune(self, below: Path) -> None:
        for directory, _, files in os.walk(below, topdown=False):
            for file in files:
                if file.endswith(_PARTIAL):
                    Path(directory, file).unlink(missing_ok=True)
            _remove_empty(Path(directory))
        for above in below.parents:
            if above == self._root or not _remove_empty(above):
                return


def _raised(error: OSError) -> None:
    """A folder that cannot be read is not an empty one."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _remove_empty(directory: Path) -> bool:
    """Returns whether the directory is gone."""
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _sync(directory: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
