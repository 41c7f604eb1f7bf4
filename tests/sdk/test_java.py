"""The Java SDK: its own tests under javac's warnings, its documentation, and its artefact in a project elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from tools import release

from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import BRIEF_BUILDS, BRIEF_JVM, require
from tests.support.servers.server_process import ServerProcess

from . import readme

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client/java"
REPOSITORY = CLIENT / "target/repository"
VERSION = release.versions()
ARTEFACT = f"dev/threadkeep/threadkeep-client/{VERSION}"
WITHIN = 900.0

# Maven takes minutes on a loaded machine.
pytestmark = pytest.mark.timeout(2 * WITHIN)


@pytest.fixture(scope="module", autouse=True)
def _toolchain() -> None:
    require("java")


def _link(source: str, target: str) -> str:
    """Copies a file of a Maven repository. Artefacts never change, so a link is enough; Maven writes into the rest."""
    if Path(source).suffix in {".jar", ".pom"}:
        try:
            os.link(source, target)
            return target
        except OSError:  # another file system
            pass
    return shutil.copy2(source, target)


@pytest.fixture(scope="module")
def repository() -> Path:
    """A Maven repository of the tests' own, which begins as a copy of the user's: theirs must not learn of our artefact."""
    if not REPOSITORY.exists():
        theirs = Path.home() / ".m2/repository"
        part = REPOSITORY.with_name("repository.part")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(theirs, part, copy_function=_link) if theirs.exists() else part.mkdir(parents=True)
        part.rename(REPOSITORY)
    shutil.rmtree(REPOSITORY / "dev/threadkeep", ignore_errors=True)
    return REPOSITORY


def _run(command: str, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """What a command of the shell prints on stdout. Fails the test with all that it printed if it fails."""
    said = readme.shell(command, folder, os.environ | (environment or {}), seconds=WITHIN)
    return re.sub(r"\x1b\[[0-9;]*m", "", said)


def _options(repository: Path) -> str:
    return f"{BRIEF_BUILDS['MAVEN_OPTS']} -Dmaven.repo.local={repository} -Dstyle.color=never"


def _maven(goals: str, repository: Path, environment: Mapping[str, str] | None = None) -> str:
    options = {"MAVEN_OPTS": _options(repository), **(environment or {})}
    return _run(f"mvn -B -q {goals}", CLIENT, options)


def _blocks(language: str) -> list[str]:
    """The blocks of this language in the README, in order."""
    return [text for kind, text in readme.blocks(CLIENT / "README.md") if kind == language]


def test_its_own_tests_pass(repository: Path, live_server: ServerProcess) -> None:
    reports = CLIENT / "target/surefire-reports"
    shutil.rmtree(reports, ignore_errors=True)
    jvm = f"'-DargLine={' '.join(BRIEF_JVM)}'"
    _maven(f"test {jvm}", repository, {"THREADKEEP_TEST_ADDRESS": live_server.address})
    counts = [_count(report, "tests") - _count(report, "skipped") for report in reports.glob("TEST-*.xml")]
    assert sum(counts) >= 130, f"only {sum(counts)} tests ran"
    server_test = reports / "TEST-dev.threadkeep.AsyncServerTest.xml"
    assert (_count(server_test, "tests"), _count(server_test, "skipped")) == (1, 0)


@pytest.mark.linters
def test_documented(repository: Path) -> None:
    _maven("compile javadoc:javadoc", repository)
    for name in ("ThreadkeepClient", "async/AsyncThreadkeepClient"):
        assert (CLIENT / f"target/reports/apidocs/dev/threadkeep/{name}.html").exists()
    assert not (CLIENT / "target/reports/apidocs/dev/threadkeep/internal").exists()


def _count(report: Path, what: str) -> int:
    return int(re.findall(rf'<testsuite [^>]*\b{what}="(\d+)"', report.read_text())[0])


@pytest.mark.skipif(not LONG, reason="it starts Maven six times")
def test_the_readme_works_from_an_empty_directory(repository: Path, live_server: ServerProcess, tmp_path: Path) -> None:
    install, *programs = _blocks("sh")
    reported = _blocks("text")
    environment = {
        "THREADKEEP": str(ROOT),
        "THREADKEEP_ADDRESS": live_server.address,
        "MAVEN_OPTS": _options(repository),
    }
    _run(install, tmp_path, environment)
    with zipfile.ZipFile(repository / ARTEFACT / f"threadkeep-client-{VERSION}.jar") as jar:
        names = {name for name in jar.namelist() if name.endswith(".class")}
    assert "dev/threadkeep/ThreadkeepClient.class" in names
    assert "dev/threadkeep/v1/SessionEvent.class" in names
    assert not [name for name in names if "conformance" in name or "bench" in name or "Test" in name]
    print(f"threadkeep-client-{VERSION}.jar: {len(names)} classes")

    assert len(programs) == 5
    for program, expected in zip(programs, reported, strict=True):
        assert _run(program, tmp_path, environment) == expected
