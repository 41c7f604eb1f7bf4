"""The manifest of a backup: a file next to it that says what it contains, and proves that it is whole."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ..verification.findings import Content

FORMAT: Final = 1
_SUFFIX: Final = ".manifest.json"
_AT_ONCE: Final = 1 << 20


class BadBackup(RuntimeError):
    """A backup cannot be used: it is damaged, incomplete or of a newer version."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself. `sha256` is of its file, in hexadecimal digits; `create_time` in RFC 3339; `tool`: the
    version of pg_dump, empty for SQLite; `content` and `findings` are None if the backup was not verified when it was made."""

    file: str
    bytes: int
    sha256: str
    engine: str
    engine_version: str
    schema_version: int
    oldest_code: int
    store_id: str
    threadkeep_version: str
    create_time: str
    tool: str = ""
    content: Content | None = None
    findings: int | None = None
    format: int = FORMAT

    def write(self, path: Path) -> None:
        """Writes the manifest of the backup file `path`. It appears whole, and after the file."""
        target = manifest_of(path)
        partial = target.with_name(f".{target.name}.partial")
        with partial.open("w", encoding="utf-8") as file:
            json.dump(asdict(self), file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(0o600)
        partial.replace(target)
        sync_folder(target.parent)


def manifest_of(path: Path) -> Path:
    """Returns where the manifest of a backup file is."""
    return path.with_name(path.name + _SUFFIX)


def read_manifest(path: Path) -> Manifest | None:
    """Returns the manifest of a backup file; None if it has none. Raises BadBackup."""
    place = manifest_of(path)
    try:
        data: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        if data["format"] > FORMAT:
            raise BadBackup(f"{place} is of a newer version: upgrade threadkeep")
        content = data.pop("content", None)
        return Manifest(**data, content=None if content is None else Content(**content))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BadBackup(f"{place} is not a manifest") from None


def check_file(path: Path, manifest: Manifest, report: Callable[[int, int], None]) -> str | None:
    """Compares the file with its manifest. Returns how it differs, None if it does not. Reports bytes read and their total."""
    size = path.stat().st_size
    if size != manifest.bytes:
        return f"it has {size:,} bytes; its manifest says {manifest.bytes:,}"
    if digest_of_file(path, report) != manifest.sha256:
        return "its SHA-256 is not that of its manifest: bytes were changed"
    return None


def digest_of_file(path: Path, report: Callable[[int, int], None]) -> str:
    """Returns the SHA-256 of a file in hexadecimal digits."""
    digest, total, done = hashlib.sha256(), path.stat().st_size, 0
    with path.open("rb") as file:
        while part := file.read(_AT_ONCE):
            digest.update(part)
            done += len(part)
            report(done, total)
    return digest.hexdigest()


def sync_folder(folder: Path) -> None:
    """Makes renames in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Makes the file durable."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
