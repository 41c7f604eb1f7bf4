"""`threadkeep import` of what a framework's own store wrote, in the environment of the framework."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.integrations.environments import EDITIONS, made
from tests.integrations.programs import run
from tests.integrations.test_frameworks import SUITES
from tests.support.servers.server_process import ServerProcess

STORES = ("adk", "claude_agent", "langgraph", "openai_agents")
"""The frameworks whose own stores `import` reads."""
IN_POSTGRES = ("adk", "langgraph", "openai_agents")


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", STORES)
def test_import_of_a_frameworks_own_store_passes(
    name: str, edition: str, adapted_server: ServerProcess, say: Callable[[str], None]
) -> None:
    printed = run(*_command(name, edition), THREADKEEP_TEST_ADDRESS=adapted_server.address)
    say(f"{name}, {edition}, import: {printed.splitlines()[-1].strip('= ')}")


@pytest.mark.postgres
@pytest.mark.parametrize("name", IN_POSTGRES)
def test_import_from_postgres_passes(
    name: str, adapted_server: ServerProcess, postgres_url: str, say: Callable[[str], None]
) -> None:
    address = postgres_url.replace("+asyncpg", "")
    printed = run(
        *_command(name, "newest"),
        "-k",
        "postgres",
        THREADKEEP_TEST_ADDRESS=adapted_server.address,
        THREADKEEP_TEST_POSTGRES=address,
    )
    say(f"{name}, PostgreSQL, import: {printed.splitlines()[-1].strip('= ')}")


def _command(name: str, edition: str) -> list[str]:
    own = ["-c", str(SUITES / "pytest.ini"), "--rootdir", str(SUITES), "--confcutdir", str(SUITES)]
    return [str(made(name, edition)), "-m", "pytest", *own, "-q", str(SUITES / name / "test_import.py")]
