"""The adapters of the Go client, each with its framework's own package, and their modules, documents and examples."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.integrations import go
from tests.integrations.environments import ROOT
from tests.integrations.go import CLIENT, MODULES, adapters
from tests.support.documents import blocks_of
from tests.support.runs.printed import Say
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess

DOCUMENTS = ROOT / "docs/integrations"


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> None:
    require("go")


def page_of(name: str) -> str:
    return f"{name}.md"


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
    blocks = [block.code for block in blocks_of(DOCUMENTS / page_of(name))]
    command = f"go run github.com/threadkeep/threadkeep-go/integrations/{name}/examples/agent\n"
    shown = blocks[blocks.index(command) + 1]
    env = os.environ | {"THREADKEEP_ADDRESS": adapted_server.address}
    program = str(go.build(name) / "agent")
    done = subprocess.run([program], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == shown, done.stderr
