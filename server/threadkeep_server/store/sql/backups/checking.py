"""Verifies a backup: its file against its manifest, and what it contains."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from ...contract.codec import Readers
from ..encryption.master_keys import MasterKeys
from ..verification.findings import Content, Findings, Progress, Report, Verified, of_part
from ..verification.snapshots import NoDatabase, in_file
from ..verification.verify import verify
from .manifest import BadBackup, Manifest, check_file, read_manifest
from .postgres_dump import MAGIC, count_rows
from .postgres_programs import ProgramFailed


def check_backup(path: Path, readers: Readers, masters: MasterKeys | None, programs: Path | None, report: Report) -> Verified:
    """Verifies a backup file, with or without a manifest. `programs`: the folder of pg_restore, None to find it. Raises
    BadBackup, WrongSchema."""
    if not path.is_file():
        raise BadBackup(f"there is no backup at {path}")
    manifest = read_manifest(path)
    problem = None if manifest is None else _problem(path, manifest, report)
    verified = _read_dump(path, manifest, programs, report) if _is_dump(path) else _read_file(path, readers, masters, report)
    if problem is not None:
        verified.findings.add("checksum", str(path), problem)
    elif manifest is not None and None not in (manifest.content, verified.content) and manifest.content != verified.content:
        verified.findings.add("content", str(path), "its sessions and events are not those of its manifest")
    return verified


def _is_dump(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _read_dump(path: Path, manifest: Manifest | None, programs: Path | None, report: Report) -> Verified:
    """Reads every row of a dump. What they say was verified in the database that was dumped."""
    findings, content = Findings(), None
    try:
        counted = count_rows(path, programs, lambda rows: report(Progress("rows", done=rows)))
    except ProgramFailed as error:
        findings.add("database", str(path), str(error))
    else:
        content = Content(*counted, 0, "")
        known = None if manifest is None else manifest.content
        if known is not None and counted == (known.sessions, known.events):
            content = known
    return Verified(content, findings, 0 if manifest is None else manifest.schema_version)


def _read_file(path: Path, readers: Readers, masters: MasterKeys | None, report: Report) -> Verified:
    try:
        return in_file(path, lambda connection: verify(connection, readers, masters, report))
    except (sa.exc.DBAPIError, NoDatabase) as error:
        verified = Verified(None, Findings())
        verified.findings.add("database", str(path), f"it cannot be read: {getattr(error, 'orig', error)}")
        return verified


def _problem(path: Path, manifest: Manifest, report: Report) -> str | None:
    return check_file(path, manifest, of_part(report, "checksum"))
