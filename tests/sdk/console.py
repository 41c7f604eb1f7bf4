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
    npm.install(PACKAGE)


def build(target: Path = STATIC) -> None:
    """Builds into a folder, by default the committed one."""
    with building("console"):
        install()
        run("npm", "run", "build", "--", "--outDir", str(target), "--emptyOutDir")
