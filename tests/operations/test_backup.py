"""`threadkeep db backup`, `restore` and `verify` on backup files."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from .conftest import Command, EmptyUrl


@pytest.fixture
def backup(filled_url: str, db: Command, tmp_path: Path) -> Path:
    path = tmp_path / "backup"
    made = db("backup", "--database-url", filled_url, "-o", path)
    assert (made["status"], made["findings"]) == (0, 0), made
    return path


def _manifest(path: Path) -> Path:
    return path.with_name(path.name + ".manifest.json")


def test_a_restored_database_has_what_the_backup_had(
    filled_url: str, backup: Path, db: Command, empty_url: EmptyUrl, tmp_path: Path
) -> None:
    """And neither the derived index nor what was written on the way is left anywhere."""
    assert sorted(each.name for each in tmp_path.iterdir()) == ["backup", "backup.manifest.json"]
    manifest = json.loads(_manifest(backup).read_text())
    url = empty_url(filled_url)
    there, checked = db("verify", "--database-url", filled_url), db("verify", backup)
    restored = db("restore", backup, "--database-url", url)
    here = db("verify", "--database-url", url)
    for found in (checked, restored, here):
        assert (found["status"], found["shown"]) == (0, [])
    for found in (manifest["content"], restored, here):
        assert [found[name] for name in ("sessions", "events", "digest")] == [
            there[name] for name in ("sessions", "events", "digest")
        ]
    assert manifest["bytes"] == backup.stat().st_size
    assert (manifest["findings"], manifest["schema_version"]) == (0, db("current", "--database-url", url)["schema_version"])


def test_an_existing_file_is_replaced_only_if_forced(filled_url: str, backup: Path, db: Command) -> None:
    before = backup.stat().st_mtime_ns
    refused = db("backup", "--database-url", filled_url, "-o", backup)
    assert (refused["status"], refused["message"]) == (1, f"{backup} exists; give another file, or --force to replace it")
    assert backup.stat().st_mtime_ns == before
    assert db("backup", "--database-url", filled_url, "-o", backup, "--force", "--no-verify")["status"] == 0
    assert backup.stat().st_mtime_ns > before
    assert json.loads(_manifest(backup).read_text())["content"] is None


def _flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["flipped", "truncated"])
def test_a_damaged_backup_is_found_and_not_restored(
    filled_url: str, backup: Path, db: Command, empty_url: EmptyUrl, how: str
) -> None:
    size = backup.stat().st_size
    if how == "flipped":
        _flip(backup, size // 2)
    else:
        with backup.open("r+b") as file:
            file.truncate(size - 1000)
    found = db("verify", backup)
    assert found["status"] == 1
    assert "checksum" in found["by_kind"]
    refused = db("restore", backup, "--database-url", empty_url(filled_url))
    assert refused["status"] == 1
    assert "is damaged" in refused["message"]


def test_a_backup_without_its_manifest_is_verified_and_not_restored(
    filled_url: str, backup: Path, db: Command, empty_url: EmptyUrl
) -> None:
    _manifest(backup).unlink()
    sound = db("verify", backup)
    assert (sound["status"], sound["findings"]) == (0, 0)
    refused = db("restore", backup, "--database-url", empty_url(filled_url))
    assert refused["status"] == 1
    assert "has no manifest" in refused["message"]
    with backup.open("r+b") as file:
        file.truncate(backup.stat().st_size // 2)
    assert db("verify", backup)["status"] == 1


def test_a_database_with_data_is_not_restored_into(filled_url: str, backup: Path, db: Command) -> None:
    before = db("verify", "--database-url", filled_url)
    refused = db("restore", backup, "--database-url", filled_url)
    assert refused["status"] == 1
    assert "has data" in refused["message"]
    assert db("verify", "--database-url", filled_url)["digest"] == before["digest"]


def test_a_database_that_a_server_has_only_prepared(filled_url: str, backup: Path, db: Command, empty_url: EmptyUrl) -> None:
    """A file is replaced; in PostgreSQL, tables are not."""
    url = empty_url(filled_url)
    assert db("upgrade", "--database-url", url)["status"] == 0
    restored = db("restore", backup, "--database-url", url)
    if url.startswith("sqlite"):
        assert restored["digest"] == db("verify", backup)["digest"]
    else:
        assert (restored["status"], "restore into a new one" in restored["message"]) == (1, True)


def test_files_of_other_programs_are_refused(tmp_path: Path, db: Command) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")
    url = f"sqlite:///{file}"
    for command in (("verify",), ("backup", "-o", tmp_path / "copy")):
        refused = db(*command, "--database-url", url)
        assert (refused["status"], "tables of another program" in refused["message"]) == (1, True)
    assert "there is no database" in db("backup", "--data-dir", tmp_path / "none", "-o", tmp_path / "copy")["message"]
    assert [each.name for each in tmp_path.iterdir()] == ["other.db"]
    shutil.rmtree(tmp_path / "none", ignore_errors=True)


def test_damaged_pages_are_found_without_a_manifest(filled_sqlite: str, tmp_path: Path, db: Command) -> None:
    """SQLite finds damage to its pages; the content of events is compared with their columns."""
    assert db("backup", "--database-url", filled_sqlite, "-o", tmp_path / "b", "--no-verify")["status"] == 0
    _manifest(tmp_path / "b").unlink()
    data = (tmp_path / "b").read_bytes()
    page = int.from_bytes(data[16:18])
    heads = [place for place in range(page, len(data), page) if data[place] in (2, 5, 10, 13)][::24]
    assert len(heads) > 3
    for place in heads:
        (tmp_path / "b").write_bytes(data)
        _flip(tmp_path / "b", place)
        assert db("verify", tmp_path / "b")["status"] == 1, f"the byte {place}"
