"""The adapters of the TypeScript client, each with its framework's own package, and their package, documents and examples."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.integrations import typescript
from tests.integrations.environments import ROOT
from tests.integrations.typescript import PACKAGE, adapters, node
from tests.sdk import npm
from tests.support.documents import blocks_of
from tests.support.runs.printed import Say
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess

DOCUMENTS = ROOT / "docs/integrations"
REQUIRED = re.compile(r'requireVersion\("([^"]+)", "([^"]+)", "([^"]+)"\)')


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> None:
    require("typescript")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published package in a folder of a program, next to the frameworks."""
    return typescript.install_client(tmp_path_factory.mktemp("adapters"))


def described(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def required(name: str) -> dict[str, str]:
    """The packages that an adapter requires, with the ranges that it checks when it is imported."""
    sources = [PACKAGE / f"src/{name}.ts", *(PACKAGE / "src" / name).glob("*.ts")]
    found = [match for path in sources for match in REQUIRED.findall(path.read_text())]
    assert {adapter for _, _, adapter in found} == {name}
    return {package: versions for package, versions, _ in found}


@pytest.mark.parametrize("name", adapters())
def test_adapter_with_its_framework_passes(name: str, adapted_server: ServerProcess, say: Say) -> None:
    typescript.build()
    tests = sorted(map(str, (PACKAGE / "build/test").glob(f"{name}.*test.js")))
    assert tests
    passed = typescript.run_tests(name, tests, cwd=PACKAGE, address=adapted_server.address)
    say(f"{name} in TypeScript: {passed} tests")


@pytest.mark.parametrize("name", adapters())
def test_adapter_requires_the_range_of_its_optional_peer(name: str) -> None:
    client, frameworks = described(npm.PACKAGE / "package.json"), described(PACKAGE / "package.json")
    for package, versions in required(name).items():
        assert client["peerDependencies"][package] == versions
        assert client["peerDependenciesMeta"][package] == {"optional": True}
        assert re.fullmatch(r"\d+\.\d+\.\d+", frameworks["dependencies"][package]), "the tested version is pinned"
    assert client["exports"][f"./{name}"]["default"] == f"./dist/integrations/{name}.js"


@pytest.mark.parametrize("folder", [PACKAGE, PACKAGE / "oldest"], ids=["newest", "oldest"])
def test_lock_of_frameworks_is_exact_and_names_no_host(folder: Path) -> None:
    lock, package = described(folder / "package-lock.json"), described(folder / "package.json")
    assert "resolved" not in json.dumps(lock)
    assert "://" not in json.dumps(lock)
    for name, version in package["dependencies"].items():
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
    assert all("integrity" in each for path, each in lock["packages"].items() if path and not each.get("inBundle"))


@pytest.mark.parametrize("name", adapters())
def test_adapter_has_a_page_in_the_tables(name: str) -> None:
    page = f"{name}-typescript.md"
    assert (DOCUMENTS / page).exists()
    for table in (DOCUMENTS / "README.md", DOCUMENTS / "mapping.md", ROOT / "mkdocs.yml"):
        assert page in table.read_text(), f"{table.name} does not name {page}"


@pytest.mark.parametrize("name", adapters())
def test_example_prints_what_the_page_shows(name: str, installed: Path, adapted_server: ServerProcess) -> None:
    blocks = [block.code for block in blocks_of(DOCUMENTS / f"{name}-typescript.md")]
    command = f"node node_modules/@threadkeep/client/examples/integrations/{name}.mjs"
    shown = blocks[blocks.index(f"{command}\n") + 1]
    program = [node(name), *command.split()[1:]]
    assert npm.run(*program, cwd=installed.parents[2], THREADKEEP_ADDRESS=adapted_server.address) == shown


@pytest.mark.parametrize("name", adapters())
def test_adapter_with_another_version_of_its_framework_is_not_imported(name: str, installed: Path, tmp_path: Path) -> None:
    package, versions = next(iter(required(name).items()))
    shutil.copytree(installed.parents[1], tmp_path / "node_modules", symlinks=True)
    place = tmp_path / "node_modules" / package
    real = place.resolve()
    place.unlink()
    shutil.copytree(real, place, ignore=shutil.ignore_patterns("*.map"))
    (place / "package.json").write_text(json.dumps(described(place / "package.json") | {"version": "0.0.1"}))
    imported = f'import("@threadkeep/client/{name}")'
    (tmp_path / "program.mjs").write_text(f"{imported}.catch((error) => console.log(error.message));\n")
    said = npm.run(node(name), "program.mjs", cwd=tmp_path)
    assert f"@threadkeep/client/{name} is tested with {package} {versions}, and 0.0.1 is installed" in said
