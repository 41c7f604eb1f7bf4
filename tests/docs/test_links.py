"""What the documents refer to exists: links, headings, and paths of tests and modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "proto/README.md", "client/python/README.md")
]
DOCUMENTS += sorted((ROOT / "docs").rglob("*.md"))
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`((?:tests|tools|proto|client|server|docs|examples)/[\w/.-]*[\w/])`")
_SERVER_PATH = re.compile(r"`([a-z_]+/[\w/]*(?:\.py|/))`")
SERVER = ROOT / "server" / "threadkeep_server"
_PLACES = ("tests", "tools", "proto", "client", "docs", "examples", "server")


def _prose(path: Path) -> str:
    return _CODE.sub("", path.read_text("utf-8"))


def _headings(path: Path) -> Iterator[str]:
    for title in re.findall(r"^#+ (.*)$", _prose(path), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    yield from re.findall(r'<a (?:id|name)="([^"]+)"', path.read_text("utf-8"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(path: Path) -> None:
    broken = []
    for target, heading in _LINK.findall(_prose(path)):
        file = path.parent / target if target else path
        known = file.exists() and (not heading or file.suffix != ".md" or heading in set(_headings(file)))
        if not known:
            broken.append(f"{target}#{heading}" if heading else target)
    assert broken == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/guarantees.md", "docs/architecture.md"])
def test_paths_exist(name: str) -> None:
    paths = _PATH.findall(_prose(ROOT / name))
    assert [path for path in paths if "LANGUAGE" not in path and not (ROOT / path).exists()] == []


def test_modules_that_the_instructions_name_exist() -> None:
    paths = [path for path in _SERVER_PATH.findall(_prose(ROOT / "CONTRIBUTING.md")) if not path.startswith(_PLACES)]
    kit = ROOT / "client" / "python" / "threadkeep"
    places = (SERVER, SERVER / "store" / "sql", SERVER / "store" / "sql" / "schema", kit, kit / "cli")
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150
