"""`threadkeep import` from PostgreSQL: a framework's own store writes to a database, in the environment of the framework."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.integrations.environments import made
from tests.integrations.programs import run
from tests.integrations.test_frameworks import SUITES
from tests.support.servers.server_process import ServerProcess

STORES = ("adk", "langgraph", "openai_agents")
"""The frameworks whose own stores keep sessions in PostgreSQL."""


@pytest.mark.postgres
@pytest.mark.parametrize("name", STORES)
def test_import_from_postgres_passes(
    name: str, adapted_server: ServerProcess, postgres_url: str, say: Callable[[str], None]
) -> None:
    own = ["-c", str(SUITES / "pytest.ini"), "--rootdir", str(SUITES), "--confcutdir", str(SUITES)]
    command = [str(made(name, "newest")), "-m", "pytest", *own, "-q", str(SUITES / name / "test_import.py"), "-k", "postgres"]
    settings = {"THREADKEEP_TEST_POSTGRES": postgres_url.replace("+asyncpg", "")}
    printed = run(*command, THREADKEEP_TEST_ADDRESS=adapted_server.address, **settings)
    say(f"{name}, PostgreSQL: {printed.splitlines()[-1].strip('= ')}")
