"""The Makefile's commands that need no environment."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

_MAKEFILE = Path(__file__).parents[2] / "Makefile"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def _make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-f", str(_MAKEFILE), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_help_is_colored_on_a_terminal_only(tmp_path: Path) -> None:
    plain = _make(tmp_path, "help")
    assert (plain.returncode, "\x1b" in plain.stdout) == (0, False)
    assert "  serve              Run the server on SQLite" in plain.stdout
    ours, theirs = pty.openpty()
    subprocess.run(["make", "-f", str(_MAKEFILE), "help"], cwd=tmp_path, stdout=theirs, check=True)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # EIO: the other end is closed, and everything is read
        while chunk := os.read(ours, 65_536):
            shown += chunk
    os.close(ours)
    assert b"\x1b[36mhelp              \x1b[0m Print" in shown


def test_clean_removes_what_the_bench_leaves_and_keeps_the_data(tmp_path: Path) -> None:
    for name in (".bench-envs", ".venv", "data"):
        (tmp_path / name).mkdir()
    for name in ("bench.json", "bench-peers.json"):
        (tmp_path / name).touch()
    assert _make(tmp_path, "clean").returncode == 0
    assert [each.name for each in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("python", ["./old-python", "./no-python"])
def test_an_outdated_python_is_reported(tmp_path: Path, python: str) -> None:
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    (tmp_path / "old-python").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "old-python").chmod(0o755)
    done = _make(tmp_path, "setup", f"PYTHON={python}")
    assert done.returncode != 0
    assert "Python 3.11 or later is needed" in done.stderr
    assert not (tmp_path / ".venv").exists()
