"""The example of a fleet: agents of four frameworks take turns in one session, on both engines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.integrations import typescript
from tests.integrations.environments import made
from tests.integrations.programs import run
from tests.support.databases.postgres import PostgresCluster
from tests.support.servers.server_process import ServerProcess, fork_server, url_settings


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str | None:
    if request.param == "sqlite":
        return None
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    return cluster.create_database("fleet")


def test_fleet_in_one_session_reads_all_that_was_said(database_url: str | None, tmp_path: Path) -> None:
    for name in ("adk", "openai_agents", "langgraph"):
        made(name, "newest")
    typescript.build()
    with ServerProcess(fork_server(), tmp_path, **url_settings(database_url)) as server:
        server.start()
        printed = run(sys.executable, "-m", "examples.fleet.run", THREADKEEP_ADDRESS=server.address)
    assert "5 turns, 4 frameworks, 2 languages, 1 session" in printed
    assert "calls weather" in printed, "the watcher prints tool calls"
