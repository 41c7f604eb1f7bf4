"""The adapters of the Rust client: builds them with the client and their frameworks, and runs their programs."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from tests.conformance.drivers import building
from tests.integrations.environments import ROOT
from tests.integrations.programs import server_program
from tests.sdk import readme, test_rust
from tests.sdk.test_rust import ENVIRONMENT

CLIENT = test_rust.CRATE
BUILD_WITHIN = test_rust.BUILD_WITHIN
CRATES = CLIENT / "integrations"


def adapters() -> list[str]:
    """The folders of the adapters: `threadkeep-<name>` is the crate."""
    return sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml"))


def label(name: str) -> str:
    """The name of an adapter in the mapping, where those of Python are named by their modules."""
    return f"rust/{name}"


def cargo(name: str, *arguments: str, **environment: str) -> str:
    """What a command of cargo prints, run in an adapter's crate. The build directory is that of the client."""
    return readme.run(("cargo", *arguments), CRATES / name, ENVIRONMENT | environment, seconds=BUILD_WITHIN)


@cache
def build(name: str) -> Path:
    """Builds the tests and the examples of an adapter. Returns the folder of the examples."""
    test_run, built = os.environ.get("PYTEST_XDIST_TESTRUNUID", ""), ROOT / f"build/rust-{name}.built"
    with building("rust"):
        if not (test_run and built.exists() and built.read_text() == test_run):
            cargo(name, "test", "--quiet", "--no-run")
            built.parent.mkdir(exist_ok=True)
            built.write_text(test_run)
    return Path(ENVIRONMENT["CARGO_TARGET_DIR"]) / "debug/examples"


def run_tests(name: str, address: str) -> int:
    """Runs the tests of an adapter against a server. Returns how many passed: all, and at least one."""
    build(name)
    settings = {"THREADKEEP_TEST_ADDRESS": address, "THREADKEEP_TEST_PROGRAM": server_program()}
    with building("rust"):
        said = cargo(name, "test", "--test", "all", **settings)
    passed, ignored = map(int, re.findall(r"test result: ok\. (\d+) passed; 0 failed; (\d+) ignored", said)[0])
    assert passed
    assert not ignored
    return passed


def program(name: str, example: str) -> str:
    """A program of an adapter: the examples of all adapters are in one folder."""
    return str(build(name) / f"{name.replace('-', '_')}_{example}")


def golden(name: str, address: str) -> list[str]:
    """The program that writes and reads the golden conversation through an adapter, without its last arguments."""
    return [program(name, "golden"), address]
