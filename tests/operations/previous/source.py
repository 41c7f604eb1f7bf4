"""The source of the previous version, from the repository's history: its commit is in version.txt."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.support.servers.server_process import ForkServer

_ROOT = Path(__file__).parents[3]
COMMIT, NAME = Path(__file__).with_name("version.txt").read_text().split()
_PARTS = ("server", "client/python", "tests/__init__.py", "tests/support", "tests/conformance")


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=_ROOT, capture_output=True, check=False)


def extract(folder: Path) -> Path:
    """Writes the source to the folder. Skips the test if the history is not there."""
    if _git("cat-file", "-e", f"{COMMIT}^{{commit}}").returncode:
        _git("fetch", "--quiet", "--depth", "1", "origin", COMMIT)
    archive = _git("archive", COMMIT, *_PARTS)
    if archive.returncode:
        why = f"the repository lacks {NAME}, the commit {COMMIT}; run: git fetch --depth 1 origin {COMMIT}"
        shallow = _git("rev-parse", "--is-shallow-repository").stdout.strip() != b"false"
        if os.environ.get("THREADKEEP_REQUIRE_ALL") == "1" and not shallow:
            pytest.fail(why)
        pytest.skip(why)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return folder


def environment(source: Path) -> dict[str, str]:
    """Returns the environment of a program that imports the previous version."""
    path = os.pathsep.join(str(source / each) for each in ("server", "client/python"))
    return os.environ | {"PYTHONPATH": path}


def schema_of(source: Path) -> int:
    """Returns the number of its schema."""
    tables = source / "server/threadkeep_server/store/sql/schema/tables.py"
    found = re.search(r"^SCHEMA_VERSION = (\d+)$", tables.read_text(), re.MULTILINE)
    assert found, tables
    return int(found[1])


def fork_server_of(source: Path) -> ForkServer:
    """Returns what forks servers of the previous version."""
    return ForkServer(source / "tests/support/servers/fork_server.py", environment(source))
