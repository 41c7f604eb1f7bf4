"""The adapters of the Go client: modules of their own, which are built and tested with their frameworks."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from tests.conformance.drivers import build_once
from tests.integrations.environments import ROOT
from tests.integrations.programs import server_program
from tests.sdk import readme
from tests.support.runs.toolchains import GOFLAGS

CLIENT = ROOT / "client/go"
MODULES = CLIENT / "integrations"
BUILT = ROOT / "build/integrations/go"
MOST_SECONDS = 500


def adapters() -> list[str]:
    """The names of the adapters: `github.com/threadkeep/threadkeep-go/integrations/<name>`."""
    return sorted(path.parent.name for path in MODULES.glob("*/go.mod"))


def label(name: str) -> str:
    """The name of an adapter in the mapping, where those of Python are named by their modules."""
    return f"go/{name}"


def run(name: str, *command: str, **settings: str) -> str:
    """What a command prints that runs in an adapter's module."""
    env = os.environ | {"GOFLAGS": GOFLAGS} | settings
    return readme.run(command, MODULES / name, env, seconds=MOST_SECONDS)


@cache
def build(name: str) -> Path:
    """Builds the programs of an adapter, with its checks by `go vet`. Returns their folder."""
    folder = BUILT / name

    def make() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        run(name, "go", "vet", "./...")
        run(name, "go", "build", "-o", f"{folder}/", "./internal/golden", "./examples/...")

    build_once("go", f"go-{name}", make)
    return folder


def run_tests(name: str, address: str) -> int:
    """Runs the tests of an adapter against a server. Returns how many passed: all, and at least one."""
    settings = {"THREADKEEP_TEST_ADDRESS": address, "THREADKEEP_TEST_PROGRAM": server_program()}
    said = run(name, "go", "test", "-count=1", "-v", "-timeout", "240s", ".", **settings)
    assert "--- SKIP" not in said, said
    passed = len(re.findall(r"^--- PASS: ", said, re.MULTILINE))
    assert passed
    return passed


def golden(name: str, address: str) -> list[str]:
    """The program that writes and reads the golden conversation through an adapter, without its last arguments."""
    return [str(build(name) / "golden"), address]
