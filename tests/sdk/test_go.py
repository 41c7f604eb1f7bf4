"""The Go SDK: its own tests and linters; its packed module, installed and used as its README says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tools import release

from tests.support.runs.toolchains import GOFLAGS, require
from tests.support.servers.server_process import ServerProcess

from . import readme

MODULE = Path(__file__).parents[2] / "client" / "go"
NAME = "github.com/threadkeep/threadkeep-go"
ARCHIVE = f"v{release.versions()}.zip"


@pytest.fixture(autouse=True)
def _toolchain() -> None:
    require("go")


def go(*arguments: str, seconds: float = 300) -> str:
    """What a command of the toolchain prints, run in the module."""
    return readme.run(arguments, MODULE, os.environ | {"GOFLAGS": GOFLAGS}, seconds=seconds)


@pytest.mark.linters
def test_formatted_and_vetted() -> None:
    assert go("gofmt", "-l", ".").split() == []
    go("go", "vet", "./...")
    go("go", "mod", "verify")
    assert go("go", "mod", "tidy", "-diff") == ""


def test_own_tests() -> None:
    race = ["-race"] if go("go", "env", "CGO_ENABLED").strip() == "1" and shutil.which("gcc") else []
    print(go("go", "test", *race, "-timeout", "240s", "./...", seconds=500))  # with compiling all dependencies


def test_each_example_prints_what_it_says(live_server: ServerProcess) -> None:
    env = os.environ | {"GOFLAGS": GOFLAGS, "THREADKEEP_ADDRESS": live_server.address}
    said = readme.run(("go", "test", "-count=1", "-run", "^Example", "-v", "."), MODULE, env)
    assert said.count("--- PASS: Example") >= 10, said


def environment(address: str, packed: Path) -> dict[str, str]:
    """What the README's commands run in: a module cache of their own, which knows no earlier pack of the same version."""
    known = Path(go("go", "env", "GOMODCACHE").strip())
    cache = MODULE / ".build" / "modcache"
    for stale in (cache / "github.com" / "threadkeep", cache / "cache" / "download" / "github.com" / "threadkeep"):
        if stale.exists():
            shutil.rmtree(stale)
    return os.environ | {
        "GOMODCACHE": str(cache),
        "GOFLAGS": f"-modcacherw {GOFLAGS}",
        # What the machine has of other modules comes from its own cache, which go.sum has vouched for already.
        "GOPROXY": f"file://{known / 'cache' / 'download'},{go('go', 'env', 'GOPROXY').strip()}",
        "GOSUMDB": "off",
        # The toolchain also remembers which files a version had, and looks for one that an earlier pack of it held.
        "GODEBUG": "goindex=0",
        "PACKED": str(packed),
        "THREADKEEP_ADDRESS": address,
    }


def test_readme_from_an_empty_directory(live_server: ServerProcess, tmp_path: Path) -> None:
    packed, empty = tmp_path / "packed", tmp_path / "empty"
    empty.mkdir()
    env = environment(live_server.address, packed)
    blocks = readme.blocks(MODULE / "README.md")
    commands = [n for n, (language, _) in enumerate(blocks) if language == "sh"]
    program = next(text for language, text in blocks if language == "go")
    (empty / "main.go").write_text(program)

    def run(n: int, place: Path, before: str = "") -> str:
        return readme.shell(before + blocks[n][1], place, env)

    pack, install, *programs = commands
    print(run(pack, MODULE.parents[1]))
    assert (packed / NAME / "@v" / ARCHIVE).exists()
    for manifest in MODULE.glob("integrations/*/go.mod"):  # the adapters are modules of their own
        assert (packed / NAME / "integrations" / manifest.parent.name / "@v" / ARCHIVE).exists()
    run(install, empty)
    assert len(programs) == 4
    exports = "".join(line + "\n" for line in blocks[install][1].splitlines() if line.startswith("export "))
    for n in programs:
        language, expected = blocks[n + 1]
        assert language == ""
        assert run(n, empty, exports) == expected
