"""The Rust SDK: its own tests and linters; its packed crate, unpacked and used as its README says."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest
from tools import release

from tests.conformance.drivers import RECIPES, build
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import BRIEF_BUILDS, CLIPPY, require
from tests.support.servers.server_process import ServerProcess

from . import readme

CRATE = Path(__file__).parents[2] / "client" / "rust"
README = CRATE / "README.md"
PACKED = f"threadkeep-{release.versions()}"
# One build directory, one profile and one workspace for all, the driver of the conformance suite and the adapters too, so that
# dependencies are compiled once: a part of the workspace has other features of them.
ENVIRONMENT = os.environ | {
    **BRIEF_BUILDS,
    "CARGO_TARGET_DIR": str(CRATE / "target"),
    "CARGO_TERM_COLOR": "never",
}
BUILD_WITHIN = 900.0

# A test may wait for more than one build.
pytestmark = pytest.mark.timeout(2 * BUILD_WITHIN)


@pytest.fixture(autouse=True)
def _toolchain() -> None:
    require("rust")


def cargo(*arguments: str, seconds: float = BUILD_WITHIN, **environment: str) -> str:
    """What a command of cargo prints, run in the crate."""
    return readme.run(("cargo", *arguments), CRATE, ENVIRONMENT | environment, seconds=seconds)


@pytest.mark.linters
def test_formatted_and_linted() -> None:
    cargo("fmt", "--check", seconds=60)
    assert CLIPPY, "clippy-driver is not found on the PATH: rustup component add clippy"
    said = cargo(*RECIPES["rust"].build[0][1:], "--message-format=json")  # repeats what it said as it compiled
    messages = [each["message"]["rendered"] for each in map(json.loads, said.splitlines()) if each.get("message")]
    assert not messages, "\n".join(messages)


@pytest.mark.linters
@pytest.mark.skipif(not LONG, reason="it checks all dependencies a second time")
def test_documented() -> None:
    cargo("doc", "--quiet", "--no-deps", RUSTDOCFLAGS="-D warnings")


def test_own_tests() -> None:
    build("rust")
    print(cargo("test", "--quiet", "--workspace", "--lib", "--test", "wire", "--test", "streams"))
    print(cargo("test", "--quiet", "--workspace", "--doc"))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the README's first command wrote the crate."""
    require("rust")
    place = tmp_path_factory.mktemp("packed")
    print(run(readme.blocks(README)[0][1], CRATE.parents[1], {"PACKED": str(place)}))
    return place


def run(script: str, place: Path, environment: dict[str, str]) -> str:
    return readme.shell(script, place, ENVIRONMENT | environment, seconds=BUILD_WITHIN)


def test_the_crate_has_the_expected_files(packed: Path) -> None:
    with tarfile.open(packed / "package" / f"{PACKED}.crate") as crate:
        files = {name.removeprefix(f"{PACKED}/") for name in crate.getnames()}
    examples = {name for name in files if name.startswith("examples/")}
    assert examples == {"examples/quickstart.rs", "examples/agent.rs", "examples/recall.rs", "examples/consumer.rs"}
    assert {"Cargo.toml", "README.md", "LICENSE", "src/lib.rs", "src/gen/threadkeep.v1.rs", "src/gen/retryable.rs"} <= files
    assert not [name for name in files if name.startswith(("tests/", "target/"))]


@pytest.mark.skipif(not LONG, reason="it builds all dependencies a second time, with the features of another crate")
def test_readme_from_an_empty_directory(live_server: ServerProcess, packed: Path, tmp_path: Path) -> None:
    environment = {"PACKED": str(packed), "THREADKEEP_ADDRESS": live_server.address}
    found = readme.blocks(README)
    commands = [n for n, (language, _) in enumerate(found) if language == "sh"]
    _, install, *programs = commands
    run(found[install][1], tmp_path, environment)
    # Packed files are as old as cargo makes them all, older than what the shared build directory has of an earlier pack.
    for source in (tmp_path / PACKED).rglob("*.rs"):
        source.touch()
    program = next(text for language, text in found if language == "rust")
    (tmp_path / "src" / "main.rs").write_text(program)
    assert len(programs) == 5
    for n in programs:
        language, expected = found[n + 1]
        assert language == ""
        assert run(found[n][1], tmp_path, environment) == expected
