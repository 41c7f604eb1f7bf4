"""What the commands print for people."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from threadkeep.cli import main
from threadkeep.cli.commands.database import progress
from threadkeep_server.store.sql.verification import verify


def test_progress_and_findings_are_printed(
    filled_sqlite: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PAUSE_S", 0)
    monkeypatch.setattr(verify, "_REPORT_EVERY_S", 0)
    backup = tmp_path / "b"
    assert main(["db", "backup", "--database-url", filled_sqlite, "-o", str(backup)]) == 0
    out, err = capfd.readouterr()
    assert out.startswith(f"wrote {backup}: {backup.stat().st_size:,} bytes, schema ")
    assert out.endswith("events; 0 findings\n")
    assert all(part in err for part in ("copying, ", "sessions: ", "checksum, 100 %")), err
    with closing(sqlite3.connect(backup)) as connection, connection:
        connection.execute("UPDATE sessions SET window_bytes = window_bytes + 1")
        connection.execute("UPDATE sessions SET window_tokens = window_tokens + 1")
    assert main(["db", "verify", str(backup)]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("verified; ")
    assert any(line.startswith("counters: session ") and "in its window; its events have" in line for line in lines)
    assert "more findings; --json prints the first" in lines[-1]
