"""The adapters of the Java client, each with its framework's own package, and their documents and examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations import java
from tests.integrations.environments import ROOT, made
from tests.integrations.java import PROJECT, adapters
from tests.integrations.programs import run
from tests.support.databases.postgres import PostgresCluster
from tests.support.documents import blocks_of
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import require
from tests.support.servers.server_process import ServerProcess, fork_server, url_settings

DOCUMENTS = ROOT / "docs/integrations"
# Maven takes minutes on a loaded machine.
pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module", autouse=True)
def toolchain() -> None:
    require("java")


@pytest.mark.parametrize("name", adapters())
def test_adapter_with_its_framework_passes(name: str, adapted_server: ServerProcess, say: Say) -> None:
    say(f"{name} in Java: {java.run_tests(name, adapted_server.address)} tests")


@pytest.mark.postgres
@pytest.mark.parametrize("name", adapters() if LONG else ["langchain4j"])  # the short form runs the others on SQLite only
def test_adapter_on_postgresql_passes(name: str, postgres: PostgresCluster, tmp_path: Path, say: Say) -> None:
    database = postgres.create_database(f"java_{name.replace('-', '_')}")
    with ServerProcess(fork_server(), tmp_path, **url_settings(database)) as server:
        server.start()
        say(f"{name} in Java, PostgreSQL: {java.run_tests(name, server.address)} tests")


@pytest.mark.parametrize("name", adapters())
def test_adapter_is_in_the_build_and_has_a_page_in_the_tables(name: str) -> None:
    assert f"<module>{name}</module>" in (PROJECT / "pom.xml").read_text()
    assert f"<artifactId>threadkeep-{name}</artifactId>" in (PROJECT / name / "pom.xml").read_text()
    page = f"{name}-java.md"
    for table in (DOCUMENTS / "README.md", DOCUMENTS / "mapping.md", ROOT / "mkdocs.yml", PROJECT / name / "README.md"):
        assert page in table.read_text(), f"{table} does not name {page}"


@pytest.mark.parametrize("name", adapters())
def test_example_prints_what_the_page_shows(name: str, adapted_server: ServerProcess) -> None:
    program = java.example(name).stem
    blocks = [block.code for block in blocks_of(DOCUMENTS / f"{name}-java.md")]
    command = next(block for block in blocks if block.rstrip().endswith(program))
    assert f"client/java/integrations/{name}/target" in command
    shown = blocks[blocks.index(command) + 1]
    assert run(*java.java(name, program), THREADKEEP_ADDRESS=adapted_server.address) == shown


def test_events_of_adk_are_those_of_adk_for_python_and_back(adapted_server: ServerProcess) -> None:
    """Each writes; the other copies what it reads as its own events; the copy is equal to what the first wrote."""
    address = adapted_server.address
    of_java = [*java.java("adk", "dev.threadkeep.adk.Pair"), address]
    of_python = [str(made("adk", "newest")), "-m", "tests.integrations.suites.adk.pair", address]
    run(*of_java, "write", "java")
    run(*of_python, "copy", "java,by-python", "write", "python")
    run(*of_java, "check", "java", "check", "by-python", "copy", "python,by-java")
    run(*of_python, "check", "python", "check", "by-java")
