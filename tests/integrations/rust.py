"""The adapters of the Rust client: builds them with the client and their frameworks, and runs their programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.conformance.drivers import RECIPES, build_once
from tests.integrations.environments import ROOT
from tests.integrations.programs import server_program
from tests.sdk import readme, test_rust
from tests.sdk.test_rust import ENVIRONMENT

CLIENT = test_rust.CRATE
BUILD_WITHIN = test_rust.BUILD_WITHIN
RUNS_WITHIN = 300.0
CRATES = CLIENT / "integrations"


def adapters() -> list[str]:
    """The folders of the adapters: `threadkeep-<name>` is the crate."""
    return sorted(path.parent.name for path in CRATES.glob("*/Cargo.toml"))


def label(name: str) -> str:
    """The name of an adapter in the mapping, where those of Python are named by their modules."""
    return f"rust/{name}"


def cargo(*arguments: str, folder: Path = CLIENT, **environment: str) -> str:
    """What a command of cargo prints, run in the workspace of the client and the adapters."""
    return readme.run(("cargo", *arguments), folder, ENVIRONMENT | environment, seconds=BUILD_WITHIN)


@cache
def build() -> Mapping[str, str]:
    """Builds the client and the adapters. Returns the programs of the adapters' tests, by their names."""
    found = ROOT / "build/rust-adapters.json"

    def make() -> None:
        said = cargo(*RECIPES["rust"].build[0][1:], "--message-format=json")
        built = [message for message in map(json.loads, said.splitlines()) if message.get("executable")]
        tests = [message for message in built if message["target"]["name"] == "all"]
        found.write_text(json.dumps({Path(each["manifest_path"]).parent.name: each["executable"] for each in tests}))

    build_once("rust", "rust-adapters", make)
    tests: dict[str, str] = json.loads(found.read_text())
    return tests


def run_tests(name: str, address: str) -> int:
    """Runs the tests of an adapter against a server. Returns how many passed: all, and at least one."""
    settings = {"THREADKEEP_TEST_ADDRESS": address, "THREADKEEP_TEST_PROGRAM": server_program()}
    said = readme.run((build()[name],), CRATES / name, ENVIRONMENT | settings, seconds=RUNS_WITHIN)
    passed, ignored = map(int, re.findall(r"test result: ok\. (\d+) passed; 0 failed; (\d+) ignored", said)[0])
    assert passed
    assert not ignored
    return passed


def program(name: str, example: str) -> str:
    """A program of an adapter: the examples of all adapters are in one folder."""
    build()
    return str(Path(ENVIRONMENT["CARGO_TARGET_DIR"]) / "debug/examples" / f"{name.replace('-', '_')}_{example}")


def golden(name: str, address: str) -> list[str]:
    """The program that writes and reads the golden conversation through an adapter, without its last arguments."""
    return [program(name, "golden"), address]
