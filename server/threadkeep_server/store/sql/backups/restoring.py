"""Restores a backup into a database that does not exist or is empty."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection

from ...contract.codec import Readers
from ..encryption.master_keys import MasterKeys
from ..engine.factory import sqlite_file
from ..engine.sqlite import derived_path
from ..engine.sqlite_lock import FileLock
from ..schema.memories import memories, memory_tombstones
from ..schema.state import shared_states
from ..schema.tables import SCHEMA_VERSION, changes, consumers, meta, policies, sessions
from ..verification.findings import Progress, Report, Verified, of_part
from ..verification.snapshots import in_file, in_snapshot
from ..verification.verify import verify
from .manifest import BadBackup, Manifest, check_file, read_manifest, sync_file, sync_folder
from .postgres_dump import restore_dump

_DATA = (sessions, changes, memories, memory_tombstones, shared_states, consumers, policies)


class NotEmpty(RuntimeError):
    """The database to restore into has data, or is of another program."""


@dataclass(frozen=True, slots=True)
class Restored:
    """`verified`: None if it was not to be verified."""

    manifest: Manifest
    verified: Verified | None


@dataclass(frozen=True, slots=True)
class WantedRestore:
    """The backup file to restore, and the database to restore it into. `verified`: read it whole afterwards;
    `programs`: the folder of pg_restore, None to find it."""

    path: Path
    url: str
    readers: Readers
    masters: MasterKeys | None = None
    verified: bool = True
    programs: Path | None = None


def restore(wanted: WantedRestore, report: Report) -> Restored:
    """Raises BadBackup, NotEmpty, NotEmptyDatabase, DatabaseInUse, ProgramFailed, OSError."""
    manifest = _checked(wanted.path, report)
    target = sqlite_file(wanted.url)
    engine = "postgresql" if target is None else "sqlite"
    if manifest.engine != engine:
        raise BadBackup(
            f"{wanted.path} is a backup of {manifest.engine}, and the database is {engine}: restore it into {manifest.engine}, "
            "or move sessions with `threadkeep export` and `threadkeep import`"
        )
    if target is None:
        restore_dump(wanted.path, wanted.url, manifest.tool, wanted.programs, lambda: report(Progress("restoring")))
    else:
        _restore_file(wanted.path, target, report)
    verified = None
    if wanted.verified:
        verified = in_snapshot(wanted.url, lambda connection: verify(connection, wanted.readers, wanted.masters, report))
        _compare(manifest, verified)
    return Restored(manifest, verified)


def _checked(path: Path, report: Report) -> Manifest:
    """Returns the manifest, after it compared the file with it."""
    if not path.exists():
        raise BadBackup(f"there is no backup at {path}")
    manifest = read_manifest(path)
    if manifest is None:
        raise BadBackup(f"{path} has no manifest next to it, so it may be incomplete; copy both files of a backup")
    if manifest.schema_version > SCHEMA_VERSION and manifest.oldest_code > SCHEMA_VERSION:
        raise BadBackup(
            f"the backup has schema {manifest.schema_version}, and this version knows {SCHEMA_VERSION}: restore it with "
            f"threadkeep {manifest.threadkeep_version} or later"
        )
    problem = check_file(path, manifest, of_part(report, "checksum"))
    if problem is not None:
        raise BadBackup(f"{path} is damaged: {problem}; use another backup")
    return manifest


def _compare(manifest: Manifest, verified: Verified) -> None:
    """Adds a finding if the restored logs are not those of the backup."""
    if manifest.content is not None and verified.content is not None and manifest.content != verified.content:
        verified.findings.add("content", "the restored database", "its sessions and events are not those of the backup")


def _restore_file(source: Path, target: Path, report: Report) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    existed = target.exists()
    lock = FileLock(target)
    try:
        if existed and target.stat().st_size:
            in_file(target, lambda connection: refuse_data(connection, str(target)))
        partial = target.with_name(f".{target.name}.partial")
        report(Progress("copying", total=source.stat().st_size))
        try:
            shutil.copyfile(source, partial)
            partial.chmod(0o600)
            sync_file(partial)
            # They belong to what the target was before; a server would apply them to the restored file.
            for leftover in (Path(f"{target}-wal"), Path(f"{target}-shm"), *_derived_files(target)):
                leftover.unlink(missing_ok=True)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        sync_folder(target.parent)
    finally:
        lock.release()


def _derived_files(target: Path) -> list[Path]:
    derived = derived_path(target)
    return [derived, *(Path(f"{derived}{end}") for end in ("-wal", "-shm"))]


def refuse_data(connection: Connection, name: str) -> None:
    """Raises NotEmpty unless the database is empty, or has our schema and nothing else."""
    tables = set(sa.inspect(connection).get_table_names())
    if tables and meta.name not in tables:
        raise NotEmpty(f"{name} has tables of another program; restore into a database of its own")
    for table in _DATA:
        if table.name in tables and connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first():
            raise NotEmpty(
                f"{name} has data ({table.name}); restore into an absent or an empty database, and move this one away"
            )
