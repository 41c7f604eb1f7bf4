"""The adapters' tests and types, each in the environments of its framework, and the conversations of each read by all."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

from tests.integrations import go, java, rust, typescript
from tests.integrations.environments import EDITIONS, ROOT, frameworks, made
from tests.integrations.golden import CONVERSATION, Atom, normal
from tests.integrations.programs import BIN, SUITES, WITHIN, environment, pytest_command, run
from tests.support.databases.postgres import HOW_TO_INSTALL, find_binaries
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG, with_long
from tests.support.runs.toolchains import missing, required
from tests.support.servers.server_process import ServerProcess

EXAMPLES = ROOT / "client/python/examples/integrations"
FLEET = ROOT / "examples/fleet"
QUICKLY_READ = ["claude_agent", "langgraph"]
"""The frameworks whose types the short form reads, in ten seconds each; those of openai take forty."""
IMPORTED_FROM_POSTGRES = ("adk", "langgraph", "openai_agents")
"""The frameworks that keep data in PostgreSQL which `threadkeep import` reads."""


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", frameworks())
def test_adapter_with_its_framework_passes(
    name: str, edition: str, adapted_server: ServerProcess, request: pytest.FixtureRequest, say: Say
) -> None:
    """In the short form kills, examples, pages and imports are those of the newest versions. One process runs all tests of an
    environment: importing a framework takes longer than most."""
    command = pytest_command(name, edition)
    settings = {"THREADKEEP_TEST_ADDRESS": adapted_server.address}
    if edition == "oldest" and not LONG:
        command.append("--ignore-glob=*/test_import.py")
        settings["THREADKEEP_TEST_CORE"] = "1"
    if edition == "newest" and name in IMPORTED_FROM_POSTGRES:
        if find_binaries() or required():
            url: str = request.getfixturevalue("postgres_url")
            settings["THREADKEEP_TEST_POSTGRES"] = url.replace("+asyncpg", "")
        else:
            say(f"{name}: no import from PostgreSQL is tested: {HOW_TO_INSTALL}")
    said = run(*command, **settings)
    say(f"{name}, {edition}: {said.splitlines()[-1].strip('= ')}")


@pytest.mark.linters
@pytest.mark.parametrize("name", with_long(QUICKLY_READ, *sorted({*frameworks()} - {*QUICKLY_READ})))
def test_types_of_adapter_with_its_framework_are_strict(name: str) -> None:
    adapter = ROOT / "client/python/threadkeep/integrations" / name
    modules = sorted(adapter.rglob("*.py")) if adapter.is_dir() else [adapter.with_suffix(".py")]
    sources = [
        *modules,
        *sorted((SUITES / name).rglob("*.py")),
        *sorted(EXAMPLES.glob(f"{name}*.py")),
        *FLEET.glob(f"fleet_{name}.py"),
    ]
    cache = ROOT / "build/integrations" / f"{name}-types"
    python = str(made(name, "newest"))
    command = [str(BIN / "mypy"), "--strict", "--python-executable", python, "--cache-dir", str(cache)]
    run(*command, *map(str, sources))  # files, as folders are excluded in pyproject.toml


def test_conversation_of_each_adapter_is_read_by_all(adapted_server: ServerProcess, say: Say) -> None:
    address = adapted_server.address
    mapping: dict[str, list[str]] = {}
    if missing("typescript") is None:
        mapping |= {typescript.label(name): typescript.golden(name, address) for name in typescript.conversational()}
    if missing("go") is None:
        mapping |= {go.label(name): go.golden(name, address) for name in go.adapters()}
    if missing("java") is None:
        mapping |= {java.label(name): java.golden(name, address) for name in java.GOLDEN}
    if missing("rust") is None:
        mapping |= {rust.label(name): rust.golden(name, address) for name in rust.adapters()}
    sessions = {name: f"golden-{name.replace('/', '-')}" for name in [*frameworks(), *mapping]}
    for name, command in mapping.items():
        run(*command, "write", sessions[name])
    with ExitStack() as programs:
        readers: dict[str, Callable[[], str]] = {}
        for name in frameworks():
            command = [str(made(name, "newest")), "-m", "tests.integrations.mapping", address, name]
            readers[name] = programs.enter_context(written(*command, sessions[name], *sessions.values()))
        for name, command in mapping.items():
            readers[name] = partial(run, *command, "read", *sessions.values())
        wrong: list[str] = []
        for reader, read in readers.items():
            atoms: dict[str, list[Atom]] = json.loads(read())
            wrong.extend(
                f"{writer} is read by {reader} as {json.dumps(atoms[session], indent=1)}"
                for writer, session in sessions.items()
                if normal(atoms[session], writer, reader) != normal(CONVERSATION, writer, reader)
            )
    assert not wrong, "\n".join(wrong)
    say(f"{len(sessions)} adapters read {len(sessions)} adapters' conversations: {len(sessions) ** 2} pairs")


@contextmanager
def written(*command: str) -> Iterator[Callable[[], str]]:
    """Runs a program until it has written its conversation. Yields the function that lets it read all, and returns what it
    prints: importing a framework takes seconds, so one process does both."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment(), text=True, stdin=pipe, stdout=pipe, stderr=pipe) as program:
        assert program.stdout is not None

        def read() -> str:
            said, failed = program.communicate(timeout=WITHIN)
            assert program.returncode == 0, failed[-3_000:]
            return said

        try:
            if program.stdout.readline() != "written\n":
                read()
            yield read
        finally:
            program.kill()
