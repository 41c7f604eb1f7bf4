"""The adapters of the Go client, each with its framework's own package, and their modules, documents and examples."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integrations import go
from tests.integrations.environments import ROOT
from tests.integrations.go import CLIENT, MODULES, adapters
from tests.sdk import readme, test_go
from tests.support.databases.postgres import PostgresCluster
from tests.support.documents import blocks_of
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess, fork_server, url_settings

DOCUMENTS = ROOT / "docs/integrations"


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> None:
    require("go")


def printed(*command: str, address: str) -> str:
    """What a program prints that finds the server by THREADKEEP_ADDRESS."""
    env = os.environ | {"THREADKEEP_ADDRESS": address}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def page_of(name: str) -> str:
    return f"{name}.md"


def shown_by(name: str) -> str:
    """What the page says that the example prints."""
    blocks = [block.code for block in blocks_of(DOCUMENTS / page_of(name))]
    command = f"go run github.com/threadkeep/threadkeep-go/integrations/{name}/examples/agent\n"
    return blocks[blocks.index(command) + 1]


@pytest.mark.parametrize("name", adapters())
def test_adapter_with_its_framework_passes(name: str, adapted_server: ServerProcess, say: Say) -> None:
    go.build(name)
    say(f"{name} in Go: {go.run_tests(name, adapted_server.address)} tests")


@pytest.mark.parametrize("name", adapters())
def test_module_has_the_version_of_the_client_and_all_checksums(name: str) -> None:
    manifest = (MODULES / name / "go.mod").read_text()
    assert "replace github.com/threadkeep/threadkeep-go => ../..\n" in manifest
    version = (CLIENT / "doc.go").read_text().partition('const Version = "')[2].partition('"')[0]
    assert f"github.com/threadkeep/threadkeep-go v{version}\n" in manifest
    go.run(name, "go", "build", "-mod=readonly", "./...")
    assert (MODULES / name / "LICENSE").read_bytes() == (CLIENT / "LICENSE").read_bytes()


@pytest.mark.parametrize("name", adapters())
def test_adapter_has_a_page_in_the_tables(name: str) -> None:
    page = page_of(name)
    assert (DOCUMENTS / page).exists()
    for table in (DOCUMENTS / "README.md", DOCUMENTS / "mapping.md", ROOT / "mkdocs.yml", ROOT / "README.md"):
        assert page in table.read_text(), f"{table} does not name {page}"


@pytest.mark.parametrize("name", adapters())
def test_example_prints_what_the_page_shows(name: str, adapted_server: ServerProcess) -> None:
    assert printed(str(go.build(name) / "agent"), address=adapted_server.address) == shown_by(name)


def test_agent_of_the_fleet_reads_all_turns_with_their_tool_calls(adapted_server: ServerProcess) -> None:
    address = adapted_server.address
    turn = [str(go.build("langchaingo") / "fleet"), address, "fleet-go", "How do we get there?"]
    assert printed(*turn, "By tram.", address=address) == "answer: «By tram.» Answers read: 0.\n"
    read = printed(*turn, "On foot.", address=address)
    assert read.endswith("answer: «On foot.» Answers read: 1.\n")
    assert 'llms.AIChatMessage calls trams {"__arg1":"Lisbon"} [call_' in read
    assert "llms.ToolChatMessage returns lines 12 and 28 in Lisbon [call_" in read


if LONG:  # the short form runs on SQLite, and packs the modules without installing them

    @pytest.mark.postgres
    @pytest.mark.parametrize("name", adapters())
    def test_adapter_on_postgresql_passes(name: str, postgres: PostgresCluster, tmp_path: Path, say: Say) -> None:
        settings = url_settings(postgres.create_database(f"go_{name}"))
        with ServerProcess(fork_server(), tmp_path, **settings) as server:
            server.start()
            say(f"{name} in Go, PostgreSQL: {go.run_tests(name, server.address)} tests")

    @pytest.mark.parametrize("name", adapters())
    def test_packed_module_runs_its_example_in_an_empty_directory(
        name: str, adapted_server: ServerProcess, tmp_path: Path
    ) -> None:
        packed, empty = tmp_path / "packed", tmp_path / "empty"
        empty.mkdir()
        env = test_go.environment(adapted_server.address, packed)
        install, example = [block.code for block in blocks_of(DOCUMENTS / page_of(name)) if block.language == "sh"]
        readme.run(("go", "run", "./internal/pack", str(packed)), CLIENT, env)
        exports = f'export GOPROXY="file://{packed},$GOPROXY"\n'
        readme.shell(f"{exports}go mod init hello\n{install}", empty, env)
        assert readme.shell(exports + example, empty, env) == shown_by(name)
