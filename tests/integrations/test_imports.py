"""`threadkeep import` of what a framework's own store wrote, in the environment of the framework."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.integrations.programs import pytest_command, run
from tests.support.runs.thoroughness import with_long
from tests.support.servers.server_process import ServerProcess

STORES = ("adk", "claude_agent", "langgraph", "openai_agents")
"""The frameworks whose own stores `import` reads."""
IN_POSTGRES = ("adk", "langgraph", "openai_agents")


@pytest.mark.parametrize("edition", with_long(["newest"], "oldest"))
@pytest.mark.parametrize("name", STORES)
def test_import_of_a_frameworks_own_store_passes(
    name: str, edition: str, adapted_server: ServerProcess, say: Callable[[str], None]
) -> None:
    printed = run(*pytest_command(name, edition, "test_import.py"), THREADKEEP_TEST_ADDRESS=adapted_server.address)
    say(f"{name}, {edition}, import: {printed.splitlines()[-1].strip('= ')}")


@pytest.mark.postgres
@pytest.mark.parametrize("name", IN_POSTGRES)
def test_import_from_postgres_passes(
    name: str, adapted_server: ServerProcess, postgres_url: str, say: Callable[[str], None]
) -> None:
    address = postgres_url.replace("+asyncpg", "")
    printed = run(
        *pytest_command(name, "newest", "test_import.py"),
        "-k",
        "postgres",
        THREADKEEP_TEST_ADDRESS=adapted_server.address,
        THREADKEEP_TEST_POSTGRES=address,
    )
    say(f"{name}, PostgreSQL, import: {printed.splitlines()[-1].strip('= ')}")
