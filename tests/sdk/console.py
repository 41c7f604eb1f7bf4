"""Building the web console, whose build is committed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.conformance.drivers import ROOT, building

from . import npm, readme

PACKAGE = ROOT / "client" / "console"
STATIC = ROOT / "server" / "threadkeep_server" / "console" / "static"


def run(*command: str) -> str:
    return readme.run(command, PACKAGE, os.environ)


def install() -> None:
    """Installs what the lock files name, and compiles the client that the console uses."""
    with building("typescript"):
        npm.install()
        npm.run("npm", "run", "build")
        # As in the package: the build lists the licenses of what it bundles.
        shutil.copy(ROOT / "LICENSE", npm.PACKAGE)
    install_packages()


def install_packages() -> None:
    """Installs what the console's lock file names."""
    installed, lock = PACKAGE / "node_modules" / ".package-lock.json", PACKAGE / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        run("npm", "ci", "--no-audit", "--no-fund")


def build(target: Path = STATIC) -> None:
    """Builds into a folder, by default the committed one."""
    with building("console"):
        install()
        run("npm", "run", "build", "--", "--outDir", str(target), "--emptyOutDir")
