"""Makes backups of a database that may be in use."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from ...contract.codec import Readers
from ..encryption.master_keys import MasterKeys
from ..engine.factory import sqlite_file
from ..schema import versions
from ..verification.findings import Progress, Report, Verified, of_part
from ..verification.snapshots import NoDatabase, in_file, in_snapshot
from ..verification.verify import verify
from .manifest import Manifest, digest_of_file, manifest_of, sync_file, sync_folder
from .postgres_dump import dump, server_version
from .sqlite_copy import copy


class TargetExists(RuntimeError):
    """The file to write exists."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a manifest says of the database that was copied."""

    engine: str
    engine_version: str
    schema_version: int
    oldest_code: int
    store_id: str


@dataclass(frozen=True, slots=True)
class Made:
    """A backup. `verified`: None if it was not to be verified."""

    path: Path
    manifest: Manifest
    verified: Verified | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A backup to make. `force`: replace the file `path` if it exists; `verified`: read it whole after it was written, with
    the master keys if there are some; `version`: of this program; `programs`: the folder of pg_dump, None to find it."""

    url: str
    path: Path
    version: str
    readers: Readers
    masters: MasterKeys | None = None
    force: bool = False
    verified: bool = True
    programs: Path | None = None


def make_backup(wanted: Wanted, report: Report) -> Made:
    """Writes a backup and its manifest. Raises TargetExists, NoDatabase, WrongSchema, ForeignDatabase, ProgramFailed,
    OSError."""
    source = sqlite_file(wanted.url)
    if source is not None:
        in_file(source, lambda connection: _facts(connection, "", ""))  # before it copies what cannot be restored
    with _target(wanted) as partial:
        if source is None:
            taken = in_snapshot(wanted.url, lambda connection: _dumped(connection, wanted, partial, report))
        else:
            taken = _copied(source, wanted, partial, report)
        return _finished(wanted, partial, taken, report)


class _Taken(NamedTuple):
    """What was written. `tool`: the version of pg_dump."""

    facts: Facts
    verified: Verified | None
    tool: str = ""


def _copied(source: Path, wanted: Wanted, target: Path, report: Report) -> _Taken:
    copy(source, target, of_part(report, "copying"))

    def unit(connection: Connection) -> _Taken:
        return _Taken(_facts(connection, "sqlite", sqlite3.sqlite_version), _verified(connection, wanted, report))

    return in_file(target, unit)


def _dumped(connection: Connection, wanted: Wanted, target: Path, report: Report) -> _Taken:
    """Verifies the snapshot that pg_dump reads."""
    facts = _facts(connection, "postgresql", server_version(connection))
    tool = dump(connection, wanted.url, target, wanted.programs, lambda done: report(Progress("dumping", done=done)))
    return _Taken(facts, _verified(connection, wanted, report), tool)


def _verified(connection: Connection, wanted: Wanted, report: Report) -> Verified | None:
    return verify(connection, wanted.readers, wanted.masters, report) if wanted.verified else None


def _facts(connection: Connection, engine: str, version: str) -> Facts:
    """Raises NoDatabase for a database without our schema."""
    schema, oldest = versions.versions(connection)
    if not schema:
        raise NoDatabase("there is no Threadkeep database here")
    return Facts(engine, version, schema, oldest, versions.get(connection, "store_id") or "")


@contextmanager
def _target(wanted: Wanted) -> Iterator[Path]:
    """Yields where to write, next to the target. Nothing stays there."""
    if not wanted.force and (taken := [each for each in (wanted.path, manifest_of(wanted.path)) if each.exists()]):
        raise TargetExists(f"{taken[0]} exists; give another file, or --force to replace it")
    partial = wanted.path.with_name(f".{wanted.path.name}.{os.getpid()}.partial")
    try:
        yield partial
    finally:
        for name in (partial.name, f"{partial.name}-journal"):
            with contextlib.suppress(FileNotFoundError):
                partial.with_name(name).unlink()


def _finished(wanted: Wanted, partial: Path, taken: _Taken, report: Report) -> Made:
    """Puts the written file in its place. A backup whose manifest is there is complete."""
    path, verified = wanted.path, taken.verified
    digest = digest_of_file(partial, of_part(report, "checksum"))
    manifest = Manifest(
        file=path.name,
        bytes=partial.stat().st_size,
        sha256=digest,
        **asdict(taken.facts),
        threadkeep_version=wanted.version,
        create_time=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        tool=taken.tool,
        content=None if verified is None else verified.content,
        findings=None if verified is None else verified.findings.total,
    )
    sync_file(partial)
    manifest_of(path).unlink(missing_ok=True)
    partial.replace(path)
    sync_folder(path.parent)
    manifest.write(path)
    return Made(path, manifest, verified)
