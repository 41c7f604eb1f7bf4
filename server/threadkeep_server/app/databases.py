"""Backs up, restores and verifies databases, for the command line: with the codec and the keys of the settings."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from ..config.settings import Settings
from ..store.sql.backups.checking import check_backup
from ..store.sql.backups.making import Made, Wanted, make_backup
from ..store.sql.backups.restoring import Restored, WantedRestore, restore
from ..store.sql.verification.findings import Progress, Verified
from ..store.sql.verification.snapshots import in_snapshot
from ..store.sql.verification.verify import verify
from ..transport.wire.stated import READERS
from .master_keys import open_master_keys

Report = Callable[[Progress], None]


def back_up_database(
    settings: Settings, path: Path, report: Report, *, force: bool, verified: bool, programs: Path | None
) -> Made:
    """Writes a backup of the settings' database. Raises what make_backup raises, and ConfigError."""
    url, masters = settings.resolved_database_url, open_master_keys(settings)
    return make_backup(Wanted(url, path, version("threadkeep"), READERS, masters, force, verified, programs), report)


def restore_database(settings: Settings, path: Path, report: Report, *, verified: bool, programs: Path | None) -> Restored:
    """Restores a backup into the settings' database. Raises what restore raises, and ConfigError."""
    url, masters = settings.resolved_database_url, open_master_keys(settings)
    return restore(WantedRestore(path, url, READERS, masters, verified, programs), report)


def verify_database(settings: Settings, report: Report) -> Verified:
    """Verifies the settings' database. Raises NoDatabase, WrongSchema, ForeignDatabase, ConfigError."""
    masters = open_master_keys(settings)
    return in_snapshot(settings.resolved_database_url, lambda connection: verify(connection, READERS, masters, report))


def verify_backup(settings: Settings, path: Path, report: Report, *, programs: Path | None) -> Verified:
    """Verifies a backup. Raises BadBackup, WrongSchema, ConfigError."""
    return check_backup(path, READERS, open_master_keys(settings), programs, report)
