"""The adapters of the TypeScript client: installs their frameworks and builds them, once per lock file and sources."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.conformance.drivers import build_once, building
from tests.integrations.programs import server_program
from tests.sdk import npm

PACKAGE = npm.PACKAGE / "integrations"
MOST_SECONDS = 500
NEWER_NODE = frozenset({"ai-sdk", "mastra", "strands"})
"""The adapters whose frameworks need Node 22, which a package brings: the machine's may be older."""


def adapters() -> list[str]:
    """The names of the adapters: `@threadkeep/client/<name>`."""
    return sorted(path.stem for path in (PACKAGE / "src").glob("*.ts") if path.stem != "versions")


def conversational() -> list[str]:
    """The adapters that store messages, which others read; the snapshots of Strands are opaque."""
    return [name for name in adapters() if (PACKAGE / f"test/golden/{name}.ts").exists()]


def label(name: str) -> str:
    """The name of an adapter in the mapping, where those of Python are named by their modules."""
    return f"typescript/{name}"


def node(name: str) -> str:
    """The program that runs an adapter."""
    if name not in NEWER_NODE:
        return "node"
    (brought,) = PACKAGE.glob("node_modules/node-*/bin/node")
    return str(brought)


@cache
def build() -> None:
    """Installs the locked packages, and compiles the adapters and their tests, strictly."""

    def make() -> None:
        npm.install()
        npm.run("npm", "run", "check", cwd=PACKAGE, within=900)

    build_once("typescript", "typescript-adapters", make)


def run_tests(name: str, tests: Sequence[str], *, cwd: Path, address: str) -> str:
    """Runs compiled tests of an adapter against a server. Returns how many passed: all, and at least one."""
    settings = {"THREADKEEP_TEST_ADDRESS": address, "THREADKEEP_TEST_PROGRAM": server_program()}
    said = npm.run(node(name), "--test", *tests, cwd=cwd, within=MOST_SECONDS, **settings)
    counts = dict(re.findall(r"^# (pass|fail|skipped|todo) (\d+)$", said, re.MULTILINE))
    passed = counts.pop("pass")
    assert passed != "0"
    assert set(counts.values()) == {"0"}, said
    return passed


def golden(name: str, address: str) -> list[str]:
    """The program that writes and reads the golden conversation through an adapter, without its last arguments."""
    build()
    return [node(name), str(PACKAGE / "build/test/golden.js"), address, name]


def install_client(folder: Path) -> Path:
    """A folder with the package as it is published, and with the frameworks. Returns the package in it."""
    with building("typescript"):
        npm.run("npm", "run", "ready", cwd=PACKAGE)
    package = folder / "node_modules/@threadkeep/client"
    package.mkdir(parents=True)
    with tarfile.open(npm.packed()) as archive:
        archive.extractall(folder, filter="data")
    (folder / "package").rename(package)
    for installed in (PACKAGE / "node_modules", npm.PACKAGE / "node_modules"):
        for entry in (*installed.glob("[!.@]*"), *installed.glob("@*/*")):
            place = folder / "node_modules" / entry.relative_to(installed)
            place.parent.mkdir(exist_ok=True)
            if not place.exists():
                place.symlink_to(entry)
    return package
