"""How `threadkeep db` runs pg_dump and pg_restore."""

from __future__ import annotations

from pathlib import Path

import pytest

from threadkeep_server.config.types import normalize_url
from threadkeep_server.store.sql.backups.postgres_programs import environment, program

from .conftest import Command

_PASSWORD = "never shown"


def _wrapped(folder: Path, name: str, lines: str) -> Path:
    """A folder with a program of PostgreSQL that is a script."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
    (folder / name).chmod(0o755)
    return folder


def _with_password(url: str) -> str:
    return url.replace("test@", f"test:{_PASSWORD.replace(' ', '%20')}@")


def test_the_environment_names_what_the_driver_connects_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    found = environment(normalize_url("postgresql://ann:secret@db1:5432,db2:5433/threadkeep?sslmode=verify-full"))
    wanted = {
        "PGHOST": "db1,db2",
        "PGPORT": "5432,5433",
        "PGUSER": "ann",
        "PGPASSWORD": "secret",
        "PGDATABASE": "threadkeep",
        "PGSSLMODE": "verify-full",
        "PGTARGETSESSIONATTRS": "read-write",
    }
    assert {name: found[name] for name in wanted} == wanted
    alone = environment(normalize_url("postgresql://ann@db1/threadkeep"))
    assert (alone["PGHOST"], "PGPASSWORD" in alone, "PGTARGETSESSIONATTRS" in alone) == ("db1", False, False)


@pytest.mark.postgres
def test_a_password_is_in_no_command_line_and_in_no_output(
    filled_postgres: str, postgres_url: str, tmp_path: Path, db: Command
) -> None:
    folder = tmp_path / "bin"
    for name in ("pg_dump", "pg_restore"):
        noted = f'echo "$@" >> {tmp_path}/commands; echo "$PGPASSWORD" >> {tmp_path}/passwords'
        _wrapped(folder, name, f'{noted}; exec {program(name, None)} "$@"')
    made = db("backup", "--database-url", _with_password(filled_postgres), "-o", tmp_path / "b", "--pg-bin", folder)
    restored = db("restore", tmp_path / "b", "--database-url", _with_password(postgres_url), "--pg-bin", folder)
    assert (made["status"], restored["status"]) == (0, 0)
    assert "--format=custom" in (tmp_path / "commands").read_text()
    assert _PASSWORD in (tmp_path / "passwords").read_text()
    shown = (tmp_path / "commands").read_text() + (tmp_path / "b.manifest.json").read_text() + f"{made}{restored}"
    assert _PASSWORD not in shown


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("echo 'pg_dump (PostgreSQL) 9.6.24'", "is of version 9.6.24 and cannot dump PostgreSQL"),
        (
            "test \"$1\" = --version && echo 'pg_dump (PostgreSQL) 99.1' && exit; echo 'pg_dump: error: no space' >&2; exit 1",
            "pg_dump ended with status 1: pg_dump: error: no space",
        ),
    ],
    ids=["too old", "failing"],
)
def test_a_pg_dump_that_cannot_leaves_no_backup(
    filled_postgres: str, tmp_path: Path, db: Command, script: str, problem: str
) -> None:
    folder = _wrapped(tmp_path / "bin", "pg_dump", script)
    failed = db("backup", "--database-url", filled_postgres, "-o", tmp_path / "b", "--pg-bin", folder)
    assert (failed["status"], problem in failed["message"]) == (1, True), failed
    assert [each.name for each in tmp_path.iterdir()] == ["bin"]


def test_a_missing_program_is_named(tmp_path: Path, db: Command) -> None:
    (tmp_path / "dump").write_bytes(b"PGDMP and more")
    found = db("verify", tmp_path / "dump", "--pg-bin", tmp_path)
    assert found["shown"][0]["problem"] == f"there is no pg_restore in {tmp_path}"
