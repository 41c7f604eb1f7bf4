"""The sources of the web console: types, lock, and that the committed build is theirs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.runs.toolchains import require

from . import console


@pytest.fixture(autouse=True)
def _toolchain() -> None:
    require("typescript")


@pytest.mark.linters
def test_everything_is_typed_and_its_units_pass() -> None:
    console.install()
    console.run("npm", "run", "check")
    console.run("npm", "test")


@pytest.mark.linters
def test_the_committed_build_is_that_of_the_sources(tmp_path: Path) -> None:
    console.build(tmp_path / "static")
    built, committed = (
        {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "static", console.STATIC)
    )
    differing = sorted(name for name in built.keys() | committed.keys() if built.get(name) != committed.get(name))
    assert not differing, "run `make console` and commit the build"


def test_the_lock_is_exact_and_names_no_host() -> None:
    lock, package = (json.loads((console.PACKAGE / name).read_text()) for name in ("package-lock.json", "package.json"))
    assert "http" not in json.dumps(lock)
    for name, version in (package["dependencies"] | package["devDependencies"]).items():
        if name == "@threadkeep/client":
            assert version == "file:../typescript"
            continue
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), f"{name} is not pinned: {version}"
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
