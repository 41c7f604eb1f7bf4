"""The adapters' tests and types, each in the environments of its framework, and the conversations of each read by all."""

from __future__ import annotations

import json

import pytest

from tests.integrations import go, java, typescript
from tests.integrations.environments import EDITIONS, ROOT, frameworks, made
from tests.integrations.golden import CONVERSATION, Atom, normal
from tests.integrations.programs import BIN, SUITES, pytest_command, run
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import missing
from tests.support.servers.server_process import ServerProcess

EXAMPLES = ROOT / "client/python/examples/integrations"
FLEET = ROOT / "examples/fleet"


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", frameworks())
def test_adapter_with_its_framework_passes(name: str, edition: str, adapted_server: ServerProcess, say: Say) -> None:
    """In the short form kills, examples and pages are those of the newest versions."""
    command = [*pytest_command(name, edition), "--ignore-glob=*/test_import.py"]
    core = "1" if edition == "oldest" and not LONG else "0"
    said = run(*command, THREADKEEP_TEST_ADDRESS=adapted_server.address, THREADKEEP_TEST_CORE=core)
    say(f"{name}, {edition}: {said.splitlines()[-1].strip('= ')}")


@pytest.mark.parametrize("name", frameworks())
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
    mapping = {name: [str(made(name, "newest")), "-m", "tests.integrations.mapping", address, name] for name in frameworks()}
    if missing("typescript") is None:
        mapping |= {typescript.label(name): typescript.golden(name, address) for name in typescript.conversational()}
    if missing("go") is None:
        mapping |= {go.label(name): go.golden(name, address) for name in go.adapters()}
    if missing("java") is None:
        mapping |= {java.label(name): java.golden(name, address) for name in java.GOLDEN}
    sessions = {name: f"golden-{name.replace('/', '-')}" for name in mapping}
    for name, command in mapping.items():
        run(*command, "write", sessions[name])
    wrong: list[str] = []
    for reader, command in mapping.items():
        read: dict[str, list[Atom]] = json.loads(run(*command, "read", *sessions.values()))
        wrong.extend(
            f"{writer} is read by {reader} as {json.dumps(read[sessions[writer]], indent=1)}"
            for writer in mapping
            if normal(read[sessions[writer]], writer, reader) != normal(CONVERSATION, writer, reader)
        )
    assert not wrong, "\n".join(wrong)
    say(f"{len(mapping)} adapters read {len(mapping)} adapters' conversations: {len(mapping) ** 2} pairs")
