"""The adapters of the TypeScript client with the oldest versions of their ranges, where these are not the newest ones too."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.integrations import typescript
from tests.integrations.typescript import PACKAGE, adapters
from tests.sdk import npm
from tests.support.runs.printed import Say
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess

OLDEST = PACKAGE / "oldest"
TESTED = {"ai-sdk": ("ai",), "langgraph": ("@langchain/core", "@langchain/langgraph-checkpoint")}
"""The adapters that are tested here, with the packages that decide."""


def pinned(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / "package.json").read_text())["dependencies"]
    return found


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in [*version.split("."), "0", "0"][:3])


def test_range_of_each_peer_begins_at_a_tested_version() -> None:
    peers: dict[str, str] = json.loads((npm.PACKAGE / "package.json").read_text())["peerDependencies"]
    tested = pinned(PACKAGE) | {package: pinned(OLDEST)[package] for packages in TESTED.values() for package in packages}
    for package, versions in peers.items():
        (lowest,) = re.findall(r"^>=([\d.]+) ", versions)
        assert numbers(tested[package]) == numbers(lowest), f"{package} {versions}"


@pytest.fixture(scope="module")
def built() -> Path:
    """The compiled adapters and their tests, where they find the oldest versions."""
    require("typescript")
    typescript.build()
    npm.run("npm", "ci", "--no-audit", "--no-fund", cwd=OLDEST, within=900)
    place = OLDEST / "build"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(PACKAGE / "build", place)
    return place


@pytest.mark.parametrize("name", sorted(TESTED))
def test_adapter_with_the_oldest_versions_passes(name: str, built: Path, adapted_server: ServerProcess, say: Say) -> None:
    assert name in adapters()
    tests = sorted(str(path) for path in (built / "test").glob(f"{name}.*test.js") if ".kit." not in path.name)
    said = typescript.run_tests(name, tests, cwd=OLDEST, address=adapted_server.address)
    say(f"{name} in TypeScript, oldest: {said} tests")
