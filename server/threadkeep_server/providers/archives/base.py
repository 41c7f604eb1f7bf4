"""What an archive needs of a storage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class StorageFailed(Exception):
    """The storage could not do it. The message contains no credentials."""


class Storage(Protocol):
    """Objects by name. A name has parts that are separated by `/`, without empty ones, `.` and `..`."""

    async def put(self, name: str, content: bytes | Path) -> None:
        """Stores an object, in the place of one of that name, whole or not at all. It is durable afterwards. Raises
        StorageFailed."""
        ...

    async def fetch(self, name: str, into: Path) -> bool:
        """Writes an object to a file; returns False if there is none. Raises StorageFailed."""
        ...

    async def get(self, name: str) -> bytes | None:
        """Returns a small object; None if there is none. Raises StorageFailed."""
        ...

    async def names(self, prefix: str) -> Sequence[str]:
        """Returns the names of the objects below a prefix, which is whole parts, in order. Raises StorageFailed."""
        ...

    async def folders(self, prefix: str) -> Sequence[str]:
        """Returns the names of the folders directly below a prefix, in order. Raises StorageFailed."""
        ...

    async def prune(self, prefix: str) -> None:
        """Removes below a prefix what interrupted writes left, and empty folders, also those above. Raises StorageFailed."""
        ...

    async def remove(self, name: str) -> None:
        """Removes an object, if there is one. Raises StorageFailed."""
        ...
