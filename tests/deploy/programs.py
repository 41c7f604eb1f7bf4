"""The system's programs that these tests run, and how each is installed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.support.runs.toolchains import lacks

PACKAGES = {"bwrap": "bubblewrap", "systemd-analyze": "systemd", "mmdebstrap": "mmdebstrap", "buildah": "buildah"}
"""The package of Debian that has each program."""


def require_programs(*names: str) -> None:
    """Skips the test, or fails it with THREADKEEP_REQUIRE_ALL=1, if the machine lacks one of these programs."""
    missing = [PACKAGES[name] for name in names if shutil.which(name) is None]
    if missing:
        lacks(f"not tested, programs are missing: apt-get install --no-install-recommends {' '.join(missing)}")


def require_namespaces() -> None:
    """Skips the test if the machine has bubblewrap but lets nobody make namespaces, as some containers do."""
    require_programs("bwrap")
    tried = (
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--unshare-user",
        "--unshare-pid",
        "--uid",
        "65532",
        "--",
        "true",
    )
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"not tested, this machine allows no namespaces: {done.stderr.strip()}")
