"""The product's name."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
OLD = "recol" + "lect"  # what it was called before its first release


def _git(*arguments: str) -> list[str]:
    command = [shutil.which("git") or "git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()


def test_the_old_name_occurs_only_in_the_changelog() -> None:
    assert _git("grep", "--ignore-case", "--files-with-matches", OLD) == ["CHANGELOG.md"]


def test_no_file_has_the_old_name() -> None:
    files = _git("ls-files")
    assert "CHANGELOG.md" in files
    assert not [file for file in files if OLD in file.lower()]
