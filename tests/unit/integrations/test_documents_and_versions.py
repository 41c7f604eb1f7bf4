"""The adapters of frameworks, as far as they can be looked at without the frameworks: versions, extras and documents."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator

import pytest

from tests.integrations.environments import EDITIONS, ROOT, environment_of, extra_of, frameworks, lock_file
from tests.integrations.golden import LOST
from threadkeep.integrations import _versions

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
DOCUMENTS = ROOT / "docs/integrations"


def required(name: str) -> Iterator[tuple[str, str]]:
    """What the adapter requires, as in pyproject.toml, and the extra that it names."""
    place = ROOT / "client/python/threadkeep/integrations"
    for path in (place / f"{name}.py", *(place / name).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())) if path.exists() else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
                distribution, versions = (ast.literal_eval(each) for each in node.args)
                yield f"{distribution}{versions}", ast.literal_eval(node.keywords[0].value)


@pytest.mark.parametrize("name", frameworks())
def test_adapter_requires_the_range_of_its_extra(name: str) -> None:
    found = set(required(name))
    assert found, "it does not call require"
    assert {extra for _, extra in found} == {extra_of(name)}
    assert {requirement for requirement, _ in found} <= set(EXTRAS[extra_of(name)])


@pytest.mark.parametrize("name", frameworks())
def test_adapter_has_locks_with_hashes_and_without_addresses(name: str) -> None:
    for edition in EDITIONS:
        text = lock_file(environment_of(name, edition)).read_text()
        assert text.count("--hash=sha256:") >= text.count("==") > 5
        assert "://" not in text


@pytest.mark.parametrize("name", frameworks())
def test_adapter_has_a_page_in_the_table_of_frameworks_and_of_mappings(name: str) -> None:
    page = f"{name.replace('_', '-')}.md"
    assert (DOCUMENTS / page).exists()
    for table in ("README.md", "mapping.md"):
        assert page in (DOCUMENTS / table).read_text(), f"{table} does not name {page}"


def test_what_adapters_lose_is_documented() -> None:
    text = (DOCUMENTS / "mapping.md").read_text()
    missing = [reason for lost in LOST.values() for reason in lost.values() if reason not in text]
    assert not missing


@pytest.mark.parametrize(
    ("versions", "installed", "admitted"),
    [
        (">=2.10,<3", "2.10", True),
        (">=2.10,<3", "2.10.0", True),
        (">=2.10,<3", "2.9.9", False),
        (">=2.10,<3", "3", False),
        (">=2.10,<3", "3.0.0", False),
        (">=2.10,<3", "2.99rc1", True),
        (">=0.2.187", "0.2.187.post1", True),
    ],
)
def test_range_admits_versions(versions: str, installed: str, admitted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: installed)
    if admitted:
        _versions.require("framework", versions, extra="x")
    else:
        with pytest.raises(ImportError, match=rf'tested with framework {versions}, and {installed} is .* "threadkeep\[x\]"'):
            _versions.require("framework", versions, extra="x")


def test_framework_that_is_not_installed_is_named_with_the_extra() -> None:
    with pytest.raises(ImportError, match=r'needs no-such-framework >=1, which is not installed; .*"threadkeep\[x\]"'):
        _versions.require("no-such-framework", ">=1", extra="x")


def test_bound_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1")
    with pytest.raises(ValueError, match="'~=1' is not a bound"):
        _versions.require("framework", "~=1", extra="x")
