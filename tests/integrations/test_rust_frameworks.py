"""The adapters of the Rust client, each with its framework's own crate, and their crates, documents and examples."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integrations import rust
from tests.integrations.environments import ROOT
from tests.integrations.rust import CLIENT, CRATES, adapters
from tests.support.databases.postgres import PostgresCluster
from tests.support.documents import blocks_of
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess, fork_server, url_settings

DOCUMENTS = ROOT / "docs/integrations"

# A test may wait for more than one build.
pytestmark = pytest.mark.timeout(2 * rust.BUILD_WITHIN)


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> None:
    require("rust")


def printed(*command: str, address: str) -> str:
    """What a program prints that finds the server by THREADKEEP_ADDRESS."""
    env = os.environ | {"THREADKEEP_ADDRESS": address}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown_by(name: str) -> str:
    """What the page says that the example prints."""
    blocks = [block.code for block in blocks_of(DOCUMENTS / f"{name}.md")]
    example = f"{name.replace('-', '_')}_chat"
    command = f"cargo run --manifest-path client/rust/integrations/{name}/Cargo.toml --example {example}\n"
    return blocks[blocks.index(command) + 1]


@pytest.mark.parametrize("name", adapters())
def test_adapter_is_formatted(name: str) -> None:
    rust.cargo("fmt", "--check", folder=CRATES / name)


@pytest.mark.parametrize("name", adapters())
def test_adapter_with_its_framework_passes(name: str, adapted_server: ServerProcess, say: Say) -> None:
    say(f"{name} in Rust: {rust.run_tests(name, adapted_server.address)} tests")


@pytest.mark.parametrize("name", adapters())
def test_crate_has_the_version_of_the_client(name: str) -> None:
    version = (CLIENT / "Cargo.toml").read_text().partition('version = "')[2].partition('"')[0]
    manifest = (CRATES / name / "Cargo.toml").read_text()
    assert f'name = "threadkeep-{name}"\nversion = "{version}"\n' in manifest
    assert f'threadkeep = {{ version = "{version}", path = "../.."' in manifest
    for file in ("LICENSE", "rustfmt.toml"):
        assert (CRATES / name / file).read_bytes() == (CLIENT / file).read_bytes()


@pytest.mark.parametrize("name", adapters())
def test_crate_is_packed_with_what_it_needs(name: str) -> None:
    files = set(rust.cargo("package", "--list", "--allow-dirty", folder=CRATES / name).split())
    assert {"src/lib.rs", "README.md", "LICENSE", "Cargo.toml"} <= files
    others = [file for file in files if file.startswith(("examples/", "tests/"))]
    assert others == [f"examples/{name.replace('-', '_')}_chat.rs"]


def test_crates_are_found_next_to_the_client_by_their_paths(tmp_path: Path) -> None:
    """As the pages say."""
    rust.cargo("init", "--quiet", "--vcs", "none", "--name", "hello", folder=tmp_path)
    for crate in (CLIENT, *(CRATES / name for name in adapters())):
        rust.cargo("add", "--quiet", "--path", str(crate), folder=tmp_path)
    rust.cargo("generate-lockfile", "--quiet", folder=tmp_path)


@pytest.mark.parametrize("name", adapters())
def test_adapter_has_a_page_in_the_tables(name: str) -> None:
    page = f"{name}.md"
    assert (DOCUMENTS / page).exists()
    for table in (DOCUMENTS / "README.md", DOCUMENTS / "mapping.md", ROOT / "mkdocs.yml", ROOT / "README.md"):
        assert page in table.read_text(), f"{table} does not name {page}"


@pytest.mark.parametrize("name", adapters())
def test_example_prints_what_the_page_shows(name: str, adapted_server: ServerProcess) -> None:
    assert printed(rust.program(name, "chat"), address=adapted_server.address) == shown_by(name)


def test_agent_of_the_fleet_reads_all_turns_with_their_tool_calls(adapted_server: ServerProcess) -> None:
    address = adapted_server.address
    turn = [rust.program("adk-rs", "fleet"), address, "fleet-rust", "What is there to see?"]
    assert printed(*turn, "Tiles.", address=address) == "answer: «Tiles.» Answers read: 0.\n"
    read = printed(*turn, "Paintings.", address=address)
    assert read.endswith("answer: «Paintings.» Answers read: 1.\n")
    assert "Part::FunctionCall calls museums" in read
    assert 'Part::FunctionResponse returns {"museum":"Gulbenkian","opens":10}' in read


if LONG:  # the short form runs on SQLite, and compiles the frameworks once: their documentation would compile them again

    def test_adapters_are_documented() -> None:
        rust.cargo("doc", "--quiet", "--workspace", "--no-deps", RUSTDOCFLAGS="-D warnings")

    @pytest.mark.postgres
    @pytest.mark.parametrize("name", adapters())
    def test_adapter_on_postgresql_passes(name: str, postgres: PostgresCluster, tmp_path: Path, say: Say) -> None:
        settings = url_settings(postgres.create_database(f"rust_{name.replace('-', '_')}"))
        with ServerProcess(fork_server(), tmp_path, **settings) as server:
            server.start()
            say(f"{name} in Rust, PostgreSQL: {rust.run_tests(name, server.address)} tests")
